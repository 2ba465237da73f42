"""Loading a tool universe: one read-only SQLite query, and the tables that sessions share.

The query is the released one (contract, section 1.1): columns of every alias in the mapping's order, the first alias in
FROM, inner joins in the order of the conditions. Row order is SQLite's plan order.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from toolenv.dashboards.database import decode_text, open_read_only
from toolenv.errors import EnvironmentFailure
from toolenv.model import Universe
from toolenv.native.columns import Column, Series, column_of, digest
from toolenv.native.tables import Budget, Frame, Table

DEADLINE_S = 60.0
"""Seconds that loading one universe may take."""

CELL_CAP = 30_000_000
"""Cells (rows times columns) that one universe may have."""

_OPERATIONS_BETWEEN_CHECKS = 50_000
_ROWS_AT_ONCE = 1000
"""Few enough for row tuples to die young: the garbage collector would otherwise walk all of them again and again."""


class UniverseError(Exception):
    """A universe that cannot be loaded from its database: a missing table or column. The message is a sentence."""


class Plan(NamedTuple):
    """The query of a universe. ``names`` are the table's columns; ``picks`` the query's column behind each.

    ``notes`` say which declared joins the release does otherwise (S11).
    """

    sql: str
    names: tuple[str, ...]
    picks: tuple[int, ...]
    notes: tuple[str, ...]


class Loaded(NamedTuple):
    """A universe's table and what is to be said about it whenever it is opened."""

    table: Table
    notes: tuple[str, ...]


def clean_name(name: str) -> str:
    """A column name as tools show it: no blanks, parentheses, slashes or dashes."""
    name = name.strip().replace(" ", "_").replace("(", "").replace(")", "")
    return name.replace("/", "_").replace("-", "_")


def quoted(identifier: str) -> str:
    """An SQL identifier; whatever it holds, it is never read as SQL."""
    return '"' + identifier.replace('"', '""') + '"'


def plan_of(connection: sqlite3.Connection, universe: Universe) -> Plan:
    """The query that loads a universe. Raises ``UniverseError`` where it names something that is not there."""
    if not universe.tables:
        raise UniverseError(f"tool universe {universe.id} names no table")
    columns = [_columns(connection, table.original_name, universe) for table in universe.tables]
    if not universe.conditions:
        last = universe.tables[-1]
        prefix = f"{last.modified_name}_" if last.alias else ""
        names = [prefix + clean_name(name) for name in columns[-1]]
        notes: tuple[str, ...] = ()
        if len(universe.tables) > 1:
            notes = (f"several tables and no join condition: only the last one, {last.original_name}, is loaded (S11)",)
        return _plan(f"SELECT * FROM {quoted(last.original_name)}", names, notes)
    by_alias = {table.alias: (table, names) for table, names in zip(universe.tables, columns, strict=True)}
    select, names = [], []
    for alias, (table, own) in by_alias.items():
        for column in own:
            select.append(f"{quoted(alias)}.{quoted(column)}")
            names.append(f"{table.modified_name}_{clean_name(column)}")
    first = next(iter(by_alias))
    sql = f"SELECT {', '.join(select)} FROM {quoted(by_alias[first][0].original_name)} AS {quoted(first)}"
    joins, quirks = _joins(universe, by_alias, first)
    return _plan(sql + joins, names, quirks)


def _columns(connection: sqlite3.Connection, table: str, universe: Universe) -> list[str]:
    try:
        cursor = connection.execute(f"SELECT * FROM {quoted(table)} LIMIT 0")
    except sqlite3.OperationalError as error:
        raise UniverseError(f"tool universe {universe.id} cannot use table {table!r}: {error}") from error
    return [column[0] for column in cursor.description]


