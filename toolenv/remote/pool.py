"""The servers of one (capability, domain): started when needed, at most so many, used again, replaced when they die."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from toolenv.errors import EnvironmentFailure
from toolenv.remote.bundle import Bundle, Starter

if TYPE_CHECKING:
    from toolenv.remote.session import RemoteSession

LIMIT: Final = 4
RESTARTS: Final = 3
"""Servers of a pool that may die or fail to start before it gives up."""

IDLE_S: Final = 1.0
"""Seconds without a call after which a session may lose its server to one that waits; it is rebuilt when it goes on."""


class Pool:
    """``starts`` counts the servers started, ``failures`` those that died or did not start."""

    def __init__(self, name: str, start: Starter, universes: Iterable[str], limit: int = LIMIT) -> None:
        self.name = name
        self.starts = 0
        self.failures = 0
        self.bundles: list[Bundle] = []
        self.problems: list[str] = []
        self.universes: dict[str, None] = dict.fromkeys(universes)
        self.peeks: dict[str, str] = {}
        self._start = start
        self._limit = limit
        self._starting = 0
        self._reason = ""
        self._closed = False
        self._changed = asyncio.Condition()

    async def lease(self, session: RemoteSession, universe: str | None) -> Bundle:
        """A bundle that is this session's alone until it is released, or taken while the session rests.

        Raises ``EnvironmentFailure``.
        """
        while True:
            async with self._changed:
                bundle = self._free(session, universe)
                if bundle is not None:
                    bundle.holder = session
                    bundle.last_used = time.monotonic()
                    return bundle
                if self._may_start():
                    self._starting += 1
                    break
                try:
                    async with asyncio.timeout(IDLE_S / 4):
                        await self._changed.wait()
                except TimeoutError:
                    continue
        return await self._started(session)

    async def share(self) -> Bundle:
        """The bundle with the fewest sessions, or a new one while all have some. Raises ``EnvironmentFailure``."""
        while True:
            async with self._changed:
                self._drop_dead()
                best = min(self.bundles, key=lambda bundle: len(bundle.sessions), default=None)
                if best is not None and (not best.sessions or not self._may_start()):
                    return best
                if self._may_start():
                    self._starting += 1
                    break
                await self._changed.wait()
        return await self._started(None)

    async def release(self, bundle: Bundle, session: RemoteSession) -> None:
        async with self._changed:
            if bundle.holder is session:
                bundle.holder = None
            self._changed.notify_all()

    async def discard(self, bundle: Bundle, *, failed: str | None = None) -> None:
        """Take a bundle out of use; with a reason where it failed, which counts."""
        async with self._changed:
            if bundle in self.bundles:
                self.bundles.remove(bundle)
                if failed is not None:
                    self._count(failed)
                self._note(bundle)
            self._changed.notify_all()
        await bundle.close()

    async def close(self) -> None:
        self._closed = True
        async with self._changed:
            bundles, self.bundles = self.bundles, []
            self._changed.notify_all()
        for bundle in bundles:
            self._note(bundle)
        await asyncio.gather(*(bundle.close() for bundle in bundles))

    # --- under the condition -----------------------------------------------------------------------------------------

    def _free(self, session: RemoteSession, universe: str | None) -> Bundle | None:
        self._drop_dead()
        free = [bundle for bundle in self.bundles if bundle.holder is None]
        if free:
            # A server in another universe is reset by the switch alone.
            return min(free, key=lambda bundle: universe in bundle.universes)
        if self._may_start() or self._starting:
            return None
        rests_since = time.monotonic() - IDLE_S
        resting = [bundle for bundle in self.bundles if not bundle.calls and bundle.last_used <= rests_since]
        taken = min(resting, key=lambda bundle: bundle.last_used, default=None)
        if taken is not None and taken.holder is not None:
            taken.holder.lost(taken)
        return taken

    def _may_start(self) -> bool:
        """Whether one more may be started. Raises ``EnvironmentFailure`` where none ever will be."""
        if self._closed:
            raise EnvironmentFailure(f"{self.name} is closed.")
        if self.failures > RESTARTS and not self.bundles and not self._starting:
            raise EnvironmentFailure(
                f"{self.name} failed {self.failures} times and is not started again; the last time: {self._reason}"
            )
        return len(self.bundles) + self._starting < self._limit and self.failures <= RESTARTS

    def _drop_dead(self) -> None:
        for bundle in [bundle for bundle in self.bundles if not bundle.alive]:
            self.bundles.remove(bundle)
            self._count("a server ended by itself")
            self._note(bundle)

    def _count(self, reason: str) -> None:
        self.failures += 1
        self._reason = reason

    def _note(self, bundle: Bundle) -> None:
        self.problems.extend(sentence for sentence in problems_of(bundle) if sentence not in self.problems)

    async def _started(self, session: RemoteSession | None) -> Bundle:
        self.starts += 1
        bundle = self._start(self.starts)
        try:
            await bundle.start()
        except BaseException as error:
            async with self._changed:
                self._starting -= 1
                if isinstance(error, EnvironmentFailure):
                    self._count(str(error))
                self._changed.notify_all()
            raise
        async with self._changed:
            self._starting -= 1
            if not self._closed:
                bundle.holder = session
                self.bundles.append(bundle)
                self._changed.notify_all()
                return bundle
        await bundle.close()
        raise EnvironmentFailure(f"{self.name} is closed.")


def problems_of(bundle: Bundle) -> list[str]:
    """Sentences about what was odd with a bundle's servers."""
    found = list(bundle.problems)
    for connection in bundle.connections:
        found.extend(connection.problems)
        if connection.stray_lines:
            where = "they are in its log" if connection.log_problem is None else "its log does not hold them all"
            found.append(
                f"{connection.name} printed {connection.stray_lines} lines on its stdout that are no messages; {where}."
            )
        if connection.log_problem is not None:
            found.append(f"{connection.name} has no whole log: {connection.log_problem}.")
    return found
