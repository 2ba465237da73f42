"""Tool universes as tables that sessions share.

A stored table is read once, whatever universes use it. A universe is then a set of index vectors into stored tables:
the join runs in SQLite and gives row numbers, in the order of the released query. Where that cannot be (views, tables
without rowid, another query plan) or would read far more than the join gives, the query's cells are read themselves.
"""

from __future__ import annotations

import threading
from array import array
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from toolenv.errors import EnvironmentFailure
from toolenv.model import Universe
from toolenv.native.columns import NULL_TEXT, Column, Rows, Series, all_text, column_of, digest, opened
from toolenv.native.queries import Plan, UniverseError, plan_of, quoted, same_plan, stored_sql
from toolenv.native.reading import Reader, reading
from toolenv.native.tables import Budget, Frame, Table
from toolenv.native.vectors import rows_of_text

_FEW_CELLS = 200_000
"""Stored tables of this many cells are read whole without a thought."""


class Loaded(NamedTuple):
    """A universe's table and what is to be said about it whenever it is opened."""

    table: Table
    notes: tuple[str, ...]


class _Stored(NamedTuple):
    """A stored table: its columns in a table of their own, and where row numbers lead.

    ``offset`` is the first rowid where rowids have no gap, else None; the table's last column holds them.
    """

    table: Table
    offset: int | None
    undecoded: tuple[int, ...]

    def rows(self, numbers: str | None) -> Rows[int]:
        """The table's rows for the numbers that the universe's query gave."""
        if numbers is None:
            return array("I")
        if self.offset is not None:
            return rows_of_text(numbers)
        places = {rowid: row for row, rowid in enumerate(self.table.frame().series[-1].cells())}
        return array("I", [places[int(number)] for number in numbers.split(",")])


