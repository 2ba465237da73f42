"""Digests of files by content, the same wherever the folder lies."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_WHOLE: Final = 64 << 20
_BLOCK: Final = 1 << 20
_SAMPLES: Final = 64


def fingerprint_of(root: Path, paths: Iterable[Path]) -> str:
    """``sha256:...`` over names below ``root`` and content of the files that are there, in the order of their names.

    Files beyond 64 MiB (databases) are digested by size and 64 evenly spaced blocks of 1 MiB, first and last included.
    """
    digest = hashlib.sha256()
    for path in sorted({path for path in paths if path.is_file()}, key=lambda path: path.relative_to(root).as_posix()):
        digest.update(f"{path.relative_to(root).as_posix()}\0{_content(path)}\n".encode())
    return f"sha256:{digest.hexdigest()}"


def _content(path: Path) -> str:
    with path.open("rb") as stream:
        size = path.stat().st_size
        if size <= _WHOLE:
            return hashlib.file_digest(stream, "sha256").hexdigest()
        digest = hashlib.sha256(str(size).encode())
        for index in range(_SAMPLES):
            stream.seek((size - _BLOCK) * index // (_SAMPLES - 1))
            digest.update(stream.read(_BLOCK))
    return digest.hexdigest()
