"""One verb after the other, and stopping the one that runs."""

from __future__ import annotations

import asyncio
from asyncio import FIRST_COMPLETED
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from toolenv.errors import VakraError

T = TypeVar("T")

SOON_S = 0.05
"""How long each further verb that waits is let run where all is to end."""


class Stopped(VakraError):
    """A person stopped what was running."""

    def __init__(self) -> None:
        super().__init__("Stopped. What was done so far stays.")


class Turns:
    """Runs verbs in turn on the engine's loop; ``stop`` cancels the innermost stoppable part of the one that runs."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._long: asyncio.Future[Any] | None = None
        self._stopping: asyncio.Future[Any] | None = None

    async def in_turn(self, verb: Callable[..., Awaitable[T]], *arguments: object) -> T:
        """A verb when those before it are done: keys pressed while something runs are not lost and never overlap.

        Raises ``Stopped`` where a person stopped it.
        """
        async with self._turn:
            return await self.stoppable(verb(*arguments))

    async def last(self, verb: Callable[..., Awaitable[T]], *arguments: object, patience_s: float) -> T:
        """The verb that ends all: in its turn, but what still runs after so many seconds is stopped for it."""
        begun = asyncio.Event()

        async def begin() -> T:
            begun.set()
            return await verb(*arguments)

        ending = asyncio.ensure_future(self.in_turn(begin))
        waiting = asyncio.ensure_future(begun.wait())
        try:
            while not (await asyncio.wait([ending, waiting], timeout=patience_s, return_when=FIRST_COMPLETED))[0]:
                await self.stop()
                patience_s = SOON_S
            return await ending
        finally:
            ending.cancel()
            waiting.cancel()

    async def stoppable(self, work: Awaitable[T]) -> T:
        """Await work that ``stop`` may cancel on its own; raises ``Stopped`` then."""
        outer, inner = self._long, asyncio.ensure_future(work)
        self._long = inner
        try:
            return await inner
        except asyncio.CancelledError:
            if self._stopping is not inner:
                raise
            self._stopping = None
            raise Stopped from None
        finally:
            self._long = outer

    @property
    def running(self) -> bool:
        """Whether there is something to stop."""
        return self._long is not None and not self._long.done()

    async def stop(self) -> bool:
        """Stop what runs; False where nothing does. Not in turn: it would wait for what it is to stop."""
        if self._long is None or self._long.done():
            return False
        self._stopping = self._long
        self._long.cancel()
        return True
