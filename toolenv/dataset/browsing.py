"""A read-only look into a domain's database: its tables, their columns and keys, and their rows page by page."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from toolenv.errors import DataError
from toolenv.model import Json, Value

PAGE = 200
"""Rows read at once."""


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
