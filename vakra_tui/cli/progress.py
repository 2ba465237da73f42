"""Progress of a batch on stderr: how much, how fast, how long still."""

from __future__ import annotations

import contextlib
import sys
import time

from vakra_tui.cli.streams import is_terminal

TERMINAL_SECONDS = 0.2
LOG_SECONDS = 30.0


class Progress:
    """Counts finished lines; on a terminal one line that is overwritten, elsewhere a line every half minute."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        self.total = total
        self.done = 0
        self._quiet = quiet
        self._terminal = is_terminal(sys.stderr)
        self._started = time.monotonic()
        self._shown = self._started
        self._width = 0

    def add(self, lines: int) -> None:
        self.done += lines
        now = time.monotonic()
        pause = TERMINAL_SECONDS if self._terminal else LOG_SECONDS
        if not self._quiet and now - self._shown >= pause:
            self._shown = now
            self._show(sentence(self.done, self.total, now - self._started))

    def _show(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # nobody looks
            if self._terminal:
                sys.stderr.write("\r" + text.ljust(self._width))
                self._width = len(text)
            else:
                sys.stderr.write(text + "\n")
            sys.stderr.flush()

    def close(self) -> None:
        """Take the overwritten line away."""
        if self._width:
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write("\r" + " " * self._width + "\r")
                sys.stderr.flush()

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._started


def sentence(done: int, total: int, elapsed_s: float) -> str:
    """``done`` of ``total``, the rate and the time that the rest takes at this rate."""
    rate = done / elapsed_s if elapsed_s > 0 else 0.0
    text = f"{done}/{total} scored, {rate:.1f}/s"
    if not rate or done >= total:
        return text
    left = round((total - done) / rate)
    return f"{text}, {left // 3600}:{left // 60 % 60:02}:{left % 60:02} left"
