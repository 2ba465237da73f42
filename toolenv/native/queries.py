"""The query that loads a tool universe, and a second one that finds the same rows without fetching their cells.

The first is the released one (contract, section 1.1): columns of every alias in the mapping's order, the first alias in
FROM, inner joins in the order of the conditions; row order is SQLite's plan order. Identifiers are always quoted.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from toolenv.model import Universe, UniverseTable


class UniverseError(Exception):
    """A universe that cannot be loaded from its database: a missing table or column. The message is a sentence."""


class Source(NamedTuple):
    """Where a column comes from: which of the plan's tables, and which of its columns."""

    table: int
    column: int


class Plan(NamedTuple):
    """How a universe is loaded.

    ``names`` are the columns that tools see and ``sources`` where each comes from. ``sql`` gives the cells of all
    columns of ``tables``; ``picks`` are the places of ``names`` among them. ``rows_sql`` gives one text a table: for
    every row, in the same plan, the rowid less an offset; it is bound to NULL, the largest number of rows and the
    offsets, and None where a table may have no rowid. ``notes`` say which declared joins the release does otherwise
    (S11).
    """

    tables: tuple[str, ...]
    sql: str
    rows_sql: str | None
    names: tuple[str, ...]
    picks: tuple[int, ...]
    sources: tuple[Source, ...]
    notes: tuple[str, ...]


_MOST_COLUMNS = 400
"""Beyond this many, the expression that names all columns would be too deep for SQLite."""


def clean_name(name: str) -> str:
    """A column name as tools show it: no blanks, parentheses, slashes or dashes."""
    name = name.strip().replace(" ", "_").replace("(", "").replace(")", "")
    return name.replace("/", "_").replace("-", "_")


def quoted(identifier: str) -> str:
    """An SQL identifier; whatever it holds, it is never read as SQL."""
    return '"' + identifier.replace('"', '""') + '"'


def plan_of(connection: sqlite3.Connection, universe: Universe) -> Plan:
    """The plan of a universe. Raises ``UniverseError`` where it names something that is not there."""
    if not universe.tables:
        raise UniverseError(f"tool universe {universe.id} names no table")
    columns = [_columns(connection, table.original_name, universe) for table in universe.tables]
    if not universe.conditions:
        return _single(universe, columns[-1])
    by_alias = {table.alias: (table, names) for table, names in zip(universe.tables, columns, strict=True)}
    select: list[str] = []
    names: list[str] = []
    sources: list[Source] = []
    for place, (alias, (table, own)) in enumerate(by_alias.items()):
        for position, column in enumerate(own):
            select.append(f"{quoted(alias)}.{quoted(column)}")
            names.append(f"{table.modified_name}_{clean_name(column)}")
            sources.append(Source(place, position))
    first = next(iter(by_alias))
    joins, notes = _joins(universe, by_alias, first)
    tail = f" FROM {quoted(by_alias[first][0].original_name)} AS {quoted(first)}{joins}"
    rowids = [_rowid(quoted(alias), own) for alias, (_, own) in by_alias.items()]
    tables = tuple(table.original_name for table, _ in by_alias.values())
    return _plan(tables, f"SELECT {', '.join(select)}{tail}", _rows_sql(rowids, select, tail), names, sources, notes)


class StoredSql(NamedTuple):
    """Queries on a whole table: (first rowid, last), at once; the cells by rowid; the same with the rowid last."""

    extent: str
    cells: str
    cells_and_rowids: str


def stored_sql(connection: sqlite3.Connection, table: str) -> StoredSql:
    columns = [row[0] for row in connection.execute(f"SELECT * FROM {quoted(table)} LIMIT 0").description]
    rowid = _rowid(quoted(table), columns)
    tail = f"FROM {quoted(table)} ORDER BY {rowid}"
    extent = f"SELECT (SELECT min({rowid}) FROM {quoted(table)}), (SELECT max({rowid}) FROM {quoted(table)})"
    return StoredSql(extent, f"SELECT * {tail}", f"SELECT *, {rowid} {tail}")


