"""The marks of a person on instances, and filters by name: small files that outlive the program."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from vakra_tui.state.entry import Entry, EntryKey
from vakra_tui.state.small_files import read_small, write_small


class Marks:
    """Which instances of a dataset are marked; ``dataset`` names it (its folder, or the sample).

    A file that cannot be read counts as empty; one that cannot be written raises ``DataError``.
    """

    def __init__(self, folder: Path, dataset: str) -> None:
        digest = hashlib.sha256(dataset.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        self._path = folder / "marks" / f"{digest}.json"
        self._dataset = dataset

    def read(self) -> frozenset[EntryKey]:
        """The marked instances."""
        kept = read_json(self._path)
        listed = kept.get("marked") if isinstance(kept, dict) else None
        if not isinstance(listed, list):
            return frozenset()
        found = (each for each in listed if isinstance(each, list) and len(each) == 3)
        return frozenset((int(c), str(d), str(u)) for c, d, u in found if isinstance(c, int))

    def write(self, entries: Iterable[Entry], others: frozenset[EntryKey] = frozenset()) -> None:
        """Keep the marks of these entries; ``others`` are marks on instances that the list does not hold."""
        marked = sorted(others | {entry.key for entry in entries if entry.marked})
        write_json(self._path, {"dataset": self._dataset, "marked": [list(key) for key in marked]})


def read_json(path: Path) -> Any:
    """The value of a small file, None where it is not there or cannot be read."""
    found = read_small(path)
    try:
        return None if found is None else json.loads(found.decode())
    except (ValueError, RecursionError):
        return None


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a small file whole or not at all. Raises ``DataError``."""
    text = json.dumps(value, ensure_ascii=True, indent=1) + "\n"
    write_small(path, text.encode("ascii"))
