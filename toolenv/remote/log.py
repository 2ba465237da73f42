"""What a server prints besides its answers: kept in a file, harmless for a terminal, never in a terminal's way."""

from __future__ import annotations

import codecs
import re
from collections import deque
from pathlib import Path
from typing import Final, TextIO

LIMIT: Final = 8 * 1024 * 1024
"""Characters that a log may hold; what comes later is drained and dropped."""

TAIL: Final = 12
_WIDTH: Final = 300
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def neutral(text: str) -> str:
    """Text with control characters made visible, so that nothing it holds is a terminal's command."""
    return _UNSAFE.sub(_picture, text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"<{code:04X}>"


class ServerLog:
    """The log of one server process. ``tail`` are its last lines of stderr.

    A file that cannot be written to never keeps a server from answering: it is given up, and ``problem`` says why.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stray = 0
        self.problem: str | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._tail: deque[str] = deque(maxlen=TAIL)
        self._rest = ""
        self._written = 0
        self._stream: TextIO | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = path.open("w", encoding="utf-8", errors="replace")
        except OSError as error:
            self._lost(error)

    def stderr(self, chunk: bytes, *, last: bool = False) -> None:
        lines = (self._rest + self._decoder.decode(chunk, last)).split("\n")
        self._rest = lines.pop()[-65536:]
        if last and self._rest:
            lines, self._rest = [*lines, self._rest], ""
        for line in lines:
            self._line(neutral(line.rstrip("\r")))
        self._flush()

    def stray_line(self, line: bytes) -> None:
        """A line on stdout that is no message of the protocol."""
        self.stray += 1
        self._write("stdout: " + neutral(line[:4096].decode("utf-8", "replace")) + "\n")
        self._flush()

    def tail(self) -> list[str]:
        return [line[:_WIDTH] for line in (*self._tail, *([neutral(self._rest)] if self._rest else ()))]

    def _line(self, line: str) -> None:
        if line.strip():
            self._tail.append(line)
        self._write(line + "\n")

    def _write(self, text: str) -> None:
        if self._stream is None or self._written > LIMIT:
            return
        self._written += len(text)
        try:
            self._stream.write(text if self._written <= LIMIT else "... the rest was dropped\n")
        except OSError as error:
            self._lost(error)

    def _flush(self) -> None:
        """What was said is in the file for whoever looks there while the server runs."""
        if self._stream is not None:
            try:
                self._stream.flush()
            except OSError as error:
                self._lost(error)

    def close(self) -> None:
        self.stderr(b"", last=True)
        self._give_up()

    def _lost(self, error: OSError) -> None:
        self.problem = f"{self.path} cannot be written: {error.strerror or error}"
        self._give_up()

    def _give_up(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            try:
                stream.close()
            except OSError as error:
                self.problem = self.problem or f"{self.path} cannot be written: {error.strerror or error}"
