"""Databases that nobody would like to meet: odd names, no keys, views, generated columns, empty tables, journals."""

# ruff: noqa: E501
from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from eval.checks import check_dataset
from eval.environments import EnvironmentChain
from toolenv.build.build_plan import BuildFiles
from toolenv.build.builder import Built, build
from toolenv.build.database import copy_database
from toolenv.build.generate import BuildSettings
from toolenv.dataset import Dataset
from toolenv.errors import DataError
from toolenv.native import NativeEnvironment

ODD = """
CREATE TABLE "order" ("select" TEXT, "group by" INTEGER, "it's" TEXT, "a""b" TEXT, "{0}" TEXT, "Größe (cm)" REAL,
  "from" TEXT);
CREATE TABLE "日本 table" ("名前" TEXT, "値" INTEGER);
CREATE TABLE "no keys" (a, b, c);
CREATE TABLE empty (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE "1st" ("2nd" TEXT, "3rd" INTEGER, double INTEGER GENERATED ALWAYS AS ("3rd" * 2) VIRTUAL);
CREATE TABLE blobs (name TEXT, data BLOB);
CREATE VIEW seen AS SELECT "select" AS name, "group by" AS number FROM "order";
CREATE VIEW broken AS SELECT x FROM nowhere;
CREATE TABLE self_made (id INTEGER PRIMARY KEY, name TEXT, boss INTEGER REFERENCES self_made(id),
  other INTEGER REFERENCES gone(id));
"""
ODD_QUESTIONS = [
    ("What is the [b]group[/b] of x1?", "SELECT \"group by\" FROM \"order\" WHERE \"select\" = 'x1'"),
    ("How many orders come from O'Neil; DROP TABLE order?", "SELECT COUNT(*) FROM \"order\" WHERE \"it's\" = 'O''Neil'"),
    ("What is the quoted value of x2?", "SELECT \"a\"\"b\" FROM \"order\" WHERE \"select\" = 'x2'"),
    ("What is the size of x3?", "SELECT \"Größe (cm)\" FROM \"order\" WHERE \"select\" = 'x3'"),
    ("What is the brace of x4?", "SELECT \"{0}\" FROM \"order\" WHERE \"select\" = 'x4'"),
    ("値 of 林?", "SELECT \"値\" FROM \"日本 table\" WHERE \"名前\" = '林'"),
    ("How many rows have the letter b?", "SELECT COUNT(*) FROM \"no keys\" WHERE b = 'b'"),
    ("What is in the empty table?", "SELECT name FROM empty"),
    ("How many are in the empty table?", "SELECT COUNT(*) FROM empty"),
    ("What is double of two?", "SELECT double FROM \"1st\" WHERE \"2nd\" = 'two'"),
    ("What is the data of blob?", "SELECT data FROM blobs WHERE name = 'blob'"),
    ("What number has x5 in the view?", "SELECT number FROM seen WHERE name = 'x5'"),
    ("What is broken?", "SELECT * FROM broken"),
    ("Who is the boss of Bo?", "SELECT b.name FROM self_made a JOIN self_made b ON a.boss = b.id WHERE a.name = 'Bo'"),
    ("What are all?", "SELECT * FROM \"order\" WHERE \"select\" = 'x1'"),
    ("How big is 2 to the 63?", "SELECT 9223372036854775808"),
    ("Which is infinite?", "SELECT 1e999"),
    ("What never ends?", "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT COUNT(*) FROM t"),
    ("Two?", "SELECT 1; SELECT 2"),
    ("Read a file?", "SELECT readfile('/etc/passwd')"),
    ("Attach?", "ATTACH DATABASE 'x.sqlite' AS x"),
    ("\u202eevil\x1b[31m?", "SELECT \"from\" FROM \"order\" WHERE \"select\" = 'x6'"),
]  # fmt: skip


def make_odd(path: Path) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(ODD)
    connection.executemany(
        'INSERT INTO "order" VALUES (?, ?, ?, ?, ?, ?, ?)',
        [
            (f"x{n}", n, "O'Neil" if n % 2 else "B;C--", f'q"{n}', "{0}" if n % 3 else None, n / 7, f"row {n}")
            for n in range(1, 41)
        ],
    )
    connection.executemany('INSERT INTO "日本 table" VALUES (?, ?)', [("林", 1), ("森", 2), ("木", 3)])
    connection.executemany(
        'INSERT INTO "no keys" VALUES (?, ?, ?)', [(n, "b" if n % 2 else b"b", None) for n in range(9)]
    )
    connection.executemany('INSERT INTO "1st" VALUES (?, ?)', [("one", 1), ("two", 2)])
    connection.execute("INSERT INTO blobs VALUES ('blob', x'00ff')")
    connection.executemany(
        "INSERT INTO self_made VALUES (?, ?, ?, NULL)", [(1, "Al", None), (2, "Bo", 1), (3, "Cy", 2)]
    )
    connection.commit()
    connection.close()
    return path


