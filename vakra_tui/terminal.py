"""The terminal that the screen is drawn on: one that goes away ends the program, which must not wait for it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from io import TextIOWrapper
from typing import IO, TYPE_CHECKING, Any

from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from vakra_tui.app import VakraApp


class Output:
    """A stream to a terminal. When it can no longer be written, ``lost`` is called once and the rest is thrown away."""

    def __init__(self, stream: IO[str], lost: Callable[[], None]) -> None:
        self._stream = stream
        self._lost = lost
        self._gone = False

    def write(self, text: str) -> None:
        self._unless_gone(self._stream.write, text)

    def flush(self) -> None:
        self._unless_gone(self._stream.flush)

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def _unless_gone(self, act: Callable[..., Any], *arguments: str) -> None:
        if self._gone:
            return
        try:
            act(*arguments)
        except (OSError, ValueError):
            # ValueError: the stream itself was closed.
            self._gone = True
            self._lost()


class TerminalDriver(LinuxDriver):
    """Draws on the terminal, wherever stderr goes, and ends the application when there is no terminal any more."""

    _app: VakraApp

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        streams = [stream for stream in (sys.__stderr__, sys.__stdout__) if stream is not None]
        shown = next((stream for stream in streams if stream.isatty()), streams[0])
        if isinstance(shown, TextIOWrapper) and shown.encoding.lower() != "utf-8":
            # Lines and signs of the screen exist in UTF-8 alone, whatever the locale says.
            shown.reconfigure(encoding="utf-8", errors="replace")
        self._file: Any = Output(shown, self._app.terminal_lost)

    def _sigcont_application(self, *_: Any) -> None:
        """Come back from a stop.

        Without one (``fg`` of a job that runs, a terminal that hangs up) the library would start its threads a second
        time, and the first ones would never end.
        """
        if self._must_signal_resume:
            super()._sigcont_application()

    def _run_input_thread(self) -> None:
        try:
            self.run_input_thread()
        except OSError:
            self._app.terminal_lost()
