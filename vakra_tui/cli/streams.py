"""Where words go: data to stdout, narration to stderr, whatever state the streams are in."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import IO, BinaryIO, cast

from toolenv.errors import DataError
from vakra_tui.text import sanitize


class OutputGone(Exception):
    """Nobody reads stdout any more."""


def narrate(text: str) -> None:
    """One line for a person on stderr; text from data is made harmless. A stderr that is gone is no error."""
    stream = sys.stderr
    if stream is None:
        return
    # A stream that is closed or whose reader has left takes nothing; there is nobody else to tell.
    with contextlib.suppress(OSError, ValueError):
        stream.write(
            sanitize(text).encode(stream.encoding or "utf-8", "backslashreplace").decode(stream.encoding or "utf-8")
        )
        stream.write("\n")
        stream.flush()


@contextlib.contextmanager
def stdout() -> Iterator[IO[bytes]]:
    """Standard output as bytes; whatever the locale, text goes out as UTF-8.

    Raises ``OutputGone`` when its reader has left or it is closed and ``DataError`` when it takes nothing more (a full
    disk), after pointing it at the null device, so that the interpreter does not complain at its end.
    """
    stream = sys.stdout
    try:
        if stream is None:
            raise OutputGone
        stream.flush()
        buffer = cast("IO[bytes]", _Output(stream.buffer))
        yield buffer
        buffer.flush()
    except (BrokenPipeError, ValueError) as error:
        if isinstance(error, ValueError) and not stream.closed:
            raise
        _silence()
        raise OutputGone from error
    except _NotTaken as error:
        _silence()
        raise DataError(f"standard output cannot be written: {error}") from error


class _NotTaken(Exception):
    """Standard output refused bytes; told from errors of whatever is read while it is written."""


class _Output:
    """Standard output for those who write to it and flush it."""

    def __init__(self, buffer: BinaryIO) -> None:
        self._buffer = buffer

    def write(self, data: bytes) -> int:
        try:
            return self._buffer.write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _NotTaken(error.strerror or str(error)) from error

    def flush(self) -> None:
        try:
            self._buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _NotTaken(error.strerror or str(error)) from error


def _silence() -> None:
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.__stdout__.fileno() if sys.__stdout__ is not None else 1)
        os.close(null)


def is_terminal(stream: IO[str] | None) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return stream is not None and stream.isatty()
    return False