async def built_from(
    folder: Path, database: Path, questions: list[tuple[str, str]], **settings: int
) -> tuple[Path, Built]:
    path = folder / "questions.json"
    path.write_text(json.dumps([{"question": q, "SQL": sql} for q, sql in questions]), encoding="utf-8")
    files = BuildFiles(database=database, questions=path, domain="odd")
    return folder / "out", await build(files, folder / "out", BuildSettings(chains=30, train_share=0.0, **settings))


async def errors_of(out: Path) -> list[str]:
    dataset = Dataset.open(out)
    environments = EnvironmentChain([NativeEnvironment(dataset)])
    report = await check_dataset(dataset, environments)
    await environments.close()
    return [f"{f.kind}: {f.uuid} {f.detail}" for f in report.findings if f.is_error]


async def test_odd_names_and_statements_build_or_are_reported(tmp_path: Path) -> None:
    database = make_odd(tmp_path / "odd.sqlite")
    before = database.read_bytes()
    out, built = await built_from(tmp_path, database, ODD_QUESTIONS)
    assert database.read_bytes() == before
    refused = {r.subject: r.reason for r in built.rejections if r.stage == "endpoint"}
    accepted = {q for q, _ in ODD_QUESTIONS} - {
        s for q, _ in ODD_QUESTIONS for s in refused if " ".join(q.split()) == s
    }
    assert {
        "What is the [b]group[/b] of x1?",
        "How many orders come from O'Neil; DROP TABLE order?",
        "What is the quoted value of x2?",
        "値 of 林?",
        "What is double of two?",
        "Who is the boss of Bo?",
        "What number has x5 in the view?",
        "How many are in the empty table?",
    } <= accepted
    for question in (
        "What is broken?",
        "What is in the empty table?",
        "Two?",
        "Read a file?",
        "Attach?",
        "What never ends?",
    ):
        assert refused[question], question
    assert "too long" in refused["What never ends?"] or "plain SELECT" in refused["What never ends?"]
    assert await errors_of(out) == []


async def test_joined_tables_with_odd_names_become_chains(tmp_path: Path) -> None:
    path = tmp_path / "joined.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(
        """
        CREATE TABLE "it's a table (old/new-ish)" ("group by" TEXT, "from" TEXT);
        CREATE TABLE "order" (name TEXT, "group by" TEXT);
        INSERT INTO "it's a table (old/new-ish)" VALUES ('a', 'Oslo'), ('b', 'Bergen');
        INSERT INTO "order" VALUES ('Ada', 'a'), ('Bo', 'b'), ('Cy', 'b');
        """
    )
    connection.commit()
    connection.close()
    sql = (
        'SELECT t."from" FROM "order" AS o JOIN "it\'s a table (old/new-ish)" AS t ON o."group by" = t."group by" '
        "WHERE o.name = 'Bo'"
    )
    out, built = await built_from(tmp_path, path, [("Which town is the group of Bo from?", sql)])
    assert [r for r in built.rejections if r.stage.endswith("chain")] == []
    assert await errors_of(out) == []


async def test_a_database_without_anything(tmp_path: Path) -> None:
    path = tmp_path / "nothing.sqlite"
    sqlite3.connect(path).close()
    with pytest.raises(DataError, match=r"can become an instance: .*reads no table"):
        await built_from(tmp_path, path, [("What is one?", "SELECT 1"), ("What is x?", "SELECT x FROM y")])
    assert not (tmp_path / "out").exists()


async def test_many_rows_are_reported_where_they_are_too_many_for_the_tools(tmp_path: Path) -> None:
    path = tmp_path / "large.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE reading (id INTEGER PRIMARY KEY, sensor TEXT, value REAL);"
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 301000) "
        "INSERT INTO reading SELECT n, 'S' || (n % 50), n * 0.5 FROM t;"
    )
    connection.commit()
    connection.close()
    out, built = await built_from(
        tmp_path,
        path,
        [
            ("How many readings has the sensor S7?", "SELECT COUNT(*) FROM reading WHERE sensor = 'S7'"),
            ("What are all readings?", "SELECT * FROM reading"),
        ],
    )
    reasons = [r.reason for r in built.rejections]
    assert any("join to more than" in reason for reason in reasons)
    assert any("answers more than" in reason for reason in reasons)
    assert built.generated["odd"].accepted == 1
    assert await errors_of(out) == []


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_a_journal_beside_the_source_is_merged_into_the_copy(tmp_path: Path, mode: str) -> None:
    source = tmp_path / "source" / "live.sqlite"
    source.parent.mkdir()
    writer = sqlite3.connect(source, isolation_level=None)
    writer.execute(f"PRAGMA journal_mode = {mode}")
    writer.execute("CREATE TABLE t (a)")
    writer.execute("INSERT INTO t VALUES (1)")
    before = {p.name: p.read_bytes() for p in source.parent.iterdir() if not p.name.endswith("-shm")}
    target = tmp_path / "out" / "copy.sqlite"
    copy_database(source, target)
    assert {p.name: p.read_bytes() for p in source.parent.iterdir() if not p.name.endswith("-shm")} == before
    writer.close()
    assert [p.name for p in target.parent.iterdir()] == ["copy.sqlite"]
    reader = sqlite3.connect(target)
    assert reader.execute("SELECT a FROM t").fetchall() == [(1,)]
    assert reader.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    reader.close()
