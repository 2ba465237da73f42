"""The session store as the screen uses it: sessions of an instance found again, flags, and no store at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from toolenv.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sessions.breakpoints import Breakpoint
    from sessions.store import AsyncStore, Store, StoredSession

FLAG_KIND = "ground truth suspect"

PAGE = 200
"""Sessions looked through at once when one is searched for."""


class Keeping:
    """Opens the store when it is first needed. Where it cannot be opened, ``problem`` says why and nothing is kept."""

    def __init__(self, open_store: Callable[[], Store]) -> None:
        self._open_store = open_store
        self._store: AsyncStore | None = None
        self.problem = ""
        self.damaged: Path | None = None

    def ready(self) -> AsyncStore | None:
        """The store, or None where it cannot be used."""
        if self._store is None and not self.problem:
            from sessions.store import AsyncStore
            from sessions.store.errors import StoreUnusable

            try:
                self._store = AsyncStore(self._open_store())
            except StoreError as error:
                self.problem = str(error)
                if isinstance(error, StoreUnusable):
                    self.damaged = error.path
        return self._store

    @property
    def opened(self) -> bool:
        """Whether the store is open."""
        return self._store is not None

    def set_aside(self) -> Path:
        """Move a store that cannot be read out of the way; gives its new place. The next use begins a fresh one."""
        from sessions.store import set_aside

        if self.damaged is None:
            raise StoreError("The store can be read; there is nothing to set aside.")
        moved = set_aside(self.damaged)
        self.damaged = None
        self.problem = ""
        return moved

    async def last_session(self, dataset: str, uuid: str, run: str) -> StoredSession | None:
        """The session of a person that was worked on last, for an instance and a run (fingerprints)."""
        store = self.ready()
        if store is None:
            return None
        before = None
        while True:
            page = await store.sessions("person", PAGE, before, uuid)
            for summary in page.items:
                if (summary.dataset, summary.uuid, summary.run_fingerprint) == (dataset, uuid, run):
                    return await store.load(summary.key)
            if page.next is None:
                return None
            before = page.next

    async def session(self, dataset: str, uuid: str, run: str, key: str = "") -> StoredSession | None:
        """The session of this key, or without one the last that a person worked on."""
        store = self.ready()
        if store is None or not key:
            return await self.last_session(dataset, uuid, run)
        return await store.load(key)

    async def delete(self, session_id: int) -> None:
        """Delete a session. Raises ``StoreError``."""
        store = self.ready()
        if store is None:
            raise StoreError(self.problem)
        await store.delete(session_id)

    async def flags(self, dataset: str) -> dict[str, str]:
        """uuid -> note of every flag on a ground truth of a dataset."""
        store = self.ready()
        if store is None:
            return {}
        return {flag.uuid: flag.text for flag in await store.flags(dataset) if flag.kind == FLAG_KIND}

    async def put_flag(self, dataset: str, uuid: str, note: str) -> None:
        """Keep a flag, or take it away where ``note`` is empty. Raises ``StoreError``."""
        from sessions.store import Flag

        store = self.ready()
        if store is None:
            raise StoreError(self.problem)
        if note:
            await store.put_flag(Flag(dataset=dataset, uuid=uuid, kind=FLAG_KIND, text=note))
        else:
            await store.drop_flag(dataset, uuid, FLAG_KIND)

    async def breakpoints(self) -> tuple[Breakpoint, ...]:
        """The person's breakpoints, none where the store cannot be used. Raises ``StoreError``."""
        store = self.ready()
        return await store.breakpoints() if store is not None else ()

    async def put_breakpoints(self, breakpoints: Sequence[Breakpoint]) -> None:
        """Keep all breakpoints. Raises ``StoreError``."""
        store = self.ready()
        if store is None:
            raise StoreError(self.problem)
        await store.put_breakpoints(breakpoints)

    async def close(self) -> None:
        """Close the store if it was opened; from now on nothing is kept."""
        store, self._store = self._store, None
        self.problem = self.problem or "The session store is closed."
        if store is not None:
            await store.close()
