"""SQL to endpoints: parameters, names, envelopes, merging; and the answer of the SQL itself for its own literals."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sample.shop import make_shop
from toolenv.build.database_schema import DatabaseSchema, read_schema
from toolenv.build.endpoints import EndpointCatalogue
from toolenv.build.lookups import lookup_questions
from toolenv.build.source import NotBuildable, Question
from toolenv.build.template import make_template
from toolenv.dashboards.application import application
from toolenv.dashboards.database import ReadOnlyDatabase
from toolenv.dashboards.definition import FORMAT, EndpointFile, dump_endpoints, load_endpoints
from toolenv.model import Json

ORDERS = '"order"'


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_shop(tmp_path_factory.mktemp("shop") / "shop.sqlite")


@pytest.fixture(scope="module")
def schema(shop: Path) -> DatabaseSchema:
    connection = sqlite3.connect(shop)
    found = read_schema(connection)
    connection.close()
    return found


def test_the_schema_is_read_with_all_its_names(schema: DatabaseSchema) -> None:
    assert [t.name for t in schema.tables] == ["order", "person", "nothing", "pair", "cheap"]
    order = schema.table("ORDER")
    assert [(c.name, c.type) for c in order.columns][:4] == [
        ("id", "integer"),
        ("group", "string"),
        ("unit price", "number"),
        ("placed", "string"),
    ]
    assert order.column("double_price") is not None
    assert {c.name for t in schema.tables for c in t.columns if c.unique} == {"id", "name"}


@pytest.mark.parametrize(
    ("sql", "name", "parameters", "envelope"),
    [
        ("SELECT name FROM person WHERE id = 2", "get_person_name_by_person_id", {"person_id": 2},
         "person_name:scalar"),
        (
            "SELECT id FROM person WHERE chief = 1",
            "get_person_id_by_chief",
            {"chief": 1},
            "person_ids:list",
        ),
        (
            f'SELECT COUNT(*) FROM {ORDERS} WHERE "unit price" > 7',
            "get_count_of_order_by_min_unit_price",
            {"min_unit_price": 7.0},
            "count:scalar",
        ),
        (
            f'SELECT id, "group" FROM {ORDERS} WHERE "unit price" BETWEEN 6 AND 11',
            "get_order_id_and_group_by_min_unit_price_and_max_unit_price",
            {"min_unit_price": 6.0, "max_unit_price": 11.0},
            "orders:objects",
        ),
        (
            f"SELECT id FROM {ORDERS} WHERE strftime('%Y', placed) = '2020'",
            "get_order_id_by_year_placed",
            {"year_placed": "2020"},
            "order_ids:list",
        ),
        (
            f'SELECT id FROM {ORDERS} WHERE "Größe" = \'groß\' ORDER BY "unit price" DESC LIMIT 1',
            "get_order_id_with_highest_unit_price_by_gr_e",
            {"gr_e": "groß"},
            "order_id:scalar",
        ),
        (
            f"SELECT AVG(\"unit price\") FROM {ORDERS} WHERE \"group\" <> 'b'",
            "get_average_unit_price_by_not_group",
            {"not_group": "b"},
            "average_unit_price:scalar",
        ),
        (
            "SELECT a.name FROM person a JOIN person b ON a.chief = b.id WHERE b.name = 'O''Neil'",
            "get_person_name_by_chief_name",
            {"chief_name": "O'Neil"},
            "person_names:list",
        ),
        (
            "SELECT b.name FROM person a JOIN person b ON a.chief = b.id WHERE a.name = 'Ann'",
            "get_chief_name_by_person_name",
            {"person_name": "Ann"},
            "chief_name:scalar",
        ),
        ("SELECT name FROM person WHERE 1 = id OR id = 3", "get_person_name_by_person_id_and_person_id_2",
         {"person_id": 1, "person_id_2": 3}, "person_names:list"),
    ],
)  # fmt: skip
def test_an_endpoint_of_a_question(
    shop: Path, schema: DatabaseSchema, sql: str, name: str, parameters: dict[str, Json], envelope: str
) -> None:
    endpoint, arguments = EndpointCatalogue("shop", schema).add(Question(question="?", sql=sql))
    assert endpoint.operation_id == name
    assert dict(arguments) == parameters
    assert f"{endpoint.response.key}:{endpoint.response.shape}" == envelope
    connection = sqlite3.connect(shop)
    gold = connection.execute(sql).fetchall()
    connection.close()
    database = ReadOnlyDatabase(shop)
    database.acquire()
    assert database.query(endpoint.sql, arguments).rows == gold
    database.release()


def test_equal_templates_are_one_endpoint(schema: DatabaseSchema) -> None:
    catalogue = EndpointCatalogue("shop", schema)
    first, _ = catalogue.add(Question(question="?", sql="SELECT name FROM person WHERE id = 1"))
    for same in (
        "select name from person where id = 3",
        'SELECT "name" FROM "person" WHERE "id" = 2',
        "SELECT T1.name FROM person AS T1 WHERE T1.id = 5",
    ):
        assert catalogue.add(Question(question="?", sql=same))[0] is first
    other, _ = catalogue.add(Question(question="?", sql="SELECT name FROM person WHERE id > 1"))
    assert other is not first
    assert len(catalogue.endpoints) == 2


def test_names_stay_distinct(schema: DatabaseSchema) -> None:
    catalogue = EndpointCatalogue("shop", schema)
    catalogue.add(Question(question="?", sql="SELECT name FROM person WHERE id = 1"))
    second, _ = catalogue.add(Question(question="?", sql="SELECT name FROM person WHERE id = 1 ORDER BY name"))
    assert second.operation_id == "get_person_name_by_person_id_2"
    named, _ = catalogue.add(Question(question="?", sql="SELECT MAX(id) FROM person", operation_id="get_last"))
    assert named.operation_id == "get_last"


def test_literals_that_are_no_comparison_stay(schema: DatabaseSchema) -> None:
    sql = "SELECT 100.0 * SUM(CASE WHEN chief = 1 THEN 1 ELSE 0 END) / COUNT(*) FROM person WHERE name LIKE 'A%'"
    endpoint, arguments = EndpointCatalogue("shop", schema).add(Question(question="?", sql=sql))
    assert dict(arguments) == {"chief": 1, "name": "A%"} or dict(arguments) == {"chief": 1, "person_name": "A%"}
    assert "100.0" in endpoint.sql
    assert endpoint.response.key == "percentage"


@pytest.mark.parametrize("sql", ["DROP TABLE person", "SELECT name FROM person; SELECT 1", "SELECT x FROM nowhere", ""])
def test_what_cannot_be_an_endpoint_says_why(schema: DatabaseSchema, sql: str) -> None:
    with pytest.raises(NotBuildable):
        EndpointCatalogue("shop", schema).add(Question(question="?", sql=sql))


def test_look_ups_of_any_schema_can_all_be_served(shop: Path, schema: DatabaseSchema, tmp_path: Path) -> None:
    catalogue = EndpointCatalogue("shop", schema)
    for question in lookup_questions(schema):
        catalogue.add(question)
    assert len(catalogue.endpoints) >= 20
    content = EndpointFile(format=FORMAT, domain="shop", endpoints=catalogue.endpoints)
    path = tmp_path / "shop.json"
    path.write_text(dump_endpoints(content), encoding="utf-8")
    assert load_endpoints(path) == content
    database = ReadOnlyDatabase(shop)
    values: dict[str, Json] = {"string": "x", "integer": 1, "number": 1.5}
    database.acquire()
    for endpoint in catalogue.endpoints:
        database.query(endpoint.sql, {p.name: values[p.type] for p in endpoint.parameters})
    database.release()
    assert len(application(content, database).openapi()["paths"]) == len(catalogue.endpoints)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=30))
def test_any_text_literal_comes_back_as_the_argument(shop: Path, schema: DatabaseSchema, text: str) -> None:
    literal = text.replace("'", "''")
    sql = f"SELECT '{literal}', id FROM person WHERE name = '{literal}' OR id = 1"
    endpoint, arguments = EndpointCatalogue("shop", schema).add(Question(question="?", sql=sql))
    assert arguments["person_name"] == text
    connection = sqlite3.connect(shop)
    assert connection.execute(endpoint.sql, dict(arguments)).fetchall() == [(text, 1)]
    connection.close()


@settings(max_examples=60, deadline=None)
@given(st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_any_number_literal_comes_back_as_the_argument(number: float) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (a NUMERIC)")
    connection.execute("INSERT INTO t VALUES (?)", (number,))
    sql = f"SELECT a FROM t WHERE a = {number!r}"
    template = make_template(sql, read_schema(connection))
    gold = connection.execute(sql).fetchall()
    assert connection.execute(template.sql, dict(template.arguments)).fetchall() == gold
    connection.close()
