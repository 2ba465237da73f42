"""A read-only look into a domain's database: its tables, their columns and keys, and their rows page by page."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from toolenv.errors import DataError
from toolenv.model import Json, Value
from vakra_tui.state.json_tree import scalar_line
from vakra_tui.state.lines import BLANK, Line, Span, line
from vakra_tui.text import count_words, one_line, sanitize

PAGE = 200
"""Rows read at once."""

WIDEST_CELL = 40


class Column(Value, frozen=True):
    """A column of a table; ``refers_to`` names what a foreign key points at."""

    name: str
    type: str
    primary: bool = False
    not_null: bool = False
    refers_to: str = ""


class Table(Value, frozen=True):
    """A table with its columns; ``rows`` is None where they could not be counted."""

    name: str
    columns: tuple[Column, ...]
    rows: int | None


def _quoted(name: str) -> str:
    """A name as an SQL identifier; names come from data and are never text of a statement."""
    return '"' + name.replace('"', '""') + '"'


class Database:
    """An SQLite file opened read-only. Not shared between threads; ``close`` it after use."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise DataError(f"there is no database {path}")
        self.path = path
        try:
            self._connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
            self._connection.text_factory = lambda data: data.decode("utf-8", "replace")
            self._connection.execute("PRAGMA query_only = 1")
        except sqlite3.Error as error:
            raise DataError(f"the database {path} cannot be opened: {error}") from error

    def close(self) -> None:
        self._connection.close()

    def tables(self) -> tuple[Table, ...]:
        """All tables and views with their columns and numbers of rows."""
        try:
            names = [
                row[0]
                for row in self._connection.execute(
                    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
                    " AND name NOT LIKE 'sqlite_%' ORDER BY name"
                )
            ]
            return tuple(self._table(name) for name in names)
        except sqlite3.Error as error:
            raise DataError(f"the database {self.path} cannot be read: {error}") from error

    def _table(self, name: str) -> Table:
        keys = {
            row[3]: f"{row[2]}.{row[4]}" if row[4] else str(row[2])
            for row in self._connection.execute("SELECT * FROM pragma_foreign_key_list(?)", (name,))
        }
        try:
            described = self._connection.execute("SELECT * FROM pragma_table_info(?)", (name,)).fetchall()
        except sqlite3.Error:  # A view of a table that is not there; the others can be read.
            described = []
        columns = tuple(
            Column(
                name=row[1],
                type=row[2] or "",
                primary=bool(row[5]),
                not_null=bool(row[3]),
                refers_to=keys.get(row[1], ""),
            )
            for row in described
        )
        try:
            rows = self._connection.execute(f"SELECT count(*) FROM {_quoted(name)}").fetchone()[0]
        except sqlite3.Error:
            rows = None
        return Table(name=name, columns=columns, rows=rows)

    def page(self, table: str, start: int, count: int = PAGE) -> list[tuple[Json, ...]]:
        """``count`` rows of a table from ``start``; bytes as ``<n bytes>``."""
        try:
            found = self._connection.execute(
                f"SELECT * FROM {_quoted(table)} LIMIT ? OFFSET ?", (count, start)
            ).fetchall()
        except sqlite3.Error as error:
            raise DataError(f"the table {table} cannot be read: {error}") from error
        return [tuple(f"<{len(cell)} bytes>" if isinstance(cell, bytes) else cell for cell in row) for row in found]


def schema_lines(table: Table) -> list[Line]:
    """Columns with type, keys and references."""
    head = count_words(table.rows, "row") if table.rows is not None else "rows not countable"
    lines = [line((table.name, "title"), (f"   {head}, {count_words(len(table.columns), 'column')}", "dim")), BLANK]
    for column in table.columns:
        parts = [
            Span("\u26b7 " if column.primary else "  ", "warn"),
            Span(f"{one_line(column.name, 60):<20} ", "key"),
            Span(f"{column.type:<8}", "dim"),
        ]
        if column.not_null:
            parts.append(Span(" not null", "dim"))
        if column.refers_to:
            parts += [Span(" \u2192 ", "dim"), Span(column.refers_to, "accent")]
        lines.append(tuple(parts))
    return lines


class RowsSource:
    """The rows of a table as lines: names first, then rows; a page that is not there yet is asked for.

    ``fetch(start)`` is called with the first row of a page that is looked at; ``put`` hands its rows in, at once where
    ``at_once`` says so (a table in memory), else later.
    """

    sticky = 1
    """Lines at the top that stay in view."""

    def __init__(self, names: Sequence[str], rows: int, fetch: Callable[[int], None], *, at_once: bool = False) -> None:
        self._names = tuple(names)
        self._rows = rows
        self._fetch = fetch
        self._pages: dict[int, list[tuple[Json, ...]]] = {}
        self._asked: set[int] = set()
        self._widths = [min(max(len(name), 4), WIDEST_CELL) for name in self._names]
        self._measured = False
        self._at_once = at_once

    def put(self, start: int, rows: list[tuple[Json, ...]]) -> None:
        """The rows of the page that begins at ``start``."""
        self._pages[start] = rows
        if not self._measured:
            self._measured = True
            for row in rows[:50]:
                for index, cell in enumerate(row[: len(self._widths)]):
                    length = len(sanitize(_cell_text(cell)))
                    self._widths[index] = min(max(self._widths[index], length), WIDEST_CELL)

    def layout(self, width: int) -> int:
        if self._at_once and self._rows and 0 not in self._asked:
            self._asked.add(0)
            self._fetch(0)
        return self._rows + 1

    @property
    def cells(self) -> int:
        return sum(self._widths) + 2 * len(self._widths) + 8

    def line(self, index: int) -> Line:
        from vakra_tui.state.cells import cell

        if index == 0:
            parts = [Span(f"{'':>6}  ", "dim")]
            parts += [Span(cell(name, w) + "  ", "label") for name, w in zip(self._names, self._widths, strict=True)]
            return tuple(parts)
        number = index - 1
        start = number - number % PAGE
        page = self._pages.get(start)
        parts = [Span(f"{number + 1:>6}  ", "dim")]
        if page is None and start not in self._asked:
            self._asked.add(start)
            self._fetch(start)
            page = self._pages.get(start)
        if page is None:
            return (*parts, Span("\u2026", "dim"))
        if number - start >= len(page):
            return tuple(parts)
        for value, width in zip(page[number - start], self._widths, strict=False):
            parts.append(Span(cell(_cell_text(value), width) + "  ", scalar_line(value, 1).role if value != "" else ""))
        return tuple(parts)


def _cell_text(value: Json) -> str:
    if value is None:
        return "NULL"
    return one_line(value, WIDEST_CELL + 1) if isinstance(value, str) else str(value)
