"""Joins by index vectors give the rows of the released query in the order of the released query."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.native.native_world import World, universe
from toolenv.native.queries import plan_of

TABLES = ("a", "b", "c")
COLUMNS = ("k", "v", "w")
INDEXES = ("", "k", "v", "k, v", "v, k", "k, v, w", "w, v, k", "w")
CELLS = st.none() | st.integers(0, 3) | st.sampled_from(["0", "1", " 2", "x", 1.0, 2.5])


@st.composite
def databases(draw: st.DrawFn) -> tuple[list[str], list[tuple[str, str]]]:
    """SQL statements, and join conditions over some of the tables."""
    statements = []
    for table in TABLES:
        types = [draw(st.sampled_from(["TEXT", "INTEGER", "REAL", ""])) for _ in COLUMNS]
        key = draw(st.sampled_from(["", "id INTEGER PRIMARY KEY, ", "id TEXT PRIMARY KEY, "]))
        columns = ", ".join(f"{name} {kind}" for name, kind in zip(COLUMNS, types, strict=True))
        statements.append(f"CREATE TABLE {table} ({key}{columns})")
        rows = draw(st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=8))
        for number, row in enumerate(rows):
            cells = ", ".join("NULL" if cell is None else repr(cell) for cell in row)
            statements.append(
                f"INSERT INTO {table} VALUES ({f'{number * draw(st.integers(1, 2))}, ' if key else ''}{cells})"
            )
        index = draw(st.sampled_from(INDEXES))
        if index:
            statements.append(f"CREATE INDEX {table}_index ON {table} ({index})")
        if draw(st.booleans()):
            statements.append(f"DELETE FROM {table} WHERE rowid = 2")
    if draw(st.booleans()):
        statements.append("ANALYZE")
    joins = []
    for left, right in (("a", "b"), ("b", "c"))[: draw(st.integers(0, 2))]:
        sides = [f"{table}.{draw(st.sampled_from(COLUMNS))}" for table in (left, right)]
        joins.append((sides[0], sides[1]) if draw(st.booleans()) else (sides[1], sides[0]))
    return statements, joins


async def compare(path: Path, joins: list[tuple[str, str]]) -> None:
    tables = {name: name for name in TABLES[: len(joins) + 1]}
    opened = universe("u", tables, joins)
    session = await World(path, opened).session()
    result = await session.call("get_data", {})
    with closing(sqlite3.connect(path)) as connection:
        wanted: list[tuple[Any, ...]] = connection.execute(plan_of(connection, opened).sql).fetchall()
    view = await session.table(str(result.handle))
    assert view is not None
    assert list(view.rows(0, 10_000)) == wanted


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(made=databases())
def test_rows_and_their_order_are_those_of_the_query(made: tuple[list[str], list[tuple[str, str]]]) -> None:
    statements, joins = made
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "j.sqlite"
        with closing(sqlite3.connect(path)) as connection:
            for statement in statements:
                try:
                    connection.execute(statement)
                except sqlite3.IntegrityError:
                    continue
            connection.commit()
        asyncio.run(compare(path, joins))
