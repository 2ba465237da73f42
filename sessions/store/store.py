"""The session store: sessions, their branches and steps, and a search over all of them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection

from sessions.branches import Branch, Cursor
from sessions.store import codec, reading, schema, writing
from sessions.store.batch import BatchStore
from sessions.store.beside import PersonStore
from sessions.store.records import Hit, NewSession, Page, SessionCounts, SessionKind, SessionRef, StoredSession
from sessions.store.search import search
from sessions.trajectory import Step
from toolenv.model import Json


class Store(PersonStore, BatchStore):
    """One open store. Safe to use from several threads; every method is one transaction and raises ``StoreError``.

    What a method wrote is durable when it returns: with ``commit="step"`` against a power cut, with
    ``commit="instance"`` (a batch) against the end of the process.
    """

    def create_session(self, new: NewSession, steps: Sequence[Step] = ()) -> SessionRef:
        """A session with its first branch, number 0, and the steps of that, in one transaction."""

        def created(connection: Connection) -> SessionRef:
            session = writing.create_session(connection, new)
            writing.put_branch(connection, session.id, Branch(number=0, name="main"))
            writing.append_steps(connection, session.id, 0, 0, steps)
            if new.kind == "person" and new.dataset:
                writing.put(
                    connection,
                    schema.TOUCHED,
                    [writing.touched_row(new.dataset, new.instance.uuid, session.id)],
                    replace=("last_at", "session_id"),
                )
            return session

        return self.write(created)

    def branch(self, session_id: int, branch: Branch) -> None:
        """A branch and its own steps, if it has any; said again it changes nothing."""

        def put(connection: Connection) -> None:
            writing.put_branch(connection, session_id, branch)
            writing.append_steps(connection, session_id, branch.number, branch.fork_at, branch.steps)

        self.write(put)

    def append(self, session_id: int, branch: int, start: int, steps: Sequence[Step]) -> None:
        """Steps ``start`` ... (from 0, the shared prefix counted) of a branch; said again it changes nothing.

        A write that the store refuses (busy, full, read-only) is kept in a file beside it (``take_in``).
        """

        def appended(connection: Connection) -> None:
            writing.append_steps(connection, session_id, branch, start, steps)

        def refused() -> list[Json]:
            place = {"write": "append", "session": session_id, "branch": branch}
            return [
                {**place, "start": position, "steps": [msgspec.to_builtins(step)]}
                for position, step in enumerate(steps, start=start)
            ]

        self._or_keep(lambda: self.write(appended), refused)

    def place(self, session_id: int, cursor: Cursor | None, promoted: int | None) -> None:
        """Where a person is looking, and which branch is to be exported."""
        self.write(lambda connection: writing.put_place(connection, session_id, cursor, promoted))

    def sessions(
        self,
        kind: SessionKind = "person",
        limit: int = 50,
        before: tuple[float, int] | None = None,
        uuid: str | None = None,
        *,
        worked: bool = False,
    ) -> Page:
        """One page of the list, newest first; ``before`` is the last page's ``next``, ``uuid`` selects an instance.

        ``worked`` leaves out sessions that were merely looked at.
        """
        instance = codec.clean(uuid) if uuid is not None else None
        return self.read(lambda connection: reading.page(connection, kind, limit, before, instance, worked=worked))

    def session_counts(self, kind: SessionKind = "person") -> SessionCounts:
        """How many sessions of a kind there are, and in how many something was done."""
        return self.read(lambda connection: reading.counts(connection, kind))

    def load(self, key: str) -> StoredSession:
        """A session by its key or the beginning of one."""
        return self.read(lambda connection: reading.load(connection, reading.session_id_of(connection, key)))

    def delete(self, session_id: int) -> bool:
        """Remove a session and the contents that nothing else refers to; False where there is none."""

        return self.write(lambda connection: writing.delete_session(connection, session_id))

    def search(
        self, query: str, kind: SessionKind = "person", limit: int = 50, before: int | None = None
    ) -> tuple[Hit, ...]:
        """Steps that hold all words of ``query`` (quoted: as a phrase; the last may be begun), newest first."""
        return self.read(lambda connection: search(connection, query, kind, limit, before))
