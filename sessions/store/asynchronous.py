"""The store for an event loop: every call runs in one worker thread, in the order in which it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from sessions.branches import Branch, Cursor
from sessions.breakpoints import Breakpoint
from sessions.store.records import (
    Flag,
    Hit,
    Mark,
    NewSession,
    Page,
    RequestRecord,
    RunRecord,
    SessionCounts,
    SessionKind,
    SessionRef,
    StoredSession,
    StoredVerdict,
    Touched,
)
from sessions.store.store import Store
from sessions.trajectory import Step
from toolenv.errors import StoreError
from toolenv.model import Json

T = TypeVar("T")
P = ParamSpec("P")


class AsyncStore:
    """A ``Store`` whose methods are coroutines; the event loop does no I/O.

    A cancelled wait does not undo the write that it waited for: it is carried out all the same.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._closed = False

    @classmethod
    async def open(
        cls, url: str | None = None, *, wait_s: float = 20.0, on_wait: Callable[[float], None] | None = None
    ) -> AsyncStore:
        """Open a store without stopping the event loop; see ``Store.open``. ``on_wait`` is called in another thread."""
        store = await asyncio.to_thread(partial(Store.open, url, wait_s=wait_s, on_wait=on_wait))
        return cls(store)

    @property
    def name(self) -> str:
        return self.store.name

    @property
    def read_only(self) -> bool:
        return self.store.read_only

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run any method of the store in the worker. Raises ``StoreError`` once the store is closed."""
        if self._closed:
            raise StoreError("The session store is closed.")
        return await asyncio.get_running_loop().run_in_executor(self._worker, partial(work, *args, **kwargs))

    async def close(self) -> None:
        """Wait for what was asked, then close."""
        if self._closed:
            return
        closing = asyncio.get_running_loop().run_in_executor(self._worker, self.store.close)
        self._closed = True
        await closing
        self._worker.shutdown(wait=False)

    def sink(self, session_id: int, branch: int) -> BranchSink:
        """Where a stepper keeps the steps of one branch."""
        return BranchSink(self, session_id, branch)

    async def create_session(self, new: NewSession, steps: Sequence[Step] = ()) -> SessionRef:
        return await self.run(self.store.create_session, new, steps)

    async def branch(self, session_id: int, branch: Branch) -> None:
        await self.run(self.store.branch, session_id, branch)

    async def append(self, session_id: int, branch: int, start: int, steps: Sequence[Step]) -> None:
        await self.run(self.store.append, session_id, branch, start, steps)

    async def place(self, session_id: int, cursor: Cursor | None, promoted: int | None) -> None:
        await self.run(self.store.place, session_id, cursor, promoted)

    async def sessions(
        self,
        kind: SessionKind = "person",
        limit: int = 50,
        before: tuple[float, int] | None = None,
        uuid: str | None = None,
        *,
        worked: bool = False,
    ) -> Page:
        return await self.run(self.store.sessions, kind, limit, before, uuid, worked=worked)

    async def session_counts(self, kind: SessionKind = "person") -> SessionCounts:
        return await self.run(self.store.session_counts, kind)

    async def load(self, key: str) -> StoredSession:
        return await self.run(self.store.load, key)

    async def delete(self, session_id: int) -> bool:
        return await self.run(self.store.delete, session_id)

    async def search(
        self, query: str, kind: SessionKind = "person", limit: int = 50, before: int | None = None
    ) -> tuple[Hit, ...]:
        return await self.run(self.store.search, query, kind, limit, before)

    async def put_note(self, session_id: int, note: str, branch: int | None = None, position: int | None = None) -> int:
        return await self.run(self.store.put_note, session_id, note, branch, position)

    async def put_mark(self, session_id: int, mark: Mark) -> None:
        await self.run(self.store.put_mark, session_id, mark)

    async def drop_note(self, note_id: int) -> None:
        await self.run(self.store.drop_note, note_id)

    async def drop_mark(self, session_id: int, name: str) -> None:
        await self.run(self.store.drop_mark, session_id, name)

    async def put_verdict(self, session_id: int, verdict: StoredVerdict) -> None:
        await self.run(self.store.put_verdict, session_id, verdict)

    async def ruling(self, key: str) -> bytes | None:
        return await self.run(self.store.ruling, key)

    async def put_ruling(self, key: str, payload: bytes) -> None:
        await self.run(self.store.put_ruling, key, payload)

    async def put_request(self, session_id: int, request: RequestRecord) -> None:
        await self.run(self.store.put_request, session_id, request)

    async def requests(self, session_id: int) -> tuple[RequestRecord, ...]:
        return await self.run(self.store.requests, session_id)

    async def put_flag(self, flag: Flag) -> None:
        await self.run(self.store.put_flag, flag)

    async def drop_flag(self, dataset: str, uuid: str, kind: str) -> None:
        await self.run(self.store.drop_flag, dataset, uuid, kind)

    async def flags(self, dataset: str | None = None) -> tuple[Flag, ...]:
        return await self.run(self.store.flags, dataset)

    async def touch(self, dataset: str, uuid: str, session_id: int | None = None) -> None:
        await self.run(self.store.touch, dataset, uuid, session_id)

    async def touched(self, dataset: str) -> tuple[Touched, ...]:
        return await self.run(self.store.touched, dataset)

    async def put_run(self, run: RunRecord) -> None:
        await self.run(self.store.put_run, run)

    async def put_breakpoints(self, breakpoints: Sequence[Breakpoint]) -> None:
        await self.run(self.store.put_breakpoints, breakpoints)

    async def breakpoints(self) -> tuple[Breakpoint, ...]:
        return await self.run(self.store.breakpoints)

    async def human_rulings(self, dataset: str, run: str) -> dict[tuple[str, str], Json]:
        return await self.run(self.store.human_rulings, dataset, run)

    async def put_human_ruling(self, dataset: str, run: str, uuid: str, gate: str, ruling: Json | None) -> None:
        await self.run(self.store.put_human_ruling, dataset, run, uuid, gate, ruling)


class BranchSink:
    """A ``StepSink`` over one branch of a stored session."""

    def __init__(self, store: AsyncStore, session_id: int, branch: int) -> None:
        self.store = store
        self.session_id = session_id
        self.branch = branch

    async def append(self, start: int, steps: Sequence[Step]) -> None:
        await self.store.append(self.session_id, self.branch, start, steps)
