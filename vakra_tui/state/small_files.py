"""Small files that the screen keeps: read only where they are plain files of a bounded size, written whole.

Whatever lies under their names, a pipe or a device too, must neither be waited for nor be written into.
"""

from __future__ import annotations

from pathlib import Path

from toolenv.errors import DataError
from toolenv.files import endless, written_whole

LARGEST = 4_000_000
"""Bytes of a file that are read at most."""


def read_small(path: Path) -> bytes | None:
    """The content of a plain file; None where it is none, is not to be read or is larger than ``LARGEST``."""
    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            return None
        return path.read_bytes()
    except (OSError, ValueError):
        return None


def write_small(path: Path, payload: bytes, *, private: bool = False) -> None:
    """Write a file whole or not at all, with its folder. Raises ``DataError``."""
    try:
        refuse_endless(path)
        with written_whole(path, private=private) as stream:
            stream.write(payload)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}.") from error


def refuse_endless(path: Path) -> None:
    """Raise ``DataError`` where a path is a pipe, a device (a terminal, say) or a socket; ``OSError`` where it cannot
    be looked at."""
    try:
        kind = endless(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    if kind is not None:
        raise DataError(f"{path} is {kind}, not a file; nothing was written.")