class TableCache:
    """The tables of one environment, one for each (database file, universe), shared by all of its sessions.

    Rows are dropped under the budget and read again when needed; a database that has changed meanwhile is an
    ``EnvironmentFailure``, since the handles of running sessions would no longer mean what they said.
    """

    def __init__(self, budget: Budget, *, pandas2: bool) -> None:
        self.budget = budget
        self._pandas2 = pandas2
        self._loaded: dict[tuple[Any, ...], Loaded] = {}
        self._stored: dict[tuple[Any, ...], _Stored] = {}
        self._names: dict[tuple[Any, ...], tuple[str, ...]] = {}
        self._locks: dict[tuple[Any, ...], threading.RLock] = {}
        self._lock = threading.Lock()

    def names(self, database: Path, universe: Universe) -> tuple[str, ...]:
        """The universe's columns, from the schema alone. Raises as ``load`` does."""
        key = (*_file_key(database), universe.tables, universe.conditions)
        held = self._names.get(key)
        if held is None:
            with reading(database, f"tool universe {universe.id}") as reader:
                held = self._names[key] = plan_of(reader.connection, universe).names
        return held

    def load(self, database: Path, universe: Universe) -> Loaded:
        """The universe's table. Raises ``UniverseError`` or ``EnvironmentFailure``."""
        file = _file_key(database)
        key = (*file, universe.tables, universe.conditions)
        held = self._loaded.get(key)
        if held is not None:
            return held
        with self._locked(file):
            held = self._loaded.get(key)
            if held is None:
                with reading(database, f"tool universe {universe.id}") as reader:
                    held = self._loaded[key] = self._read(reader, database, file, universe)
                self._names[key] = held.table.names
        return held

    def clear(self) -> None:
        """Forget all tables; those that sessions still hold read their rows again when asked."""
        with self._lock:
            self._loaded.clear()
            self._stored.clear()
            self._names.clear()
            self._locks.clear()

    def _locked(self, file: tuple[Any, ...]) -> threading.RLock:
        with self._lock:
            return self._locks.setdefault(file, threading.RLock())

    # --- a universe --------------------------------------------------------------------------------------------------

    def _read(self, reader: Reader, database: Path, file: tuple[Any, ...], universe: Universe) -> Loaded:
        plan = plan_of(reader.connection, universe)
        stored = self._sources(reader, database, file, plan)
        found = None if stored is None else _vectors(reader, plan, stored)
        if stored is None or found is None:
            return self._read_cells(reader, database, file, universe, plan)

        def build(found: list[Rows[int]]) -> tuple[tuple[str, ...], Frame]:
            vectors = [_whole(source, vector) for source, vector in zip(stored, found, strict=True)]
            frames = [source.table.frame() for source in stored]
            pairs = [
                opened(Series(frames[table].series[column].column, base=vectors[table]), self._pandas2)
                for table, column in plan.sources
            ]
            return tuple(name for name, _ in pairs), Frame(tuple(series for _, series in pairs), len(found[0]))

        def remade() -> Frame:
            _unchanged(database, file)
            with reading(database, f"tool universe {universe.id}") as own:
                again = _vectors(own, plan, stored)
            assert again is not None
            return build(again)[1]

        dtypes, frame = build(found)
        parents = tuple({id(source.table): source.table for source in stored}.values())
        table = Table(plan.names, dtypes, frame.size, remade, self.budget, parents, frame)
        undecoded = [
            name
            for name, (source, column) in zip(plan.names, plan.sources, strict=True)
            if column in stored[source].undecoded
        ]
        return Loaded(table, _notes(plan, undecoded))

    def _read_cells(
        self, reader: Reader, database: Path, file: tuple[Any, ...], universe: Universe, plan: Plan
    ) -> Loaded:
        key = digest(repr((file, universe.tables, universe.conditions)).encode("utf-8", "surrogatepass"))

        def build(own: Reader) -> tuple[tuple[str, ...], Frame, list[str]]:
            columns, odd = own.columns(plan.sql)
            size = len(columns[0]) if columns else 0
            pairs = [
                column_of(columns[pick], digest(key, str(pick).encode()), self._pandas2)
                if size
                else ("object", Column([], "object", key, nulls=True))
                for pick in plan.picks
            ]
            undecoded = [name for name, pick in zip(plan.names, plan.picks, strict=True) if pick in odd]
            frame = Frame(tuple(Series(column) for _, column in pairs), size)
            return tuple(name for name, _ in pairs), frame, undecoded

        def again() -> Frame:
            _unchanged(database, file)
            with reading(database, f"tool universe {universe.id}") as own:
                return build(own)[1]

        dtypes, frame, undecoded = build(reader)
        return Loaded(Table(plan.names, dtypes, frame.size, again, self.budget, (), frame), _notes(plan, undecoded))

    # --- stored tables -----------------------------------------------------------------------------------------------

    def _sources(self, reader: Reader, database: Path, file: tuple[Any, ...], plan: Plan) -> list[_Stored] | None:
        """The stored tables of a plan, read where not held yet; None where the query's cells are the better way."""
        if not same_plan(reader.connection, plan):
            return None
        missing = [name for name in dict.fromkeys(plan.tables) if (*file, name) not in self._stored]
        try:
            if missing and not _worth_reading(reader, plan, missing):
                return None
            return [self._source(reader, database, file, name) for name in plan.tables]
        except UniverseError:
            return None

    def _source(self, reader: Reader, database: Path, file: tuple[Any, ...], name: str) -> _Stored:
        held = self._stored.get((*file, name))
        if held is None:
            held = self._stored[(*file, name)] = self._read_stored(reader, database, file, name)
        return held

    def _read_stored(self, reader: Reader, database: Path, file: tuple[Any, ...], name: str) -> _Stored:
        key = digest(repr((file, name)).encode("utf-8", "surrogatepass"))

        def build(own: Reader) -> tuple[Frame, tuple[int, ...], int | None]:
            sql = stored_sql(own.connection, name)
            (first,), (last,) = own.columns(sql.extent)[0]
            columns, odd = own.columns(sql.cells)
            offset = first or 0
            if columns[0] and (first is None or last - first + 1 != len(columns[0])):
                columns, odd = own.columns(sql.cells_and_rowids)
                offset = None
                if None in columns[-1]:
                    raise UniverseError(f"{name} has rows without a number")
            series = [
                Series(_stored_column(cells, digest(key, str(place).encode()), self._pandas2))
                for place, cells in enumerate(columns)
            ]
            return Frame(tuple(series), len(columns[0])), odd, offset

        def again() -> Frame:
            _unchanged(database, file)
            with reading(database, f"table {name}") as own:
                return build(own)[0]

        frame, undecoded, offset = build(reader)
        names = tuple(map(str, range(len(frame.series))))
        return _Stored(Table(names, None, frame.size, again, self.budget, (), frame), offset, undecoded)