def _joins(universe: Universe, by_alias: dict[str, tuple[Any, list[str]]], first: str) -> tuple[str, tuple[str, ...]]:
    """The INNER JOIN clauses, in the order of the conditions, and notes on what a declared join does not get."""
    joined = {first}
    clauses: list[str] = []
    notes: list[str] = []
    for left, right, kind in universe.conditions:
        sides = []
        for side in (left, right):
            alias, dot, column = side.partition(".")
            if not dot:
                raise UniverseError(f"tool universe {universe.id} has a join condition without an alias: {side!r}")
            own = by_alias[alias][1] if alias in by_alias else []
            actual = next((name for name in own if name.lower() == column.lower()), column)
            sides.append((alias, f"{quoted(alias)}.{quoted(actual)}"))
        (left_alias, left_column), (right_alias, right_column) = sides
        if right_alias not in joined and right_alias in by_alias:
            added, condition = right_alias, f"{left_column} = {right_column}"
        elif left_alias not in joined and left_alias in by_alias:
            added, condition = left_alias, f"{right_column} = {left_column}"
        else:
            notes.append(f"the join condition {left} = {right} is dropped: both tables are joined already (S11)")
            continue
        clauses.append(f" INNER JOIN {quoted(by_alias[added][0].original_name)} AS {quoted(added)} ON {condition}")
        joined.add(added)
        if kind.upper().split()[:1] not in ([], ["INNER"], ["JOIN"]):
            notes.append(f"the {kind} join of {left} and {right} is done as an inner join (S11)")
    return "".join(clauses), tuple(notes)


def _plan(sql: str, names: list[str], notes: tuple[str, ...]) -> Plan:
    """Equal names collapse: the place of the first, the values of the last (contract, section 1.1)."""
    picks: dict[str, int] = {}
    for position, name in enumerate(names):
        picks[name] = position
    if len(picks) < len(names):
        lost = sorted({name for name in names if names.count(name) > 1})
        notes = (*notes, f"several columns share the name {', '.join(lost)}: only the last one's values are kept (S11)")
    return Plan(sql, tuple(picks), tuple(picks.values()), notes)


class TableCache:
    """The tables of one environment, one for each (database file, universe), shared by all of its sessions.

    Rows are dropped under the budget and read again when needed; a database that has changed meanwhile is an
    ``EnvironmentFailure``, since the handles of running sessions would no longer mean what they said.
    """

    def __init__(self, budget: Budget, *, pandas2: bool) -> None:
        self.budget = budget
        self._pandas2 = pandas2
        self._loaded: dict[tuple[Any, ...], Loaded] = {}
        self._names: dict[tuple[Any, ...], tuple[str, ...]] = {}
        self._locks: dict[tuple[Any, ...], threading.Lock] = {}
        self._lock = threading.Lock()

    def names(self, database: Path, universe: Universe) -> tuple[str, ...]:
        """The universe's columns, from the schema alone. Raises as ``load`` does."""
        key = _key(database, universe)
        held = self._names.get(key)
        if held is None:
            with closing(open_read_only(database)) as connection:
                held = self._names[key] = _guarded(database, lambda: plan_of(connection, universe)).names
        return held

    def load(self, database: Path, universe: Universe) -> Loaded:
        """The universe's table. Raises ``UniverseError`` or ``EnvironmentFailure``."""
        key = _key(database, universe)
        held = self._loaded.get(key)
        if held is not None:
            return held
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            held = self._loaded.get(key)
            if held is None:
                held = self._loaded[key] = self._read(database, universe, key)
                self._names[key] = held.table.names
        return held

    def clear(self) -> None:
        """Forget all tables; those that sessions still hold read their rows again when asked."""
        with self._lock:
            self._loaded.clear()
            self._names.clear()
            self._locks.clear()

    def _read(self, database: Path, universe: Universe, key: tuple[Any, ...]) -> Loaded:
        stamp = _stamp(database)
        plan, dtypes, frame, undecoded = read_universe(database, universe, self._pandas2, _bytes_of(key))

        def again() -> Frame:
            if _stamp(database) != stamp:
                raise EnvironmentFailure(
                    f"database {database} has changed since it was opened; open the session again."
                )
            return read_universe(database, universe, self._pandas2, _bytes_of(key))[2]

        notes = plan.notes
        if undecoded:
            notes = (*notes, f"text in {', '.join(undecoded)} is not all UTF-8; such cells are read as Latin-1")
        table = Table(plan.names, dtypes, frame.size, again, self.budget, frame=frame)
        return Loaded(table, notes)


