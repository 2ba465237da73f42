"""Which files of a folder hold the records of which domain, and which lie there for other reasons.

One file a domain, ``<domain>.json`` (or ``.jsonl``). Logs beside it (``<domain>_tools.json``, ``results.json``),
hidden files, backups and copies are never taken for data.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Final

from toolenv.errors import DataError
from toolenv.model import CAPABILITY_DIRS, Value

_DOMAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*")
_CAPABILITY = re.compile(r"capability_([1-4])(?:_.*)?", re.IGNORECASE)
_ENDINGS: Final = (".json", ".jsonl")
_LOGS: Final = frozenset({"results", "summary", "metadata"})


class DomainFiles(Value, frozen=True):
    """The files of one folder by domain, in the order of their names; ``ignored`` and ``problems`` are sentences."""

    files: dict[str, Path]
    ignored: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def is_domain_name(text: str) -> bool:
    """Whether a text can be a domain's name, which also makes it safe as a part of a path."""
    return _DOMAIN.fullmatch(text) is not None and not text.endswith(".")


def domain_files(folder: Path, label: str) -> DomainFiles:
    """Choose the file of each domain in a folder; ``label`` is how sentences name the folder (``.`` for none)."""
    candidates: dict[str, list[Path]] = defaultdict(list)
    ignored: list[str] = []
    problems: list[str] = []
    prefix = "" if label in ("", ".") else f"{label}/"
    for path in _listed(folder, label):
        name, ending = path.stem, path.suffix.lower()
        if path.name.startswith(".") or name.lower().endswith("_tools") or name.lower() in _LOGS or path.is_dir():
            continue
        if not path.is_file():
            problems.append(f"{prefix}{path.name} is no regular file and was not read.")
        elif ending in _ENDINGS and is_domain_name(name):
            candidates[name.casefold()].append(path)
        else:
            ignored.append(f"{prefix}{path.name} is no domain's file and was ignored.")
    files: dict[str, Path] = {}
    for found in candidates.values():
        best = _best(found)
        if best is None:
            names = " and ".join(path.name for path in found)
            problems.append(f"{prefix}{names} are two files for one domain, so neither was read; keep one of them.")
            continue
        files[best.stem] = best
        problems.extend(
            f"{prefix}{path.name} is a second file for the domain of {best.name} and was ignored; remove one of them."
            for path in found
            if path != best
        )
    return DomainFiles(
        files=dict(sorted(files.items())), ignored=tuple(sorted(ignored)), problems=tuple(sorted(problems))
    )


def capability_folders(folder: Path, label: str) -> dict[int, Path]:
    """The capability folders of a split or a run; the published name wins over another spelling."""
    found: dict[int, Path] = {}
    for path in _listed(folder, label):
        match = _CAPABILITY.fullmatch(path.name)
        if match is None or not path.is_dir():
            continue
        capability = int(match[1])
        if capability not in found or path.name == CAPABILITY_DIRS[capability]:
            found[capability] = path
    return dict(sorted(found.items()))


def _best(found: list[Path]) -> Path | None:
    """The file that is meant: the only one, or the one whose ending and name are in lower case."""
    if len(found) == 1:
        return found[0]
    for ending in _ENDINGS:
        exact = [path for path in found if path.suffix == ending]
        if len(exact) > 1:
            exact = [path for path in exact if path.stem == path.stem.lower()]
        if len(exact) == 1:
            return exact[0]
    return None


def _listed(folder: Path, label: str) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise DataError(f"{label or folder} cannot be listed: {error.strerror or error}.") from error
