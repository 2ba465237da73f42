"""What a batch and its judges keep: results to resume from, rulings, executed trajectories; and refused writes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from sqlalchemy import Connection, delete, select

from sessions.store import bulk, codec, schema, spill, writing
from sessions.store.base import BaseStore
from sessions.store.errors import StoreUnwritable
from sessions.store.prepare import prepared
from sessions.store.records import ExecutedRecord, PreparedSession
from sessions.trajectory import Step
from toolenv import decoding
from toolenv.errors import StoreError
from toolenv.model import Json

RESULTS_AT_ONCE = 500
"""Rows of results that are read in one statement."""


class BatchStore(BaseStore):
    """The part of a store that a batch fills."""

    def results(self, scope: str) -> Iterator[tuple[str, bytes]]:
        """What was put under ``scope``, by item; read a part at a time."""
        c, scope = schema.RESULT.c, codec.clean(scope)
        after: str | None = None
        while True:
            statement = select(c.item, c.body).where(c.scope == scope).order_by(c.item).limit(RESULTS_AT_ONCE)
            if after is not None:
                statement = statement.where(c.item > after)
            rows = self.read(lambda connection, asked=statement: connection.execute(asked).all())  # type: ignore[misc]
            for row in rows:
                yield row.item, codec.as_bytes(row.body)
            if len(rows) < RESULTS_AT_ONCE:
                return
            after = rows[-1].item

    def put_results(
        self,
        scope: str,
        rows: Sequence[tuple[str, bytes]],
        *,
        executed: Sequence[ExecutedRecord | PreparedSession] = (),
    ) -> None:
        """Results and the trajectories behind them, in one transaction; the same item replaces.

        A write that the store refuses (busy, full, read-only) is kept in a file beside it (``take_in``).
        """
        scope = codec.clean(scope)
        clean = [(codec.clean(item), codec.redacted_bytes(body)) for item, body in rows]

        sessions = [prepared(one) if isinstance(one, ExecutedRecord) else one for one in executed]

        def put(connection: Connection) -> None:
            writing.put_results(connection, scope, clean)
            bulk.put_prepared(connection, sessions)

        def refused() -> list[Json]:
            return [
                {"write": "results", "scope": scope, "rows": [[item, body.decode("latin-1")] for item, body in clean]}
            ]

        self._or_keep(lambda: self.write(put), refused)

    def forget_results(self, scope: str) -> None:
        statement = delete(schema.RESULT).where(schema.RESULT.c.scope == codec.clean(scope))
        self.write(lambda connection: connection.execute(statement))

    def ruling(self, key: str) -> bytes | None:
        """A judge's ruling by the hash of what it was asked, or None."""
        statement = select(schema.RULING.c.body).where(schema.RULING.c.key == codec.clean(key))
        found = self.read(lambda connection: connection.execute(statement).scalar())
        return codec.as_bytes(found) if found is not None else None

    def put_ruling(self, key: str, payload: bytes) -> None:
        key, body = codec.clean(key), codec.redacted_ruling(payload)
        self._or_keep(
            lambda: self.write(lambda connection: writing.put_ruling(connection, key, body)),
            lambda: [{"write": "ruling", "key": key, "body": body.decode("latin-1")}],
        )

    def human_rulings(self, dataset: str, run: str) -> dict[tuple[str, str], Json]:
        """What a person ruled: (uuid, gate) -> ruling."""
        c = schema.HUMAN_RULING.c
        statement = select(c.uuid, c.gate, c.body).where(c.dataset == codec.clean(dataset), c.run == codec.clean(run))
        rows = self.read(lambda connection: connection.execute(statement).all())
        return {(row.uuid, row.gate): self._ruled(row.body) for row in rows}

    def _ruled(self, body: str) -> Json:
        try:
            return decoding.decoded(body)
        except (ValueError, TypeError) as error:
            raise StoreError(f"A person's ruling in the session store cannot be read ({error}).") from error

    def put_human_ruling(self, dataset: str, run: str, uuid: str, gate: str, ruling: Json | None) -> None:
        """Keep a person's ruling of one gate; None takes it back."""
        c = schema.HUMAN_RULING.c
        dataset, run, uuid, gate = (codec.clean(part) for part in (dataset, run, uuid, gate))
        key = {"dataset": dataset, "run": run, "uuid": uuid, "gate": gate}

        def put(connection: Connection) -> None:
            if ruling is None:
                connection.execute(
                    delete(schema.HUMAN_RULING).where(
                        c.dataset == dataset, c.run == run, c.uuid == uuid, c.gate == gate
                    )
                )
                return
            row = {**key, "body": codec.encoded(ruling), "created_at": time.time()}
            writing.put(connection, schema.HUMAN_RULING, [row], replace=("body", "created_at"))

        self.write(put)

    def _or_keep(self, write: Callable[[], None], records: Callable[[], Sequence[Json]]) -> None:
        """Write, or keep what the store refuses in a file and say so in the error.

        What was kept before is taken back in as soon as a write succeeds.
        """
        try:
            write()
        except StoreUnwritable as error:
            file = self._spill.keep(records()) if not self.read_only else None
            if file is None:
                raise
            raise type(error)(f"{error} What could not be saved is kept in {file}.") from error
        for file in self._spill.fresh():
            # What is refused again stays in its file, and is named as unsaved until it is taken in.
            with contextlib.suppress(StoreError, OSError):
                self.take_in(file)

    def unsaved(self) -> list[Path]:
        """Files with writes that this store refused, of this process or of earlier ones."""
        return self._spill.files()

    def take_in(self, file: Path) -> int:
        """Write what a file of refused writes holds, then remove it; gives how many. Doing it twice changes nothing.

        Raises ``StoreError``, the file still there, where the store refuses again.
        """
        file = spill.claimed(file)
        taken = 0
        for record in spill.records(file):
            self._redo(record)
            taken += 1
        file.unlink(missing_ok=True)
        return taken

    def _redo(self, record: Json) -> None:
        if record["write"] == "append":
            steps = msgspec.convert(record["steps"], tuple[Step, ...])
            place = record["session"], record["branch"], record["start"]
            self.write(lambda connection: writing.append_steps(connection, *place, steps))
        elif record["write"] == "results":
            rows = [(item, body.encode("latin-1")) for item, body in record["rows"]]
            self.write(lambda connection: writing.put_results(connection, record["scope"], rows))
        else:
            key, body = record["key"], record["body"].encode("latin-1")
            self.write(lambda connection: writing.put_ruling(connection, key, body))