def _worth_reading(reader: Reader, plan: Plan, missing: list[str]) -> bool:
    """Whether the tables that are not held yet have few cells, or not many more than the query itself gives."""
    cells = 0
    for name in missing:
        width = len(reader.connection.execute(f"SELECT * FROM {quoted(name)} LIMIT 0").description)
        (first,), (last,) = reader.columns(stored_sql(reader.connection, name).extent)[0]
        cells += width * (last - first + 1 if last is not None else 0)
    if cells <= _FEW_CELLS:
        return True
    enough = cells // (2 * len(plan.names))
    (counted,), _ = reader.columns(f"SELECT count(*) FROM (SELECT 1 FROM ({plan.sql}) LIMIT ?1)", (enough,))
    return int(counted[0]) >= enough


def _vectors(reader: Reader, plan: Plan, stored: list[_Stored]) -> list[Rows[int]] | None:
    """For each table of the plan, the row behind every row of the universe; None where a table has rows without one."""
    texts = reader.row_numbers(plan, [source.offset or 0 for source in stored])
    vectors = [source.rows(text) for source, text in zip(stored, texts, strict=True)]
    return vectors if len(set(map(len, vectors))) == 1 else None


def _whole(source: _Stored, rows: Rows[int]) -> Rows[int] | None:
    """None for an index vector that selects every row of a table in order."""
    size = source.table.count
    if len(rows) != size or not size or rows[0] != 0 or rows[-1] != size - 1:
        return rows
    return None if rows == array("I", range(size)) else rows


def _stored_column(cells: list[Any], key: bytes, pandas2: bool) -> Column:
    """A column of a stored table, in a form whose selections need no copies where its cells are of one kind."""
    if not pandas2 and all_text(cells):
        return Column(cells, "text", key, nulls=False)
    types = set(map(type, cells))
    nulls = type(None) in types
    types.discard(type(None))
    if types == {int} and not nulls:
        return Column(cells, "int", key, nulls=False)
    if types == {str}:
        if pandas2:
            return Column(cells, "text_none", key, nulls=nulls)
        if nulls:
            cells = [NULL_TEXT if cell is None else cell for cell in cells]
        return Column(cells, "text", key, nulls=nulls)
    if types == {float}:
        if nulls:
            cells = [float("nan") if cell is None else cell for cell in cells]
        return Column(cells, "float", key, nulls=nulls)
    return Column(cells, "object", key, nulls=True)


def _notes(plan: Plan, undecoded: list[str]) -> tuple[str, ...]:
    if not undecoded:
        return plan.notes
    return (*plan.notes, f"text in {', '.join(undecoded)} is not all UTF-8; such cells are read as Latin-1")


def _file_key(database: Path) -> tuple[Any, ...]:
    """What tells a database file from another and from its later self."""
    try:
        status = database.stat()
    except OSError as error:
        raise EnvironmentFailure(f"database {database} is not there ({error.strerror}).") from error
    return _resolved(database, status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns


@lru_cache(maxsize=256)
def _resolved(database: Path, device: int, inode: int) -> str:
    """Where a path leads; looked at again when another file lies there."""
    return str(database.resolve())


def _unchanged(database: Path, file: tuple[Any, ...]) -> None:
    if _file_key(database) != file:
        raise EnvironmentFailure(f"database {database} has changed since it was opened; open the session again.")
