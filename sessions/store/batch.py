"""What a batch and its judges keep: results to resume from, rulings, executed trajectories; and refused writes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from sqlalchemy import Connection, delete, select

from sessions.store import codec, schema, spill, writing
from sessions.store.base import BaseStore
from sessions.store.errors import StoreUnwritable
from sessions.store.records import ExecutedRecord
from sessions.trajectory import Step
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
                yield row.item, bytes(row.body)
            if len(rows) < RESULTS_AT_ONCE:
                return
            after = rows[-1].item

    def put_results(
        self, scope: str, rows: Sequence[tuple[str, bytes]], *, executed: Sequence[ExecutedRecord] = ()
    ) -> None:
        """Results and the trajectories behind them, in one transaction; the same item replaces.

        A write that the store refuses (busy, full, read-only) is kept in a file beside it (``take_in``).
        """
        now = time.time()
        scope = codec.clean(scope)
        clean = [(codec.clean(item), codec.redacted_bytes(body)) for item, body in rows]

        def put(connection: Connection) -> None:
            writing.put(
                connection,
                schema.RESULT,
                [{"scope": scope, "item": item, "body": body, "created_at": now} for item, body in clean],
                replace=("body", "created_at"),
            )
            for record in executed:
                writing.put_executed(connection, record)

        refused = {"write": "results", "scope": scope, "rows": [[item, body.decode("latin-1")] for item, body in clean]}
        with self._kept(refused):
            self.write(put)

    def forget_results(self, scope: str) -> None:
        statement = delete(schema.RESULT).where(schema.RESULT.c.scope == codec.clean(scope))
        self.write(lambda connection: connection.execute(statement))

    def ruling(self, key: str) -> bytes | None:
        """A judge's ruling by the hash of what it was asked, or None."""
        statement = select(schema.RULING.c.body).where(schema.RULING.c.key == codec.clean(key))
        found = self.read(lambda connection: connection.execute(statement).scalar())
        return bytes(found) if found is not None else None

    def put_ruling(self, key: str, payload: bytes) -> None:
        body = codec.redacted_bytes(payload)
        row = {"key": codec.clean(key), "body": body, "created_at": time.time()}
        with self._kept({"write": "ruling", "key": key, "body": body.decode("latin-1")}):
            self.write(lambda connection: writing.put(connection, schema.RULING, [row], replace=("body", "created_at")))

    def human_rulings(self, dataset: str, run: str) -> dict[tuple[str, str], Json]:
        """What a person ruled: (uuid, gate) -> ruling."""
        c = schema.HUMAN_RULING.c
        statement = select(c.uuid, c.gate, c.body).where(c.dataset == codec.clean(dataset), c.run == codec.clean(run))
        rows = self.read(lambda connection: connection.execute(statement).all())
        return {(row.uuid, row.gate): json.loads(row.body) for row in rows}

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

    def _kept(self, refused: Mapping[str, Json], steps: Sequence[Step] = ()) -> Kept:
        return Kept(self.path, refused, steps, inert=self.read_only)


class Kept:
    """Keeps a write that the store refused in a file, and says so in the error.

    ``inert``: a store that was opened for reading only; everybody knew that it keeps nothing.
    """

    def __init__(self, path: Path | None, refused: Mapping[str, Json], steps: Sequence[Step], *, inert: bool) -> None:
        self.inert = inert
        self.path = path
        self.refused = refused
        self.steps = steps

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if self.inert or not isinstance(error, StoreUnwritable):
            return
        record = {**self.refused, "steps": msgspec.to_builtins(self.steps)} if self.steps else dict(self.refused)
        file = spill.spill(self.path, record)
        if file is not None:
            raise type(error)(f"{error} What could not be saved is kept in {file}.") from error
