"""A SQLite file from a script and rows, the same bytes for the same input."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from toolenv.build.database_schema import quoted, read_schema
from toolenv.build.source import NotBuildable
from toolenv.errors import DataError
from toolenv.files import refuse_endless

_HEADER, _WRITE_VERSION = 100, 18

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


def copy_database(source: Path, target: Path) -> None:
    """Copy a database file to where a dataset holds it, in one file. The source is only ever read as bytes.

    What lies beside the source (``-wal``, ``-journal``) is copied too and merged into the copy. Raises ``DataError``
    when
    the source is not there or is no SQLite database.
    """
    try:
        refuse_endless(source)
        with source.open("rb") as stream:
            header = stream.read(_HEADER)
        if not header.startswith(b"SQLite format 3\0") and header:
            raise DataError(f"{source} is not a SQLite database")
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = [s for s in ("-wal", "-journal") if source.with_name(source.name + s).is_file()]
        for suffix in ("", *beside):
            shutil.copyfile(source.with_name(source.name + suffix), target.with_name(target.name + suffix))
    except OSError as error:
        raise DataError(f"database {source} cannot be read: {error.strerror}") from error
    target.chmod(0o644)
    if beside or header[_WRITE_VERSION : _WRITE_VERSION + 2] == b"\x02\x02":
        try:
            connection = sqlite3.connect(target, isolation_level=None)
            try:
                connection.execute("PRAGMA journal_mode = DELETE").fetchone()
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise DataError(f"database {source} cannot be used: {error}") from error
    for suffix in ("-wal", "-shm", "-journal"):
        target.with_name(target.name + suffix).unlink(missing_ok=True)


def rows_from_text(text: str) -> list[tuple[str | None, ...]]:
    r"""Rows of tab-separated text without its header line; ``\N`` is NULL. Column affinity makes the numbers."""
    lines = [line for line in text.split("\n")[1:] if line]
    return [tuple(None if field == NULL else field for field in line.split("\t")) for line in lines]
