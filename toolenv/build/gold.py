"""The answers of gold SQL: read-only, each statement under a deadline, and determined by the data alone."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from toolenv.build.database_schema import quoted
from toolenv.build.source import NotBuildable
from toolenv.build.stopping import end_if_asked
from toolenv.build.ties import refuse_tie
from toolenv.build.truth import Rows, gold_rows
from toolenv.dashboards.database import open_read_only
from toolenv.model import Universe

DEADLINE_S = 10.0
MOST_ROWS = 100_000
MOST_UNIVERSE_ROWS = 300_000
"""Rows that a tool universe may join to: more than an agent's tools should be asked to hold."""

_OPERATIONS_BETWEEN_CHECKS = 50_000


class Gold:
    """One read-only connection; answers are kept, because a hop is asked more than once."""

    def __init__(self, path: Path, *, deadline_s: float = DEADLINE_S) -> None:
        self.connection = open_read_only(path)
        self._deadline_s = deadline_s
        self._ends_at = 0.0
        self._kept: dict[str, Rows | str] = {}
        self.connection.set_progress_handler(self._overdue, _OPERATIONS_BETWEEN_CHECKS)

    def close(self) -> None:
        self.connection.close()

    def start_clock(self) -> None:
        """Begin the time that the next statements may take."""
        self._ends_at = time.monotonic() + self._deadline_s

    def rows(self, sql: str) -> Rows:
        """The rows of a SELECT. Raises ``NotBuildable`` when it fails, takes too long, or answers nothing."""
        end_if_asked()
        self.start_clock()
        try:
            return gold_rows(self.connection, sql, MOST_ROWS)
        finally:
            self._ends_at = 0.0

    def determined(self, sql: str) -> Rows:
        """As ``rows``; raises ``NotBuildable`` too where a LIMIT cuts through rows of equal rank."""
        kept = self._kept.get(sql)
        if kept is None:
            try:
                kept = self.rows(sql)
                self.start_clock()
                refuse_tie(self.connection, sql)
            except (NotBuildable, sqlite3.Error) as error:
                kept = str(error)
            finally:
                self._ends_at = 0.0
            self._kept[sql] = kept
        if isinstance(kept, str):
            raise NotBuildable(kept)
        return kept

    def answers_once(self, sql: str) -> bool:
        """Whether a SELECT has one row that the data determine."""
        try:
            return len(self.determined(sql)) == 1
        except NotBuildable:
            return False

    def _overdue(self) -> int:
        return int(self._ends_at > 0 and time.monotonic() >= self._ends_at)


def refuse_large_universe(gold: Gold, universe: Universe) -> None:
    """Raise ``NotBuildable`` when the tables of a tool universe join to more rows than its tools should hold."""
    tables = [f"{quoted(t.original_name)} AS {quoted(t.alias or t.original_name)}" for t in universe.tables]
    conditions = [
        " = ".join(".".join(quoted(part) for part in side.split(".", 1)) for side in (left, right))
        for left, right, _ in universe.conditions
    ]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    inner = f"SELECT 1 FROM {', '.join(tables)}{where} LIMIT {MOST_UNIVERSE_ROWS + 1}"
    if gold.rows(f"SELECT COUNT(*) FROM ({inner})")[0][0] > MOST_UNIVERSE_ROWS:
        raise NotBuildable(f"its tables join to more than {MOST_UNIVERSE_ROWS} rows")
