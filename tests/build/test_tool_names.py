"""Names of tools that the builder chooses: an endpoint of a model takes them, each is another, and they stay."""

from __future__ import annotations

import re
import sqlite3

from toolenv.build.chains import make_universe
from toolenv.build.database_schema import DatabaseSchema, read_schema
from toolenv.build.endpoints import EndpointCatalogue
from toolenv.build.plan import ColumnRef, Join, PlanTable, SelectPlan
from toolenv.build.source import Question

TAKEN_BY_ENDPOINTS = re.compile(r"[A-Za-z0-9_-]{1,64}")

SCHEMA = """
CREATE TABLE "average daily temperature measurement of a station" (
    "value in degrees centigrade after correction" REAL, "name of the measuring station" TEXT,
    "name of the person who looked after it" TEXT, "year of the last calibration" INTEGER
);
CREATE TABLE "größe" ("straße" TEXT, "länge" REAL);
CREATE TABLE "表" ("値" TEXT, "数" REAL);
"""
LONG = 'SELECT "value in degrees centigrade after correction" FROM "average daily temperature measurement of a station"'
QUESTIONS = (
    f"{LONG} WHERE \"name of the measuring station\" = 'x' AND \"name of the person who looked after it\" = 'y'",
    f'{LONG} WHERE "name of the measuring station" = \'x\' AND "year of the last calibration" > 2000',
    f'{LONG} WHERE "name of the measuring station" = \'x\' AND "year of the last calibration" < 2000',
    'SELECT "straße" FROM "größe" WHERE "länge" = 1',
    'SELECT "値" FROM "表" WHERE "数" = 1',
    'SELECT "数" FROM "表" WHERE "値" = \'a\'',
)


def schema() -> DatabaseSchema:
    connection = sqlite3.connect(":memory:")
    connection.executescript(SCHEMA)
    found = read_schema(connection)
    connection.close()
    return found


def names() -> list[str]:
    catalogue = EndpointCatalogue("odd", schema())
    return [catalogue.add(Question(question="?", sql=sql))[0].operation_id for sql in QUESTIONS]


def test_names_of_endpoints_are_taken_by_endpoints_of_models() -> None:
    made = names()
    assert [name for name in made if not TAKEN_BY_ENDPOINTS.fullmatch(name)] == []
    assert len(set(made)) == len(QUESTIONS)
    assert names() == made


def test_a_long_name_ends_with_a_word() -> None:
    first = names()[0]
    assert first.startswith("get_value_in_degrees_centigrade_after_correction")
    assert len(first) > 40
    assert not first.endswith("_")


def test_the_name_that_a_person_gives_is_kept() -> None:
    catalogue = EndpointCatalogue("odd", schema())
    wanted = "get_" + "a" * 80
    endpoint, _ = catalogue.add(Question(question="?", sql=QUESTIONS[0], operation_id=wanted))
    assert endpoint.operation_id == wanted


def prefixes(*tables: str) -> list[str]:
    """How the columns of joined tables are told apart."""
    plan = SelectPlan(
        tables=tuple(PlanTable(alias=f"T{place}", table=name) for place, name in enumerate(tables)),
        joins=tuple(
            Join(left=ColumnRef(alias="T0", column="id"), right=ColumnRef(alias=f"T{place}", column="id"))
            for place in range(1, len(tables))
        ),
        filters=((),),
    )
    universe = make_universe(plan, "sel", uuid="u", domain="odd", query="?")
    return [table.modified_name for table in universe.tables]


def test_the_tables_of_a_universe_have_plain_names_of_their_own() -> None:
    assert prefixes("film", "film", "film_1", "a b", "a-b") == ["film", "film_1", "film_1_1", "a_b", "a_b_1"]
    assert prefixes("größe", "表", "图") == ["gr__e", "table", "table_1"]
    long = prefixes("average daily temperature measurement of a station", "average daily temperature measurement of b")
    assert len(set(long)) == 2
    assert all(TAKEN_BY_ENDPOINTS.fullmatch(f"get_{prefix}_temperatures") for prefix in long)
