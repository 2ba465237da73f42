"""Reading columns out of a SQLite file: under a deadline, up to a size, and with every row whatever its text is."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolenv.dashboards.database import decode_text, is_unreadable, open_read_only
from toolenv.errors import EnvironmentFailure
from toolenv.native.queries import Plan, UniverseError

DEADLINE_S = 60.0
"""Seconds that reading one universe may take."""

CELL_CAP = 30_000_000
"""Cells (rows times columns) that one query may give."""

_OPERATIONS_BETWEEN_CHECKS = 50_000
_ROWS_AT_ONCE = 200
"""Few enough for row tuples to die young: the garbage collector would otherwise walk all of them again and again."""


class Reader:
    """One read-only connection for one load; ``what`` names the load in messages."""

    def __init__(self, connection: sqlite3.Connection, database: Path, what: str) -> None:
        self.connection = connection
        self._database = database
        self._what = what
        self._ends_at = time.monotonic() + DEADLINE_S
        connection.set_progress_handler(self._overdue, _OPERATIONS_BETWEEN_CHECKS)

    def columns(self, sql: str, bound: Sequence[int | None] = ()) -> tuple[list[list[Any]], tuple[int, ...]]:
        """The query's columns, each as a list, and the places of those with text that is not UTF-8.

        Such text is read as Latin-1, cell by cell. Raises ``UniverseError`` where the statement is refused,
        ``EnvironmentFailure`` where it takes too long, gives too much, or the file is damaged.
        """
        self.connection.text_factory = str
        try:
            return self._fetched(sql, bound), ()
        except _NotUtf8:
            self.connection.text_factory = _marked_text
            columns = self._fetched(sql, bound)
            return columns, _unmarked(columns)

    def _fetched(self, sql: str, bound: Sequence[int | None]) -> list[list[Any]]:
        try:
            cursor = self.connection.execute(sql, bound)
            columns: list[list[Any]] = [[] for _ in cursor.description]
            cap = CELL_CAP // max(1, len(columns))
            while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                for column, part in zip(columns, zip(*rows, strict=True), strict=True):
                    column.extend(part)
                if len(columns[0]) > cap:
                    raise self._too_many(cap, len(columns))
        except sqlite3.OperationalError as error:
            if "Could not decode to UTF-8" in str(error):
                raise _NotUtf8 from error
            if self._overdue():
                raise EnvironmentFailure(
                    f"loading {self._what} from {self._database} took longer than {DEADLINE_S:g} s and was stopped; "
                    "its joins need an index, or the universe smaller tables."
                ) from error
            if is_unreadable(error):
                raise
            raise UniverseError(f"{self._what} cannot be loaded: {error}") from error
        return columns

    def row_numbers(self, plan: Plan, offsets: Sequence[int]) -> tuple[str | None, ...]:
        """The texts of a plan's ``rows_sql``, None where there is no row. Raises as ``columns`` does."""
        assert plan.rows_sql is not None
        width = max(1, len(plan.names))
        cap = CELL_CAP // width
        texts = tuple(column[0] for column in self.columns(plan.rows_sql, (None, cap + 1, *offsets))[0])
        if texts[0] is not None and texts[0].count(",") >= cap:
            raise self._too_many(cap, width)
        return texts

    def _too_many(self, cap: int, width: int) -> EnvironmentFailure:
        return EnvironmentFailure(
            f"{self._what} of {self._database} has more than {cap} rows of {width} columns; "
            "that is more than this environment loads."
        )

    def _overdue(self) -> int:
        return int(time.monotonic() >= self._ends_at)


@contextmanager
def reading(database: Path, what: str) -> Iterator[Reader]:
    """A reader on a connection of its own, closed afterwards. A damaged file is an ``EnvironmentFailure``."""
    connection = open_read_only(database)
    try:
        yield Reader(connection, database, what)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise EnvironmentFailure(f"database {database} cannot be read ({error}); replace the file.") from error
    finally:
        connection.close()


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


def _unmarked(columns: list[list[Any]]) -> tuple[int, ...]:
    """Make marked cells plain strings, in place; the places of the columns that had any."""
    found = []
    for place, column in enumerate(columns):
        marked = [row for row, cell in enumerate(column) if type(cell) is _Latin1]
        for row in marked:
            column[row] = str.__str__(column[row])
        if marked:
            found.append(place)
    return tuple(found)
