"""Writing files so that a reader finds the old or the new content, never a part."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

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
