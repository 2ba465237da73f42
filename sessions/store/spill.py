"""What a store refused, kept in a file until it can be taken in.

One JSON line a refused write, each complete in itself; a line that was cut off is skipped when the file is read.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from sessions.store import codec
from toolenv.model import Json


class Spill:
    """The files with the refused writes of one store: beside it, or else in the user's own folder for such things.

    ``name`` is the store's (path or URL without password); stores of the same file name never share a file.
    """

    def __init__(self, name: str, path: Path | None) -> None:
        digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:12]
        self._stem = f"{path.name if path is not None else 'server'}-{digest}.unsaved"
        self._path = path
        self._kept: set[bytes] = set()
        self._fresh: set[Path] = set()

    def folders(self) -> Iterator[Path]:
        if self._path is not None:
            yield self._path.parent
        from platformdirs import user_state_path

        yield user_state_path("vakra-tui") / "unsaved"

    def keep(self, records: Iterable[Json]) -> Path | None:
        """Keep refused writes, secrets taken out and each once; gives the file, or None where no folder has room."""
        lines = [codec.encoded(record) + b"\n" for record in records]
        digests = [hashlib.sha256(line).digest() for line in lines]
        fresh = b"".join(line for line, digest in zip(lines, digests, strict=True) if digest not in self._kept)
        if not fresh and self._fresh:
            return max(self._fresh)
        for folder in self.folders():
            target = folder / f"{self._stem}-{os.getpid()}.jsonl"
            if _appended(target, fresh):
                self._kept.update(digests)
                self._fresh.add(target)
                return target
        return None

    def fresh(self) -> list[Path]:
        """The files that this very process has kept something in since it was asked last."""
        files = sorted(self._fresh)
        self._fresh.clear()
        self._kept.clear()
        return files

    def files(self) -> list[Path]:
        """All files of the store, whichever process left them, oldest first."""
        found = {file for folder in self.folders() for file in folder.glob(f"{self._stem}-*.jsonl")}
        return sorted(found, key=lambda file: (file.stat().st_mtime, file))


def _appended(target: Path, lines: bytes) -> bool:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("ab") as file:
            start = file.tell()
            try:
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                file.truncate(start)
                raise
    except OSError:
        if target.exists() and target.stat().st_size == 0:
            target.unlink(missing_ok=True)
        return False
    return True


def records(file: Path) -> Iterator[Json]:
    """The refused writes in a file."""
    for line in file.read_bytes().splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def claimed(file: Path) -> Path:
    """The file under another name, so that what is refused meanwhile goes into a new one."""
    if "-claimed-" in file.name:
        return file
    return file.rename(file.with_name(f"{file.stem}-claimed-{time.time_ns()}.jsonl"))
