"""Endpoints that would read alike say what sets each apart; the sides of a join make no difference."""

from __future__ import annotations

import sqlite3

import pytest

from tests.build.music_shop import SCRIPT
from toolenv.build.database_schema import DatabaseSchema, read_schema
from toolenv.build.distinctions import distinction
from toolenv.build.endpoints import EndpointCatalogue
from toolenv.build.source import Question


@pytest.fixture(scope="module")
def schema() -> DatabaseSchema:
    connection = sqlite3.connect(":memory:")
    connection.executescript(SCRIPT)
    found = read_schema(connection)
    connection.close()
    return found


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (
            "SELECT COUNT(T1.id) FROM hero AS T1 INNER JOIN colour AS T2 ON T1.hair_colour_id = T2.id "
            "WHERE T2.colour = :colour",
            "colour by hair colour id; counts id",
        ),
        ("SELECT COUNT(*) FROM a INNER JOIN b ON a.b_id = b.id", "with b"),
        ("SELECT DISTINCT name FROM a LIMIT 3", "each once; no more than 3"),
        (
            "SELECT name FROM a WHERE x = :x AND NOT t.y IS NULL GROUP BY name HAVING COUNT(z) > 5",
            "counts z; only where NOT y IS NULL; only where COUNT(z) > 5",
        ),
        ("SELECT name FROM a WHERE x = :x", ""),
    ],
)
def test_what_sets_an_endpoint_apart(sql: str, words: str) -> None:
    assert distinction(sql) == words


def test_only_endpoints_that_read_alike_say_more(schema: DatabaseSchema) -> None:
    catalogue = EndpointCatalogue("music", schema)
    for sql in (
        "SELECT COUNT(*) FROM Customer WHERE Country = 'Norway'",
        "SELECT COUNT(City) FROM Customer WHERE Country = 'Norway'",
        "SELECT Email FROM Customer WHERE City = 'Oslo'",
    ):
        catalogue.add(Question(question="?", sql=sql))
    summaries = [endpoint.summary for endpoint in catalogue.told_apart()]
    assert summaries[1].endswith(" (counts city)")
    assert len(set(summaries)) == 3
    assert "(" not in summaries[0] + summaries[2]


def test_the_sides_of_a_join_make_no_other_endpoint(schema: DatabaseSchema) -> None:
    catalogue = EndpointCatalogue("music", schema)
    for on in ("a.ArtistId = b.ArtistId", "b.ArtistId = a.ArtistId"):
        sql = f"SELECT b.Name FROM Album AS a JOIN Artist AS b ON {on} WHERE a.Title = 'Copper Moon'"
        catalogue.add(Question(question="?", sql=sql))
    assert len(catalogue.endpoints) == 1
