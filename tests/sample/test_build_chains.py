"""SQL to chains of BI tools: every chain is executed and must give the SQL's own answer."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from tests.sample.shop import make_shop, run_sql_as_chain
from toolenv.build.source import NotBuildable

JOINED = 'FROM "order" o JOIN person p ON o.buyer = p.id'


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_shop(tmp_path_factory.mktemp("shop") / "shop.sqlite")


@pytest.mark.parametrize("style", ["slot", "sel"])
@pytest.mark.parametrize(
    ("sql", "calls"),
    [
        ('SELECT COUNT(*) FROM "order"', 1),
        ('SELECT "unit price" FROM "order" WHERE "group" = \'a\'', 2),
        ('SELECT id FROM "order" WHERE "group" IS NULL', 2),
        ('SELECT id FROM "order" WHERE "group" IS NOT NULL AND "unit price" >= 10', 3),
        ('SELECT id FROM "order" WHERE "unit price" BETWEEN 6 AND 11', 3),
        ('SELECT id FROM "order" WHERE "group" = \'b\' OR "unit price" > 15', 4),
        ("SELECT id FROM \"order\" WHERE \"group\" IN ('b', 'a')", 4),
        ('SELECT COUNT("group") FROM "order"', 2),
        ('SELECT SUM("unit price") FROM "order" WHERE "Größe" = \'groß\'', 2),
        ('SELECT id FROM "order" ORDER BY "unit price" DESC LIMIT 2', None),
        ('SELECT DISTINCT "Größe" FROM "order" WHERE "Größe" IS NOT NULL', None),
        (f'SELECT p.name, o."unit price" {JOINED} WHERE o."unit price" > 8', None),
        (f"SELECT COUNT(DISTINCT p.name) {JOINED}", 1),
        (f"SELECT p.\"it's\" {JOINED} WHERE p.name = 'O''Neil' AND o.id = 1", 3),
        ("SELECT COUNT(*) FROM \"order\" WHERE strftime('%Y', placed) = '2021'", 3),
        ("SELECT COUNT(*) FROM \"order\" WHERE strftime('%m', placed) = '07'", 3),
        ("SELECT id FROM \"order\" WHERE placed LIKE '2020%'", 2),
        ('SELECT MAX("unit price") - MIN("unit price") FROM "order"', 3),
        ('SELECT 100.0 * SUM(CASE WHEN "group" = \'a\' THEN 1 ELSE 0 END) / COUNT(*) FROM "order"', 5),
        ('SELECT AVG(CASE WHEN "group" = \'a\' THEN "unit price" END) FROM "order"', 2),
        ('SELECT CAST(COUNT(CASE WHEN "group" = \'b\' THEN id END) AS REAL) / COUNT(id) FROM "order"', None),
        ("SELECT name FROM person WHERE id = (SELECT MAX(id) FROM person)", 3),
        ('SELECT SUM(IIF("group" = \'a\', 1, 0)) FROM "order"', 2),
        ("SELECT id FROM \"order\" WHERE substr(placed, 6, 2) = '07'", 3),
        ("SELECT COUNT(*) FROM \"order\" WHERE strftime('%Y-%m', placed) = '2021-07'", 3),
        ("SELECT a.name FROM person a JOIN person b ON a.chief = b.id WHERE b.name = 'O''Neil'", 2),
    ],
)
async def test_a_chain_gives_the_sql_s_answer(
    shop: Path, tmp_path: Path, sql: str, calls: int | None, style: Literal["slot", "sel"]
) -> None:
    executed = await run_sql_as_chain(shop, tmp_path, sql, style)
    assert executed.calls[0].name == "get_data"
    if calls is not None:
        assert len(executed.calls) - 1 == calls
    assert all("$" not in str(call.arguments) for call in executed.calls)


@pytest.mark.parametrize("style", ["slot", "sel"])
@pytest.mark.parametrize(
    ("sql", "gold"),
    [
        ('SELECT "unit price" FROM "order" WHERE id = 1', 'SELECT "unit price" FROM "order" WHERE id = 2'),
        ('SELECT id FROM "order" WHERE id < 3', 'SELECT id FROM "order" WHERE id < 4'),
        ('SELECT COUNT(*) FROM "order"', "SELECT 5"),
        ('SELECT id, id FROM "order" WHERE id < 3', 'SELECT id, id + 1 FROM "order" WHERE id < 3'),
    ],
)
async def test_a_chain_with_another_answer_is_refused(
    shop: Path, tmp_path: Path, sql: str, gold: str, style: Literal["slot", "sel"]
) -> None:
    with pytest.raises(NotBuildable, match=r"is not the gold SQL's|answer"):
        await run_sql_as_chain(shop, tmp_path, sql, style, gold)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT COUNT(*) FROM person GROUP BY chief", "GROUP BY"),
        ('SELECT name FROM person WHERE id IN (SELECT buyer FROM "order")', "sub-select"),
        ('SELECT p.name FROM person p LEFT JOIN "order" o ON o.buyer = p.id', "LEFT JOIN"),
        ("SELECT name FROM person UNION SELECT 'x'", "plain SELECT"),
        ("SELECT name FROM person; DROP TABLE person", "plain SELECT"),
        ("DELETE FROM person", "plain SELECT"),
        ("SELECT (", "cannot be parsed"),
        ("SELECT name FROM nobody", "no table 'nobody'"),
        ("SELECT age FROM person", "'age' is not in the tables"),
        ("SELECT name FROM person WHERE id = chief", "not a literal"),
        ("SELECT name FROM person WHERE UPPER(name) = 'X'", "not a column"),
        ("SELECT COUNT(*), MAX(id) FROM person", "several aggregates"),
        ("SELECT name FROM person LIMIT 1 OFFSET 2", "OFFSET"),
        ("SELECT 1", "reads no table"),
        ("SELECT name FROM person WHERE NOT id = 1", "not among what the BI tools can do"),
        ("SELECT id FROM person WHERE name = 'nobody'", "answers nothing"),
    ],
)
async def test_what_cannot_be_a_chain_says_why(shop: Path, tmp_path: Path, sql: str, words: str) -> None:
    with pytest.raises(NotBuildable) as caught:
        await run_sql_as_chain(shop, tmp_path, sql, "slot")
    assert words in str(caught.value)
