"""How the application ends: on request, by a signal, or because its terminal is gone."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from toolenv.errors import VakraError
from vakra_tui.preparing import Preparing
from vakra_tui.state.memory import Memory
from vakra_tui.text import sanitize

if TYPE_CHECKING:
    from textual.driver import Driver

    from vakra_tui.screens.debugger import DebuggerScreen
    from vakra_tui.state.engine import Engine

INTERRUPTED = 130
"""The exit code of whatever was interrupted, as everywhere in the program."""

CLOSING_S = 3.0
"""How long leaving may take before what still works is left behind."""

PATIENCE_S = 0.7
"""How long leaving waits for a verb that runs before it stops it."""


class Leaving(Preparing):
    """The part of the application that ends it in order."""

    engine: Engine
    opened: bool

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self._interrupted: asyncio.Future[None] | None = None

    def keep_place(self) -> None:
        """Remember where this dataset is looked at."""
        raise NotImplementedError

    def _soon(self, function: Callable[[], None]) -> None:
        """Called in any thread: have a function called as a callback of its own."""
        raise NotImplementedError

    async def action_quit(self) -> None:
        await self.leave(0)

    async def leave(self, code: int) -> None:
        """End with an exit code; sessions are closed first, as long as that does not take long."""
        from vakra_tui.screens.debugger import DebuggerScreen

        self.keep_place()
        debuggers = [screen for screen in self.screen_stack if isinstance(screen, DebuggerScreen)]
        message: Text | None = None
        try:
            await asyncio.wait_for(self.engine.run(self._let_go(debuggers)), CLOSING_S)
        except TimeoutError:
            message = Text(f"vakra-tui: closing took longer than {CLOSING_S:.0f} s; what was done last may not be kept")
        except (VakraError, OSError) as error:
            message = Text(sanitize(f"vakra-tui: not everything could be closed in order: {' '.join(_reasons(error))}"))
        self.exit(return_code=code, message=message)

    def interrupt(self) -> None:
        """End because a signal or the loss of the terminal asks for it, whatever the application is busy with."""
        if self._interrupted is None:
            with self._context():
                self._interrupted = asyncio.ensure_future(self.leave(INTERRUPTED))

    def _print_error_renderables(self) -> None:
        """What is said at the end is said to nobody where the terminal is gone; the exit code stays what it is."""
        try:
            super()._print_error_renderables()
        except OSError:
            self._exit_renderables.clear()

    def terminal_lost(self) -> None:
        """Called in a thread of the driver: nobody sees the screen or presses a key any more."""
        self._soon(self.interrupt)

    def get_driver_class(self) -> type[Driver]:
        driver = super().get_driver_class()
        if driver.__name__ != "LinuxDriver":
            return driver
        from vakra_tui.terminal import TerminalDriver

        return TerminalDriver

    async def _let_go(self, debuggers: Sequence[DebuggerScreen]) -> None:
        """In the engine: close the open sessions and the world, each also where another cannot be closed."""
        async with contextlib.AsyncExitStack() as closing:
            if self.opened:
                closing.push_async_callback(self.world.close)
            for screen in debuggers:
                closing.push_async_callback(
                    screen.session.last, screen.session.close, screen.behind, patience_s=PATIENCE_S
                )


def _reasons(error: BaseException) -> list[str]:
    """What failed, of several things in the order in which they did; a sentence that another quotes is not repeated."""
    said: list[str] = []
    failed: BaseException | None = error
    while failed is not None:
        text = str(failed)
        if isinstance(failed, VakraError | OSError) and not any(text in other for other in said):
            said.append(text)
        failed = failed.__context__
    return said[::-1]