def _single(universe: Universe, columns: list[str]) -> Plan:
    """No condition: the last table alone is loaded, whatever the others are."""
    last = universe.tables[-1]
    prefix = f"{last.modified_name}_" if last.alias else ""
    notes: tuple[str, ...] = ()
    if len(universe.tables) > 1:
        notes = (f"several tables and no join condition: only the last one, {last.original_name}, is loaded (S11)",)
    tail = f" FROM {quoted(last.original_name)}"
    select = [f"{quoted(last.original_name)}.{quoted(column)}" for column in columns]
    rows_sql = _rows_sql([_rowid(quoted(last.original_name), columns)], select, tail)
    names = [prefix + clean_name(name) for name in columns]
    sources = [Source(0, position) for position in range(len(columns))]
    return _plan((last.original_name,), f"SELECT *{tail}", rows_sql, names, sources, notes)


def _columns(connection: sqlite3.Connection, table: str, universe: Universe) -> list[str]:
    try:
        cursor = connection.execute(f"SELECT * FROM {quoted(table)} LIMIT 0")
    except sqlite3.OperationalError as error:
        raise UniverseError(f"tool universe {universe.id} cannot use table {table!r}: {error}") from error
    return [column[0] for column in cursor.description]


def _rowid(table: str, columns: list[str]) -> str:
    """The table's rowid under a name that none of its columns takes; empty where all are taken."""
    taken = {column.lower() for column in columns}
    name = next((name for name in ("rowid", "_rowid_", "oid") if name not in taken), None)
    return "" if name is None else f"{table}.{name}"


def _rows_sql(rowids: list[str], cells: list[str], tail: str) -> str | None:
    """Row numbers instead of cells, as texts: by far the cheapest way out of SQLite for many small numbers.

    A branch never taken names every column, or SQLite might choose another plan.
    """
    if "" in rowids or len(cells) > _MOST_COLUMNS:
        return None
    numbers = [f"{rowid} - ?{place}" for place, rowid in enumerate(rowids, 3)]
    numbers[0] = f"CASE WHEN ?1 THEN {' || '.join(cells)} ELSE {numbers[0]} END"
    named = ", ".join(f"{number} AS n{place}" for place, number in enumerate(numbers))
    texts = ", ".join(f"group_concat(n{place})" for place in range(len(numbers)))
    return f"SELECT {texts} FROM (SELECT {named}{tail} LIMIT ?2) AS numbered"


def same_plan(connection: sqlite3.Connection, plan: Plan) -> bool:
    """Whether SQLite goes about both queries alike, so that they give their rows in one order."""
    if plan.rows_sql is None:
        return False
    try:
        cells = connection.execute(f"EXPLAIN QUERY PLAN {plan.sql}").fetchall()
        rows = connection.execute(f"EXPLAIN QUERY PLAN {plan.rows_sql}", (None,) * (2 + len(plan.tables))).fetchall()
    except sqlite3.OperationalError:
        return False
    # Around the steps of the join, the second query has the two of its own subquery.
    return [step[3] for step in cells] == [step[3] for step in rows[1:-1]]


def _joins(
    universe: Universe, by_alias: dict[str, tuple[UniverseTable, list[str]]], first: str
) -> tuple[str, tuple[str, ...]]:
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


def _plan(
    tables: tuple[str, ...],
    sql: str,
    rows_sql: str | None,
    names: list[str],
    sources: list[Source],
    notes: tuple[str, ...],
) -> Plan:
    """Equal names collapse: the place of the first, the values of the last (contract, section 1.1)."""
    picks: dict[str, int] = {}
    for position, name in enumerate(names):
        picks[name] = position
    if len(picks) < len(names):
        lost = sorted({name for name in names if names.count(name) > 1})
        notes = (*notes, f"several columns share the name {', '.join(lost)}: only the last one's values are kept (S11)")
    chosen = tuple(picks.values())
    return Plan(tables, sql, rows_sql, tuple(picks), chosen, tuple(sources[pick] for pick in chosen), notes)
