"""Writing files so that a reader finds the old or the new content, never a part; reading what is sure to end."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from toolenv.errors import DataError

_STREAM_FOLDERS: Final = (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd"))


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """A stream whose content takes the place of ``path`` when the block ends well, and vanishes when it does not.

    The folder is made where it is not there. The file gets the permissions of a new one. Where ``path`` is a link, the
    file that it leads to is replaced and the link stays; a device or a pipe is never replaced but written into. Raises
    OSError.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if _is_stream(path):
        with path.open("wb") as stream:
            yield stream
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        path = path.resolve()
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        with temporary.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _is_stream(path: Path) -> bool:
    """Whether a path is a device, a pipe or a descriptor (``/dev/stdout``), even one that leads to a plain file."""
    if path.is_symlink() and path.absolute().parent in _STREAM_FOLDERS:
        return True
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False


LARGEST_STREAM: Final = 1 << 30
"""Bytes that are read from a pipe at most; a file may have any size."""


def read_input(path: Path, what: str) -> bytes:
    """The content of a file, of ``-`` (stdin), or of a pipe that a shell opened (``<(command)``).

    Whatever might never end is refused: devices, terminals, named pipes. ``what`` names the content in the sentence of
    the ``DataError`` that says so, or why it cannot be read.
    """
    try:
        if str(path) == "-":
            return _read_stream(sys.stdin.buffer, "stdin", what)
        kind = endless(path)
        if kind is None:
            return path.read_bytes()
        if kind != PIPE or path.absolute().parent not in _STREAM_FOLDERS:
            raise DataError(f"cannot read {what} {path}: it is {kind}, not a file")
        with path.open("rb") as stream:
            return _read_stream(stream, str(path), what)
    except OSError as error:
        raise DataError(f"cannot read {what} {path}: {error.strerror or error}") from error


PIPE: Final = "a pipe"


def endless(path: Path) -> str | None:
    """What a path is, in words, where reading it might never end: a device, a pipe, a socket; else None.

    Raises OSError where it is not there.
    """
    return _endless(path.stat().st_mode)


def _endless(mode: int) -> str | None:
    if stat.S_ISFIFO(mode):
        return PIPE
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device" if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) else None


def _read_stream(stream: BinaryIO, name: str, what: str) -> bytes:
    """All of a stream. Raises ``DataError`` for a device and for more than any pipe should hold."""
    if _endless(os.fstat(stream.fileno()).st_mode) not in (None, PIPE):
        raise DataError(f"cannot read {what} from {name}: it is a device, not a file")
    payload = stream.read(LARGEST_STREAM + 1)
    if len(payload) > LARGEST_STREAM:
        raise DataError(f"cannot read {what} from {name}: it does not end within {LARGEST_STREAM >> 30} GiB")
    return payload
