"""Files that change while they are looked at, told by size and time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple


class Look(NamedTuple):
    """What a file looked like."""

    size: int
    changed_ns: int
    inode: int


Looks = Mapping[Path, Look | None]
"""What files and folders looked like; None for one that is not there."""


def look(paths: Iterable[Path]) -> dict[Path, Look | None]:
    """What these files and folders look like now."""
    return {path: _look(path) for path in paths}


def _look(path: Path) -> Look | None:
    try:
        status = path.stat()
    except OSError:
        return None
    # The size of a folder says nothing that its time does not.
    return Look(0 if path.is_dir() else status.st_size, status.st_mtime_ns, status.st_ino)


class Watch:
    """Tells which files differ from what they were when they were read."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._read: dict[Path, Look | None] = look(paths)
        self.now: Looks = self._read

    def changed(self) -> tuple[Path, ...]:
        """The files and folders that are not what they were when they were read; looks anew."""
        self.now = look(self._read)
        return tuple(path for path, seen in self._read.items() if self.now[path] != seen)

    def differ(self, paths: Iterable[Path]) -> bool:
        """Whether one of these is not what it was when it was read; looks at them alone."""
        return any(path in self._read and _look(path) != self._read[path] for path in paths)

    def after(self, paths: Iterable[Path], taken: Iterable[Path], looks: Looks) -> Watch:
        """A watch over ``paths`` that knows ``taken`` ones as they looked when they were read; others as before."""
        watch = Watch(())
        read = set(taken)
        for path in paths:
            if path in read or path not in self._read:
                watch._read[path] = looks[path] if path in looks else _look(path)
            else:
                watch._read[path] = self._read[path]
        watch.now = look(watch._read)
        return watch
