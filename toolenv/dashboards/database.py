"""A SQLite database that can only be read: no writes, no other files, a deadline for every statement and a row cap."""

from __future__ import annotations

import math
import sqlite3
import threading
import time
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from toolenv.errors import EnvironmentFailure
from toolenv.model import Json

DEADLINE_S = 10.0
"""Seconds that one statement may run."""

ROW_CAP = 100_000
"""Rows that one statement may return."""

LONGEST_CELL = 64 * 1024 * 1024
"""Bytes that one value may have, so that no statement can fill the memory with a single text."""

_OPERATIONS_BETWEEN_CHECKS = 20_000
_UNREADABLE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOTADB,
}
_INT64 = range(-(2**63), 2**63)
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_REFUSED_FUNCTIONS = {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"}


class StatementError(Exception):
    """A statement could not be answered; the message is a sentence for the caller of the endpoint."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Answer(NamedTuple):
    """Column names and rows of one statement; ``latin1``: a TEXT cell was not UTF-8 (see ``decode_text``)."""

    names: list[str]
    rows: list[tuple[Json, ...]]
    latin1: bool


class ReadOnlyDatabase:
    """One shared read-only connection, opened at first use and closed when its last user has released it.

    Safe to use from several threads: statements run one at a time. A connection that is closed under a running
    statement takes the whole process with it, so a statement that still runs when the last user goes is told to end,
    and closes the connection itself: ``release`` never waits.
    """

    def __init__(self, path: Path, *, deadline_s: float = DEADLINE_S, row_cap: int = ROW_CAP) -> None:
        self.path = path
        self._deadline_s = deadline_s
        self._row_cap = row_cap
        self._one_at_a_time = threading.Lock()
        self._state = threading.Lock()
        """Held for a moment only: around the users, what runs, and the opening and closing of the connection."""
        self._connection: sqlite3.Connection | None = None
        self._users = 0
        self._running = False
        self._ends_at = math.inf
        self._latin1 = False

    def acquire(self) -> None:
        with self._state:
            self._users += 1

    def release(self) -> None:
        with self._state:
            self._users -= 1
            if self._users <= 0:
                self._ends_at = -math.inf
                self._close_unused()

    def _close_unused(self) -> None:
        """Close the connection where nobody needs it and nothing runs; the state is held."""
        if self._users <= 0 and not self._running and self._connection is not None:
            self._connection.close()
            self._connection = None

    def query(self, sql: str, binds: Mapping[str, Json]) -> Answer:
        """The answer of one SELECT; cells as JSON values (see ``cell``).

        Raises ``StatementError`` when a bind is out of range, the statement fails, takes too long or returns too much;
        ``EnvironmentFailure`` when the database cannot be opened or read.
        """
        for name, value in binds.items():
            if isinstance(value, int) and value not in _INT64:
                raise StatementError(f"parameter {name!r} is outside the range of 64-bit integers: {value}", 422)
            if isinstance(value, float) and not math.isfinite(value):
                raise StatementError(f"parameter {name!r} must be a finite number, not {value}", 422)
            if isinstance(value, str) and not value.isprintable() and _has_surrogate(value):
                raise StatementError(f"parameter {name!r} holds a character that is not valid Unicode text", 422)
        with self._one_at_a_time:
            connection = self._begun()
            try:
                cursor = connection.execute(sql, binds)
                rows = cursor.fetchmany(self._row_cap + 1)
                names = [column[0] for column in cursor.description or ()]
                cursor.close()
                latin1 = self._latin1
            except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
                if is_unreadable(error):
                    raise EnvironmentFailure(f"database {self.path} cannot be read ({error}).") from error
                if isinstance(error, sqlite3.OperationalError) and time.monotonic() >= self._ends_at:
                    raise StatementError(f"the statement took longer than {self._deadline_s:g} s", 504) from error
                raise StatementError(f"the database refused the statement: {error}", 500) from error
            finally:
                with self._state:
                    self._running = False
                    self._close_unused()
        if len(rows) > self._row_cap:
            raise StatementError(f"the answer has more than {self._row_cap} rows; narrow the parameters", 413)
        return Answer(names, [tuple(cell(value) for value in row) for row in rows], latin1)

    def _begun(self) -> sqlite3.Connection:
        """The connection, for one statement whose time begins now."""
        with self._state:
            if self._connection is None:
                self._connection = open_read_only(self.path)
                self._connection.text_factory = self._text
                self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_CELL)
                self._connection.set_authorizer(_authorize)
                self._connection.set_progress_handler(self._overdue, _OPERATIONS_BETWEEN_CHECKS)
            self._ends_at = time.monotonic() + self._deadline_s
            self._latin1 = False
            self._running = True
            return self._connection

    def _text(self, raw: bytes) -> str:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            self._latin1 = True
            return decode_text(raw)

    def _overdue(self) -> int:
        return int(time.monotonic() >= self._ends_at)


def open_read_only(path: Path) -> sqlite3.Connection:
    """Open a database file for reading alone; immutable only where no ``-wal`` or ``-journal`` lies beside it.

    No statement can open another file through the connection.

    Raises ``EnvironmentFailure`` with the reason when the file is not there or is no database.
    """
    if not path.is_file():
        raise EnvironmentFailure(f"database {path} is not there; the dataset's databases folder must hold it.")
    beside = [s for s in ("-wal", "-journal") if path.with_name(path.name + s).exists()]
    uri = f"{path.resolve().as_uri()}?mode=ro" + ("" if beside else "&immutable=1")
    try:
        connection = sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None)
    except sqlite3.Error as error:
        raise EnvironmentFailure(_cannot_open(path, beside, error)) from error
    connection.text_factory = decode_text
    connection.set_authorizer(_no_other_file)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except (sqlite3.Error, UnicodeDecodeError) as error:  # a damaged schema makes sqlite3 fail over its own message
        connection.close()
        raise EnvironmentFailure(_cannot_open(path, beside, error)) from error
    return connection


def is_unreadable(error: Exception) -> bool:
    """Whether a statement failed by the state of the file or the disk, whatever it asked for."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _UNREADABLE


def decode_text(raw: bytes) -> str:
    """Text of a TEXT cell: UTF-8, else Latin-1 (so no row is lost to one badly encoded cell)."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def cell(value: Json) -> Json:
    """A SQLite value as strict JSON: bytes as ``{"$base64": ...}``, infinities as ``Infinity`` or ``-Infinity``."""
    if isinstance(value, bytes):
        return {"$base64": b64encode(value).decode("ascii")}
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _authorize(action: int, first: str | None, second: str | None, _database: str | None, _trigger: str | None) -> int:
    if action in _ALLOWED:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in _REFUSED_FUNCTIONS:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _no_other_file(action: int, _first: str | None, _second: str | None, _base: str | None, _by: str | None) -> int:
    """``mode=ro`` guards the opened file alone: ATTACH, and VACUUM INTO by it, would make or read another."""
    return sqlite3.SQLITE_DENY if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH) else sqlite3.SQLITE_OK


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _cannot_open(path: Path, beside: list[str], error: Exception) -> str:
    hint = (
        f"a {' and '.join(beside)} file lies beside it, which SQLite can only use in a writable folder; "
        "check-point or copy the database"
        if beside
        else "the file is not a readable SQLite database"
    )
    return f"database {path} cannot be opened ({error}): {hint}."
