"""The end that a signal asks for: in order, so that the terminal and the session store are left as they should be."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vakra_tui.app import VakraApp

_NUMBERS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def ended_in_order(end: Callable[[], None]) -> Iterator[None]:
    """While the block runs, a signal to end calls ``end`` on the running loop, once however many come.

    Does nothing where signals cannot be taken: outside the main thread, or on a loop that does not know them.
    """
    loop = asyncio.get_running_loop()
    asked = False

    def ask() -> None:
        nonlocal asked
        if not asked:
            asked = True
            end()

    taken = []
    for number in _NUMBERS:
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, ask)
            taken.append(number)
    try:
        yield
    finally:
        for number in taken:
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.remove_signal_handler(number)


async def run_screen(app: VakraApp) -> int:
    """Run the application on this thread's loop; the exit code, ``INTERRUPTED`` where a signal ended it."""
    with ended_in_order(app.interrupt):
        await app.run_async()
    return app.return_code or 0
