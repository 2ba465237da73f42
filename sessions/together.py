"""Steps that follow each other quickly are kept in one write, and told once they are kept.

To make one step durable takes many times as long as a tool of this process takes to answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from sessions.events import Listener, StepEvent

T = TypeVar("T")

TOGETHER_S = 0.1
"""How long a step may wait for others to be kept with; a person does not see them come one by one."""


class Teller:
    """Tells listeners of events, at once or when the step that they are about was kept.

    ``flush`` keeps all steps so far. Within ``together`` steps may wait for it: they are ``due`` after a while.
    """

    def __init__(self, listeners: Sequence[Listener], flush: Callable[[], Awaitable[None]]) -> None:
        self.listeners = list(listeners)
        self._flush = flush
        self._held: list[StepEvent] = []
        self._holds = False
        self._gathers = False
        self._kept_at = 0.0

    @property
    def due(self) -> bool:
        """Whether a step is to be kept now; one that is not is held back (``hold``)."""
        return not self._gathers or time.monotonic() - self._kept_at >= TOGETHER_S

    def hold(self) -> None:
        """Tell nothing any more before the steps so far are kept."""
        self._holds = True

    def tell(self, event: StepEvent) -> None:
        if self._holds:
            self._held.append(event)
        else:
            self._told(event)

    def kept(self) -> None:
        """All steps were kept, or refused: tell what was held back."""
        held, self._held, self._holds = self._held, [], False
        self._kept_at = time.monotonic()
        for event in held:
            self._told(event)

    @asynccontextmanager
    async def together(self) -> AsyncIterator[None]:
        """Let steps wait for each other; those that still do are kept at the end, whatever ends it."""
        self._gathers, self._kept_at = True, time.monotonic()
        try:
            yield
        finally:
            interrupted = await uninterrupted(self._keep())
            self._gathers = False
            if interrupted is not None:
                raise interrupted

    async def beside(self, work: Coroutine[Any, Any, T]) -> T:
        """Await something that may take long: steps that wait to be kept do not wait for it."""
        if not self._holds:
            return await work
        working = asyncio.ensure_future(work)
        try:
            done, _ = await asyncio.wait({working}, timeout=TOGETHER_S)
            if not done:
                await self._keep()
            return await working
        finally:
            if not working.done():
                working.cancel()
                await asyncio.wait({working})

    async def _keep(self) -> None:
        await self._flush()
        self.kept()

    def _told(self, event: StepEvent) -> None:
        for listener in self.listeners:
            listener(event)


async def uninterrupted(work: Coroutine[Any, Any, None]) -> asyncio.CancelledError | None:
    """Await work to its end, whatever comes; gives the cancellation that came meanwhile."""
    interrupted: asyncio.CancelledError | None = None
    working = asyncio.ensure_future(work)
    while not working.done():
        try:
            await asyncio.shield(working)
        except asyncio.CancelledError as error:
            interrupted = error
    working.result()
    return interrupted
