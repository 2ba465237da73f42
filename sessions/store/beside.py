"""What a person keeps beside sessions and datasets: notes, marks, verdicts, requests, flags, runs, breakpoints."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from sessions.breakpoints import Breakpoint
from sessions.store import codec, reading, schema, writing
from sessions.store.base import BaseStore
from sessions.store.records import Flag, Mark, RequestRecord, RunRecord, StoredVerdict, Touched


class PersonStore(BaseStore):
    """The part of a store that a person fills."""

    def put_note(self, session_id: int, note: str, branch: int | None = None, position: int | None = None) -> int:
        """A note about a session or a step; gives its number."""
        row = {
            "session_id": session_id,
            "branch": branch,
            "position": position,
            "text": codec.clean(note),
            "created_at": time.time(),
        }
        statement = insert(schema.NOTE).values(row).returning(schema.NOTE.c.id)
        return self.write(lambda connection: int(connection.execute(statement).scalar_one()))

    def drop_note(self, note_id: int) -> None:
        self.write(lambda connection: connection.execute(delete(schema.NOTE).where(schema.NOTE.c.id == note_id)))

    def put_mark(self, session_id: int, mark: Mark) -> None:
        row = {
            "session_id": session_id,
            "name": codec.clean(mark.name),
            "branch": mark.place.branch,
            "at": mark.place.at,
        }
        self.write(lambda connection: writing.put(connection, schema.MARK, [row], replace=("branch", "at")))

    def drop_mark(self, session_id: int, name: str) -> None:
        """Take a named place away; nothing where there is none of this name."""
        c = schema.MARK.c
        statement = delete(schema.MARK).where(c.session_id == session_id, c.name == codec.clean(name))
        self.write(lambda connection: connection.execute(statement))

    def put_verdict(self, session_id: int, verdict: StoredVerdict) -> None:
        """A verdict about a branch; the list shows the last one's ``passed``."""
        row = {
            "session_id": session_id,
            "branch": verdict.branch,
            "steps": verdict.steps,
            "profile": codec.clean(verdict.profile),
            "judge": codec.clean(verdict.judge),
            "passed": verdict.passed,
            "body": codec.encoded(verdict.body),
            "created_at": verdict.created_at or time.time(),
        }

        def put(connection: Connection) -> None:
            connection.execute(insert(schema.VERDICT).values(row))
            session = schema.SESSION
            connection.execute(update(session).where(session.c.id == session_id).values(passed=verdict.passed))

        self.write(put)

    def verdicts(self, session_id: int) -> tuple[StoredVerdict, ...]:
        return self.read(lambda connection: reading.verdicts(connection, session_id))

    def put_request(self, session_id: int, request: RequestRecord) -> None:
        """One request to a model; its bodies are stored once, without keys and headers."""
        self.write(lambda connection: writing.put_request(connection, session_id, request))

    def requests(self, session_id: int) -> tuple[RequestRecord, ...]:
        asked, answered = schema.PAYLOAD.alias(), schema.PAYLOAD.alias()
        c = schema.REQUEST.c
        statement = (
            select(schema.REQUEST, asked.c.data.label("asked"), answered.c.data.label("answered"))
            .join(asked, asked.c.hash == c.request_hash)
            .join(answered, answered.c.hash == c.response_hash)
            .where(c.session_id == session_id)
            .order_by(c.id)
        )

        def read(connection: Connection) -> tuple[RequestRecord, ...]:
            return tuple(
                RequestRecord(
                    kind=row.kind,
                    model=row.model,
                    request=codec.decoded(codec.unpacked(row.asked, "A request"), Any, "A request"),
                    response=codec.decoded(codec.unpacked(row.answered, "A response"), Any, "A response"),
                    usage=codec.decoded(codec.as_bytes(row.usage), dict[str, Any], "The use of a request"),
                    duration_s=row.duration_s,
                    branch=row.branch,
                    position=row.position,
                    error=row.error,
                    created_at=row.created_at,
                )
                for row in connection.execute(statement)
            )

        return self.read(read)

    def put_flag(self, flag: Flag) -> None:
        row = {
            "dataset": codec.clean(flag.dataset),
            "uuid": codec.clean(flag.uuid),
            "kind": codec.clean(flag.kind),
            "text": codec.clean(flag.text),
            "created_at": flag.created_at or time.time(),
        }
        self.write(lambda connection: writing.put(connection, schema.FLAG, [row], replace=("text", "created_at")))

    def drop_flag(self, dataset: str, uuid: str, kind: str) -> None:
        c = schema.FLAG.c
        dataset, uuid, kind = (codec.clean(part) for part in (dataset, uuid, kind))
        statement = delete(schema.FLAG).where(c.dataset == dataset, c.uuid == uuid, c.kind == kind)
        self.write(lambda connection: connection.execute(statement))

    def flags(self, dataset: str | None = None) -> tuple[Flag, ...]:
        c = schema.FLAG.c
        statement = select(schema.FLAG).order_by(c.dataset, c.uuid, c.kind)
        if dataset is not None:
            statement = statement.where(c.dataset == codec.clean(dataset))
        return self.read(
            lambda connection: tuple(
                codec.record(row._mapping, Flag, "A flag") for row in connection.execute(statement)
            )
        )

    def touch(self, dataset: str, uuid: str, session_id: int | None = None) -> None:
        """A person opened an instance."""
        row = writing.touched_row(dataset, uuid, session_id)
        self.write(lambda connection: writing.put(connection, schema.TOUCHED, [row], replace=("last_at", "session_id")))

    def touched(self, dataset: str) -> tuple[Touched, ...]:
        c = schema.TOUCHED.c
        statement = select(schema.TOUCHED).where(c.dataset == codec.clean(dataset)).order_by(c.last_at.desc(), c.uuid)
        return self.read(
            lambda connection: tuple(
                codec.record(row._mapping, Touched, "An instance") for row in connection.execute(statement)
            )
        )

    def put_run(self, run: RunRecord) -> None:
        row = {
            "fingerprint": codec.clean(run.fingerprint),
            "dataset": codec.clean(run.dataset),
            "name": codec.clean(run.name),
            "path": codec.clean(run.path),
            "detail": codec.encoded(run.detail),
            "created_at": run.created_at or time.time(),
        }
        self.write(lambda connection: writing.put(connection, schema.RUN, [row], replace=("name", "path", "detail")))

    def runs(self) -> tuple[RunRecord, ...]:
        c = schema.RUN.c
        statement = select(schema.RUN).order_by(c.created_at.desc(), c.fingerprint)

        def read(connection: Connection) -> tuple[RunRecord, ...]:
            rows = connection.execute(statement)
            return tuple(
                codec.record(
                    {**row._mapping, "detail": codec.decoded(codec.as_bytes(row.detail), Any, "A run")},
                    RunRecord,
                    "A run",
                )
                for row in rows
            )

        return self.read(read)

    def put_breakpoints(self, breakpoints: Sequence[Breakpoint]) -> None:
        """The person's breakpoints, all of them, in order."""
        rows = [{"position": n, "body": codec.encoded(each)} for n, each in enumerate(breakpoints)]

        def put(connection: Connection) -> None:
            connection.execute(delete(schema.BREAKPOINT))
            writing.put(connection, schema.BREAKPOINT, rows)

        self.write(put)

    def breakpoints(self) -> tuple[Breakpoint, ...]:
        c = schema.BREAKPOINT.c
        statement = select(c.body).order_by(c.position)
        return self.read(
            lambda connection: tuple(
                codec.decoded(body, Breakpoint, "A breakpoint") for body in connection.execute(statement).scalars()
            )
        )
