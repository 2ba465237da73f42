"""Where the built sample lies: the user's cache directory, keyed by the content of its sources.

A build goes to a directory of its own beside the final one and is renamed into place, so that a reader never sees
half a dataset and two processes may build at once. Where the cache cannot be written, the temporary directory serves.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from toolenv.errors import DataError
from toolenv.files import is_old, locked

_COMPLETE = "complete"
_PREFIX = "sample-"
_KEPT_S = 14 * 24 * 3600.0
"""Seconds for which a sample of another version stays after it was last opened."""


def built_sample() -> Path:
    """The directory that holds ``dataset/`` and ``runs/``. Raises ``DataError`` when it can be built nowhere."""
    from vakra_tui.sample.sources import content_version

    name = f"{_PREFIX}{content_version()}"
    reasons = []
    for place in _places():
        target = place / name
        if (target / _COMPLETE).is_file():
            _touch(target)
            return target
        try:
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
            return _build_into(place, target)
        except OSError as error:
            reasons.append(f"{place}: {error.strerror or error}")
    raise DataError(
        f"the built-in sample cannot be written ({'; '.join(reasons)}); set XDG_CACHE_HOME to a writable folder."
    )


def _touch(target: Path) -> None:
    """Say that a version is in use; a cache that cannot be written is never pruned either."""
    with contextlib.suppress(OSError):
        os.utime(target)


def _places() -> Iterator[Path]:
    import platformdirs

    yield Path(platformdirs.user_cache_dir("vakra-tui"))
    user = os.getuid() if hasattr(os, "getuid") else 0
    shared = Path(tempfile.gettempdir()) / f"vakra-tui-{user}"
    # Anybody may make a folder of this name: one that is not ours, or that others may write, is not used.
    if not shared.exists() or _is_ours(shared, user):
        yield shared


def _is_ours(folder: Path, user: int) -> bool:
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid in (user, 0) and not status.st_mode & 0o022


def _build_into(place: Path, target: Path) -> Path:
    work = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=place))
    descriptor = os.open(work, os.O_RDONLY)
    try:
        # Says that somebody builds here, for as long as this process lives.
        locked(descriptor)
        _run_apart(work)
        (work / _COMPLETE).write_text("", encoding="ascii")
        try:
            work.rename(target)
        except OSError:
            if not (target / _COMPLETE).is_file():
                raise
        _prune(place, target)
    finally:
        os.close(descriptor)
        shutil.rmtree(work, ignore_errors=True)
    return target


def _prune(place: Path, target: Path) -> None:
    """Remove samples of other versions that have long not been made: another version may be in use beside this one.

    A version is first renamed, so that nobody opens what is being removed. What cannot be removed stays. What killed
    builds and removals left goes as well.
    """
    for left in (*place.glob(f"{_PREFIX}*.*"), *place.glob("removed.*")):
        with contextlib.suppress(OSError):
            _remove_abandoned(left)
    now = time.time()
    for old in sorted(place.glob(f"{_PREFIX}*")):
        try:
            status = old.lstat()
            unused = now - max(status.st_mtime, status.st_atime) > _KEPT_S
            if old == target or not unused or not stat.S_ISDIR(status.st_mode):
                continue
            gone = Path(tempfile.mkdtemp(prefix="removed.", dir=place))
            old.rename(gone / old.name)
            shutil.rmtree(gone, ignore_errors=True)
        except OSError:
            continue


def _remove_abandoned(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
    try:
        if is_old(os.fstat(descriptor)) and locked(descriptor):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)


def _run_apart(out: Path) -> None:
    """Build in a thread with an event loop of its own, so that a caller inside a running loop may ask as well."""
    errors: list[BaseException] = []

    def build() -> None:
        from vakra_tui.sample.building import build_sample

        try:
            asyncio.run(build_sample(out))
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread as it is
            errors.append(error)

    thread = threading.Thread(target=build, name="build-sample")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
