"""A small database with awkward names that the builder's tests share, and ways to run what is built from it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from toolenv.build import layout
from toolenv.build.chains import make_chain
from toolenv.build.database_schema import read_schema
from toolenv.build.plan_reading import read_plan
from toolenv.build.source import DomainSource, Style
from toolenv.build.truth import Executed, gold_rows, run_chain
from toolenv.dataset import Dataset
from toolenv.model import Instance, Turn
from toolenv.native import NativeEnvironment

SCRIPT = """
CREATE TABLE "order" (id INTEGER PRIMARY KEY, "group" TEXT, "unit price" REAL NOT NULL, placed TEXT, buyer INTEGER,
  "Größe" TEXT, double_price REAL GENERATED ALWAYS AS ("unit price" * 2) VIRTUAL);
INSERT INTO "order" VALUES (1, 'a', 10.5, '2020-01-05', 1, 'groß');
INSERT INTO "order" VALUES (2, 'a', 20.0, '2020-07-15', 2, 'klein');
INSERT INTO "order" VALUES (3, 'b', 5.25, '2021-07-01', 1, NULL);
INSERT INTO "order" VALUES (4, NULL, 7.0, '2021-09-09', 3, 'groß');
CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, chief INTEGER REFERENCES person(id),
  "it's" TEXT);
INSERT INTO person VALUES (1, 'O''Neil', NULL, 'x');
INSERT INTO person VALUES (2, 'Zoë', 1, 'y');
INSERT INTO person VALUES (3, 'Ann', 1, NULL);
CREATE TABLE "nothing" (a, b TEXT);
CREATE TABLE pair (x INTEGER, y INTEGER, PRIMARY KEY (x, y));
CREATE VIEW cheap AS SELECT * FROM "order" WHERE "unit price" < 10;
"""


def make_shop(path: Path) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(SCRIPT)
    connection.commit()
    connection.close()
    return path


async def run_sql_as_chain(database: Path, folder: Path, sql: str, style: Style, gold: str | None = None) -> Executed:
    """The chain of a SQL, executed natively and checked against the rows of ``gold`` (the SQL itself unless given)."""
    connection = sqlite3.connect(database)
    try:
        schema = read_schema(connection)
        chain = make_chain(read_plan(sql, schema), style, uuid="u-1", domain="shop", query="?")
        rows: Sequence[tuple[object, ...]] = gold_rows(connection, gold or sql)
    finally:
        connection.close()
    target = layout.database_path(folder, "shop")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(database, target)
    layout.write_configs(folder, [DomainSource(name="shop", database=database)], [chain.universe])
    layout.write_json(layout.instance_path(folder, 1, "input", "shop"), [])
    environment = NativeEnvironment(Dataset.open(folder))
    instance = Instance(uuid="u-1", capability=1, domain="shop", turns=(Turn(turn_id=0, query="?"),), universe_id="u-1")
    session = await environment.open(instance)
    try:
        return await run_chain(session, chain, rows)
    finally:
        await session.close()
        await environment.close()
