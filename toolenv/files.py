"""Writing files so that a reader finds the old or the new content, never a part; reading what is sure to end."""

from __future__ import annotations

import errno
import glob
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from toolenv.errors import DataError

_TEMPORARY: Final = ".vakra-tui-part"
_ANY_MARK: Final = "[0-9a-f]" * 16
_LONGEST_STEM: Final = 200
"""Bytes of a file's name that its temporary name takes over; a whole name may have 255."""

_YOUNG_S: Final = 60.0
_STREAM_FOLDERS: Final = (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd"))


@contextmanager
def written_whole(path: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """A stream whose content takes the place of ``path`` when the block ends well, and vanishes when it does not.

    The folder is made where it is not there. The file gets the permissions of a new one, with ``private`` those that
    let only this user read it. Where ``path`` is a link, the
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
    with temporary_beside(path, private=private) as temporary:
        with temporary.open("r+b") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)


@contextmanager
def temporary_beside(path: Path, *, private: bool = False) -> Iterator[Path]:
    """An empty file in the folder of ``path`` that is to take its place; what is left of it at the end is removed.

    A process that is killed cannot remove its own: the next one that writes the same file does (``sweep``). Raises
    OSError.
    """
    sweep(path)
    # A name that may be as long as a name can be keeps room for what is added.
    stem = path.name if len(os.fsencode(path.name)) <= _LONGEST_STEM else path.name[: _LONGEST_STEM // 4]
    temporary = path.with_name(f".{stem}.{os.urandom(8).hex()}{_TEMPORARY}")
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
    try:
        locked(descriptor)
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
        os.close(descriptor)


def sweep(path: Path) -> None:
    """Remove what processes that were killed left of writing ``path``; nothing that a living process is writing.

    Whoever writes holds a lock, which ends with the process. A file without one that is younger than
    ``_YOUNG_S`` may belong to a process that has just made it.
    """
    stem = path.name if len(os.fsencode(path.name)) <= _LONGEST_STEM else path.name[: _LONGEST_STEM // 4]
    # What cannot be listed or removed stays: hidden files beside one that is written whole all the same.
    with suppress(OSError):
        for left in path.parent.glob(f".{glob.escape(stem)}.{_ANY_MARK}{_TEMPORARY}"):
            with suppress(OSError):
                _remove_abandoned(left)


def _remove_abandoned(left: Path) -> None:
    descriptor = os.open(left, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        status = os.fstat(descriptor)
        if is_old(status) and locked(descriptor):
            left.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def is_old(status: os.stat_result) -> bool:
    """Whether something was last written so long ago that whoever made it has locked it, if it still runs."""
    return not 0 <= time.time() - status.st_mtime < _YOUNG_S


def locked(descriptor: int) -> bool:
    """Lock a file for this process; False where another holds it or files cannot be locked here."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def path_of(written: str) -> Path:
    """The path that a person wrote, ``~`` included. Raises ``DataError`` for a text that names no file."""
    try:
        path = Path(written).expanduser()
        if "\0" in os.fsdecode(os.fsencode(path)):
            raise ValueError
    except RuntimeError as error:
        raise DataError(f"{written.partition('/')[0]} is no user's folder; write the path without ~.") from error
    except ValueError as error:
        raise DataError(f"{written!r} cannot be the name of a file.") from error
    return path


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


def refuse_endless(path: Path) -> None:
    """Raise ``DataError`` where reading a file might never end; a pipe that a shell opened may be read.

    Raises OSError where nothing is there.
    """
    kind = endless(path)
    if kind is not None and (kind != PIPE or path.absolute().parent not in _STREAM_FOLDERS):
        raise DataError(f"{path} cannot be read: it is {kind}, not a file")


def followed(path: Path) -> Path:
    """The absolute path without links, as far as they lead anywhere; ``resolve`` fails where they lead in a circle."""
    return Path(os.path.realpath(path))


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
