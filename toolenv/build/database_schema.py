"""What the builder knows of a database's schema: tables, columns with their scalar type, keys."""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Mapping
from functools import cached_property

from toolenv.build.source import NotBuildable
from toolenv.dashboards.definition import ParameterType
from toolenv.model import Value


class Column(Value, frozen=True):
    """``type`` is the scalar type that its declared affinity stands for; ``unique`` holds for one-column keys."""

    name: str
    type: ParameterType
    unique: bool
    nullable: bool


class Table(Value, frozen=True):
    name: str
    columns: tuple[Column, ...]

    def column(self, name: str) -> Column | None:
        return next((c for c in self.columns if c.name.lower() == name.lower()), None)


class ForeignKey(Value, frozen=True):
    table: str
    column: str
    parent: str
    parent_column: str


class DatabaseSchema:
    """Tables by name, case-insensitive as in SQLite."""

    def __init__(self, tables: tuple[Table, ...], foreign_keys: tuple[ForeignKey, ...]) -> None:
        self.tables = tables
        self.foreign_keys = foreign_keys

    @cached_property
    def _by_name(self) -> Mapping[str, Table]:
        return {table.name.lower(): table for table in self.tables}

    def table(self, name: str) -> Table:
        """Raises ``NotBuildable`` for a table that the database does not have."""
        found = self._by_name.get(name.lower())
        if found is None:
            raise NotBuildable(f"the database has no table {name!r}")
        return found


def read_schema(connection: sqlite3.Connection) -> DatabaseSchema:
    """The schema of an open database, tables in order of their creation."""
    names = [
        row[0]
        for row in connection.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
            "ORDER BY rowid"
        )
    ]
    foreign_keys: list[ForeignKey] = []
    primary: dict[str, str] = {}
    tables = []
    for name in names:
        try:
            unique = _unique_columns(connection, name)
            info = connection.execute(f"PRAGMA table_xinfo({quoted(name)})").fetchall()
        except sqlite3.Error:
            # A view over tables or columns that are gone: nothing can be asked of it.
            continue
        columns = tuple(
            Column(
                name=row[1],
                type=scalar_type(row[2]),
                unique=row[1] in unique,
                nullable=not row[3] and row[1] not in unique,
            )
            for row in info
            if row[6] != 1
        )
        tables.append(Table(name=name, columns=columns))
        for row in connection.execute(f"PRAGMA foreign_key_list({quoted(name)})"):
            foreign_keys.append(ForeignKey(table=name, column=row[3], parent=row[2], parent_column=row[4] or ""))
        keys = [row[1] for row in info if row[5]]
        if len(keys) == 1:
            primary[name.lower()] = keys[0]
    known = {table.name.lower() for table in tables}
    return DatabaseSchema(
        tuple(tables), tuple(key for found in foreign_keys if (key := _resolved(found, known, primary)) is not None)
    )


def _resolved(key: ForeignKey, known: Container[str], primary: Mapping[str, str]) -> ForeignKey | None:
    """A key with the column that it refers to (the parent's primary key where none is named); None without a parent."""
    column = key.parent_column or primary.get(key.parent.lower())
    if key.parent.lower() not in known or column is None:
        return None
    return ForeignKey(table=key.table, column=key.column, parent=key.parent, parent_column=column)


def quoted(identifier: str) -> str:
    """An SQL identifier in double quotes, whatever it is made of."""
    return '"' + identifier.replace('"', '""') + '"'


def scalar_type(declared: str) -> ParameterType:
    """The scalar type of a declared column type, by SQLite's affinity rules."""
    name = declared.upper()
    if "INT" in name:
        return "integer"
    if any(word in name for word in ("CHAR", "CLOB", "TEXT")):
        return "string"
    if any(word in name for word in ("REAL", "FLOA", "DOUB", "NUM", "DEC")):
        return "number"
    return "string"


def _unique_columns(connection: sqlite3.Connection, table: str) -> set[str]:
    keys = [row[1] for row in connection.execute(f"PRAGMA table_info({quoted(table)})") if row[5]]
    unique = set(keys) if len(keys) == 1 else set()
    for row in connection.execute(f"PRAGMA index_list({quoted(table)})"):
        if row[2] and not row[4]:
            members = [r[2] for r in connection.execute(f"PRAGMA index_info({quoted(row[1])})")]
            if len(members) == 1 and members[0] is not None:
                unique.add(members[0])
    return unique
