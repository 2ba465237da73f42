"""A read-only connection cannot be made to open or write another file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from toolenv.dashboards.database import open_read_only


@pytest.mark.parametrize(
    "statement",
    [
        "ATTACH DATABASE 'other.sqlite' AS other",
        "ATTACH DATABASE 'file:other.sqlite?mode=rwc' AS other",
        "VACUUM INTO 'other.sqlite'",
        "CREATE TABLE more (a)",
    ],
)
def test_no_statement_makes_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str) -> None:
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("own.sqlite") as made:
        made.execute("CREATE TABLE a (b)")
    made.close()
    before = Path("own.sqlite").read_bytes()
    connection = open_read_only(Path("own.sqlite"))
    with pytest.raises(sqlite3.Error):
        connection.execute(statement)
    assert connection.execute("SELECT count(*) FROM a").fetchone() == (0,)
    connection.close()
    assert [path.name for path in tmp_path.iterdir()] == ["own.sqlite"]
    assert Path("own.sqlite").read_bytes() == before
