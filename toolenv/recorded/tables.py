"""The tables behind recorded handles: each column kept once, by its content, beside the recording.

``<domain>.tables`` lies beside ``<domain>.jsonl`` and is made of lines of two kinds:

    {"column": DIGEST, "values": TEXT}                 TEXT: the column as JSON, deflated, in base64
    {"table": DIGEST, "num_records": N, "columns": [{"name", "dtype", "column": DIGEST}]}

A call's line in the recording names its table by ``"table": DIGEST``. A digest is the SHA-256 of the content, so equal
tables have one digest. A recording without tables is complete in all other respects: tables are then not shown.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Final

from toolenv.environment import ColumnInfo, TableView
from toolenv.errors import EnvironmentFailure
from toolenv.files import written_whole
from toolenv.model import Json
from toolenv.recorded.merging import copy_lines

CELLS: Final = 5_000_000
"""A table with more cells is not kept."""

_HEADS: Final = (b'{"column": "', b'{"table": "')
_DIGEST: Final = 64


def tables_path(recording: Path) -> Path:
    """Where the tables of a recording lie."""
    return recording.with_suffix(".tables")


class TableWriter:
    """Appends tables to a spool; what it has appended, or the target holds already, is not written again."""

    def __init__(self, spool: Path, target: Path) -> None:
        self._spool = spool
        self._known = {digest for path in (target, spool) for digest in _places(path)}
        self._by_fingerprint: dict[str, str] = {}
        self._writing = Lock()

    def known(self, view: TableView) -> str | None:
        """The digest of a view that was kept before."""
        return self._by_fingerprint.get(view.fingerprint)

    def keep(self, view: TableView) -> str | None:
        """The digest of a view, which is kept; None where it is too large. Raises OSError."""
        columns = view.columns
        if view.num_records * max(1, len(columns)) > CELLS:
            return None
        shown = []
        for index, info in enumerate(columns):
            text = json.dumps(list(view.column(index))).encode()
            digest = sha256(text).hexdigest()
            self._append(digest, {"column": digest, "values": b64encode(zlib.compress(text)).decode("ascii")})
            shown.append({"name": info.name, "dtype": info.dtype, "column": digest})
        content = {"num_records": view.num_records, "columns": shown}
        digest = sha256(json.dumps(content).encode()).hexdigest()
        self._append(digest, {"table": digest, **content})
        self._by_fingerprint[view.fingerprint] = digest
        return digest

    def _append(self, digest: str, line: dict[str, Json]) -> None:
        with self._writing:
            if digest in self._known:
                return
            with self._spool.open("ab") as stream:
                stream.write(json.dumps(line).encode() + b"\n")
            self._known.add(digest)


def merge_tables(target: Path, spool: Path) -> None:
    """Put what the spool holds into the target, sorted by digest, and remove the spool. Raises OSError."""
    if not spool.exists():
        return
    found = {digest: (path, *place) for path in (spool, target) for digest, place in _places(path).items()}
    with written_whole(target) as out:
        copy_lines((found[digest] for digest in sorted(found)), out)
    spool.unlink(missing_ok=True)


def _places(path: Path) -> dict[str, tuple[int, int]]:
    """Digest -> (offset, length) of each complete line of a file that may not be there."""
    found: dict[str, tuple[int, int]] = {}
    if not path.exists():
        return found
    offset = 0
    with path.open("rb") as stream:
        for line in stream:
            head = next((head for head in _HEADS if line.startswith(head)), None)
            if head is not None and line.endswith(b"}\n"):
                digest = line[len(head) : len(head) + _DIGEST].decode("ascii", "replace")
                found.setdefault(digest, (offset, len(line) - 1))
            offset += len(line)
    return found


class TableFile:
    """The tables of one recording; read when they are asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: dict[str, tuple[int, int]] | None = None
        self.column = lru_cache(maxsize=64)(self._column)

    def view(self, digest: str) -> RecordedTable | None:
        """The table with a digest, None where the file does not hold it. A damaged one is an EnvironmentFailure."""
        value = self._line(digest)
        if value is None:
            return None
        try:
            columns = [(ColumnInfo(name=c["name"], dtype=c["dtype"]), str(c["column"])) for c in value["columns"]]
            return RecordedTable(self, digest, int(value["num_records"]), columns)
        except (KeyError, TypeError, ValueError) as error:
            raise self._damaged(digest) from error

    def _column(self, digest: str) -> Sequence[Json]:
        value = self._line(digest)
        try:
            if value is None:
                raise KeyError(digest)
            text = zlib.decompress(b64decode(value["values"]))
            if sha256(text).hexdigest() != digest:
                raise ValueError(digest)
            values: list[Json] = json.loads(text)
        except (KeyError, TypeError, ValueError, zlib.error) as error:
            raise self._damaged(digest) from error
        return values

    def _line(self, digest: str) -> dict[str, Json] | None:
        try:
            if self._places is None:
                self._places = _places(self._path)
            place = self._places.get(digest)
            if place is None:
                return None
            with self._path.open("rb") as stream:
                stream.seek(place[0])
                value: dict[str, Json] = json.loads(stream.read(place[1]))
        except OSError as error:
            raise EnvironmentFailure(f"{self._path} cannot be read: {error.strerror or error}.") from error
        except ValueError as error:
            raise self._damaged(digest) from error
        return value

    def _damaged(self, digest: str) -> EnvironmentFailure:
        return EnvironmentFailure(f"{self._path} is damaged at the entry {digest[:12]}; record it again.")


class RecordedTable:
    """A ``TableView`` of a recorded table; columns are read when they are asked for."""

    def __init__(
        self, file: TableFile, digest: str, num_records: int, columns: Sequence[tuple[ColumnInfo, str]]
    ) -> None:
        self._file = file
        self._columns = columns
        self.fingerprint = f"recorded:{digest}"
        self.num_records = num_records

    @property
    def columns(self) -> Sequence[ColumnInfo]:
        return [info for info, _ in self._columns]

    def rows(self, start: int, stop: int) -> Sequence[tuple[Json, ...]]:
        window = slice(max(0, start), max(0, stop))
        columns = [self._file.column(digest)[window] for _, digest in self._columns]
        return list(zip(*columns, strict=True)) if columns else [() for _ in range(self.num_records)[window]]

    def column(self, index: int) -> Iterator[Json]:
        return iter(self._file.column(self._columns[index][1]))
