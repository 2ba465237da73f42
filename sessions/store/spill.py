"""What a store refused, kept in a file beside it until it can be taken in.

One JSON line a refused write, each complete in itself; a line that was cut off is skipped when the file is read.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from sessions.store import codec
from toolenv.model import Json


def folders(path: Path | None) -> list[Path]:
    """Where to keep it: beside the store, else in the folder for temporary files."""
    return [*([path.parent] if path is not None else []), Path(tempfile.gettempdir())]


def spill(path: Path | None, record: Json) -> Path | None:
    """Keep one refused write, secrets taken out; gives the file, or None where no folder has room."""
    name = f"{path.name if path is not None else 'vakra-tui'}.unsaved-{os.getpid()}.jsonl"
    line = codec.encoded(record) + b"\n"
    for folder in folders(path):
        target = folder / name
        try:
            with target.open("ab") as file:
                start = file.tell()
                try:
                    file.write(line)
                    file.flush()
                    os.fsync(file.fileno())
                except OSError:
                    file.truncate(start)
                    raise
        except OSError:
            continue
        return target
    return None


def spilled(path: Path | None) -> list[Path]:
    """The files with refused writes of a store, oldest first."""
    name = path.name if path is not None else "vakra-tui"
    found = [file for folder in folders(path) for file in folder.glob(f"{name}.unsaved-*.jsonl")]
    return sorted(set(found), key=lambda file: file.stat().st_mtime)


def records(file: Path) -> Iterator[Json]:
    """The refused writes in a file."""
    for line in file.read_bytes().splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def claimed(file: Path) -> Path:
    """The file under another name, so that what is refused meanwhile goes into a new one."""
    return (
        file if "-claimed-" in file.name else file.rename(file.with_name(f"{file.stem}-claimed-{time.time_ns()}.jsonl"))
    )
