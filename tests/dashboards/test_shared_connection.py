"""The one connection of a database: shared by threads, and closed by whoever is the last to need it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from toolenv.dashboards import database as module
from toolenv.dashboards.database import ReadOnlyDatabase, StatementError

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT max(i) FROM n"


def test_the_last_user_does_not_wait_for_a_statement_that_runs(
    database_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = threading.Event()
    real = ReadOnlyDatabase._overdue

    def overdue(self: ReadOnlyDatabase) -> int:
        begun.set()
        return real(self)

    monkeypatch.setattr(ReadOnlyDatabase, "_overdue", overdue)
    database = ReadOnlyDatabase(database_file, deadline_s=300)
    database.acquire()
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(database.query, ENDLESS, {})
        assert begun.wait(60)
        database.release()
        with pytest.raises(StatementError):
            running.result(60)
    assert database._connection is None


def test_a_user_who_comes_back_is_answered(database_file: Path) -> None:
    database = ReadOnlyDatabase(database_file)
    for _ in range(3):
        database.acquire()
        assert database.query("SELECT 1", {}).rows == [(1,)]
        assert database._connection is not None
        database.release()
        assert database._connection is None


def test_users_that_come_and_go_while_others_ask(database_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_OPERATIONS_BETWEEN_CHECKS", 50)
    database = ReadOnlyDatabase(database_file)

    def ask(_: int) -> int:
        found = 0
        for _ in range(15):
            database.acquire()
            try:
                answer = database.query(COUNT, {})
                assert answer.rows == [(20000,)]
                found += 1
            finally:
                database.release()
        return found

    def leave(_: int) -> int:
        for _ in range(200):
            database.acquire()
            database.release()
        return 0

    with ThreadPoolExecutor(4) as threads:
        asking = threads.map(ask, range(2))
        leaving = threads.map(leave, range(2))
        assert list(leaving) == [0, 0]
        assert list(asking) == [15, 15]
    assert database._connection is None
