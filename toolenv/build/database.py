"""A SQLite file from a script and rows, the same bytes for the same input."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from toolenv.build.database_schema import quoted, read_schema
from toolenv.build.source import NotBuildable

NULL = r"\N"
"""How a missing value is written in a table of tab-separated text."""


def create_database(path: Path, script: str, tables: Mapping[str, Iterable[tuple[Any, ...]]]) -> None:
    """Run the script's CREATE statements, insert each table's rows in the given order, and check the foreign keys.

    Raises ``NotBuildable`` when a row does not fit its table or refers to one that is not there.
    """
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.executescript(script)
        schema = read_schema(connection)
        connection.execute("BEGIN")
        for name, rows in tables.items():
            marks = ", ".join("?" for _ in schema.table(name).columns)
            connection.executemany(f"INSERT INTO {quoted(name)} VALUES ({marks})", rows)
        connection.execute("COMMIT")
        broken = connection.execute("PRAGMA foreign_key_check").fetchone()
        if broken is not None:
            raise NotBuildable(f"row {broken[1]} of table {broken[0]!r} refers to no row of {broken[2]!r}")
        connection.execute("VACUUM")
    except sqlite3.Error as error:
        raise NotBuildable(f"the database {path.name} cannot be made: {error}") from error
    finally:
        connection.close()


def rows_from_text(text: str) -> list[tuple[str | None, ...]]:
    r"""Rows of tab-separated text without its header line; ``\N`` is NULL. Column affinity makes the numbers."""
    lines = [line for line in text.split("\n")[1:] if line]
    return [tuple(None if field == NULL else field for field in line.split("\t")) for line in lines]
