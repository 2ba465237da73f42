"""The engine thread: environments, judges, data files and the store work here, never on the screen's event loop.

One thread with one event loop of its own. The screen hands coroutines or plain functions over and awaits the result;
while they work, keys are answered and rows are drawn. Everything that belongs to one session runs on this one loop,
so sessions, clients and database handles are never shared between threads.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Engine:
    """A running event loop in a thread; ``start`` is cheap, ``stop`` ends what still runs."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="engine", daemon=True)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The engine's own loop."""
        return self._loop

    def start(self) -> None:
        self._thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        pending = asyncio.all_tasks(self._loop)
        for task in pending:
            task.cancel()
        if pending:
            self._loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def stop(self, seconds: float = 2.0) -> None:
        """Cancel what runs and wait for the thread at most ``seconds``; a call that never returns is left behind."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(seconds)

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await a coroutine on the engine's loop. Cancelling the caller cancels the work."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a blocking function in the engine thread, between its other work."""

        async def work() -> T:
            return function(*arguments)

        return await self.run(work())

    def post(self, target: asyncio.AbstractEventLoop, function: Callable[..., None], *arguments: Any) -> None:
        """Have a function called on a loop, the engine's own or another, for which nobody waits."""
        if not target.is_closed():
            target.call_soon_threadsafe(function, *arguments)
