"""Encoded lines on disk: written in any order, read back by position or by key, so that memory stays flat."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from eval.scored import Scored, decode


class _Payloads:
    """Bytes in a temporary file that nobody else sees and that is gone with this object. Not safe across threads."""

    def __init__(self, folder: Path | None = None) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder, prefix=".vakra-tui-")  # noqa: SIM115 - closed with this object
        self._end = 0

    def append(self, payload: bytes) -> tuple[int, int]:
        """Where the payload lies: (offset, length)."""
        self._file.seek(self._end)
        self._file.write(payload)
        place = (self._end, len(payload))
        self._end += len(payload)
        return place

    def read(self, offset: int, length: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(length)

    def close(self) -> None:
        self._file.close()


class Spool:
    """The lines of one report by their position in it."""

    def __init__(self, size: int, folder: Path | None = None) -> None:
        self._payloads = _Payloads(folder)
        # Two numbers a line: a dict of offsets would be most of the memory of a long batch.
        self._offsets = array("q", [-1]) * size
        self._lengths = array("q", [0]) * size

    def put(self, position: int, payload: bytes) -> None:
        """Keep an encoded line."""
        self._offsets[position], self._lengths[position] = self._payloads.append(payload)

    def get(self, position: int) -> Scored | None:
        """The line at a position, None where there is none yet."""
        if self._offsets[position] < 0:
            return None
        return decode(self._payloads.read(self._offsets[position], self._lengths[position]))

    def __len__(self) -> int:
        return len(self._offsets)

    def __iter__(self) -> Iterator[Scored]:
        """All lines that are there, in report order."""
        for position in range(len(self)):
            scored = self.get(position)
            if scored is not None:
                yield scored

    def close(self) -> None:
        self._payloads.close()


class KeyedSpool:
    """Payloads by key, each taken out once."""

    def __init__(self, folder: Path | None = None) -> None:
        self._payloads = _Payloads(folder)
        self._places: dict[str, tuple[int, int]] = {}

    def put(self, key: str, payload: bytes) -> None:
        self._places[key] = self._payloads.append(payload)

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def pop(self, key: str) -> bytes:
        return self._payloads.read(*self._places.pop(key))

    def close(self) -> None:
        self._payloads.close()