def read_universe(
    database: Path, universe: Universe, pandas2: bool, key: bytes
) -> tuple[Plan, tuple[str, ...], Frame, tuple[str, ...]]:
    """Plan, printed types, rows, and the names of columns with text that is not UTF-8."""
    with closing(open_read_only(database)) as connection:
        plan = _guarded(database, lambda: plan_of(connection, universe))
        connection.text_factory = str
        undecoded: tuple[str, ...] = ()
        try:
            cells = _fetch(connection, database, universe, plan)
        except _NotUtf8:
            connection.text_factory = _marked_text
            cells = _fetch(connection, database, universe, plan)
            undecoded = _unmark(cells, plan)
    dtypes: list[str] = []
    series: list[Series] = []
    count = len(cells[0]) if cells else 0
    for position, pick in enumerate(plan.picks):
        column_key = digest(key, str(position).encode())
        values = cells[pick]
        if count:
            dtype, column = column_of(values, column_key, pandas2)
        else:
            dtype, column = "object", Column(values, "object", column_key, nulls=True)
        dtypes.append(dtype)
        series.append(Series(column, None))
    return plan, tuple(dtypes), Frame(tuple(series), count), undecoded


class _NotUtf8(Exception):
    pass


class _Latin1(str):
    """Text that was not UTF-8, on its way to becoming a plain string."""

    __slots__ = ()


def _marked_text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return _Latin1(decode_text(raw))


def _unmark(cells: list[list[Any]], plan: Plan) -> tuple[str, ...]:
    """Make marked cells plain strings, in place; the names of the columns that had any."""
    found: list[str] = []
    for name, pick in zip(plan.names, plan.picks, strict=True):
        column = cells[pick]
        marked = [row for row, cell in enumerate(column) if type(cell) is _Latin1]
        for row in marked:
            column[row] = str.__str__(column[row])
        if marked:
            found.append(name)
    return tuple(found)


def _fetch(connection: sqlite3.Connection, database: Path, universe: Universe, plan: Plan) -> list[list[Any]]:
    """Columns of the query's result, every one as a list of its own."""
    ends_at = time.monotonic() + DEADLINE_S
    connection.set_progress_handler(lambda: int(time.monotonic() >= ends_at), _OPERATIONS_BETWEEN_CHECKS)
    cap = max(1, CELL_CAP // max(1, len(plan.names)))
    try:
        cursor = connection.execute(plan.sql)
        columns: list[list[Any]] = [[] for _ in cursor.description]
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            for column, part in zip(columns, zip(*rows, strict=True), strict=True):
                column.extend(part)
            if len(columns[0]) > cap:
                raise EnvironmentFailure(
                    f"tool universe {universe.id} has more than {cap} rows of {len(plan.names)} columns; "
                    "that is more than this environment loads."
                )
    except sqlite3.OperationalError as error:
        if "Could not decode to UTF-8" in str(error):
            raise _NotUtf8 from error
        if time.monotonic() >= ends_at:
            raise EnvironmentFailure(
                f"loading tool universe {universe.id} from {database} took longer than {DEADLINE_S:g} s and was "
                "stopped; its joins need an index, or the universe a smaller table."
            ) from error
        raise UniverseError(f"tool universe {universe.id} cannot be loaded: {error}") from error
    except sqlite3.DatabaseError as error:
        raise EnvironmentFailure(f"database {database} cannot be read ({error}); replace the file.") from error
    finally:
        connection.set_progress_handler(None, 0)
    return columns


def _guarded(database: Path, work: Callable[[], Plan]) -> Plan:
    """``work`` with a damaged file told apart from a universe that does not fit its database."""
    try:
        return work()
    except sqlite3.DatabaseError as error:
        raise EnvironmentFailure(f"database {database} cannot be read ({error}); replace the file.") from error


def _stamp(database: Path) -> tuple[int, int]:
    try:
        status = database.stat()
    except OSError as error:
        raise EnvironmentFailure(f"database {database} is not there ({error.strerror}).") from error
    return status.st_size, status.st_mtime_ns


def _key(database: Path, universe: Universe) -> tuple[Any, ...]:
    return str(database.resolve()), *_stamp(database), universe.tables, universe.conditions


def _bytes_of(key: tuple[Any, ...]) -> bytes:
    return digest(repr(key).encode("utf-8", "surrogatepass"))
