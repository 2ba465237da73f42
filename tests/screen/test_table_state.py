"""Tables of a response: sorted and filtered as a person expects, read in pages, and cells that line up."""

from __future__ import annotations

import random

import pytest
from screen_tables import View

from toolenv.errors import DataError
from vakra_tui.state.lines import plain
from vakra_tui.state.search import Needle
from vakra_tui.state.table_order import Order, page, positions, rows_with, terms_of
from vakra_tui.state.table_rows import TableRows


def cities(count: int) -> View:
    chance = random.Random(5)
    names = ["Ulm", "Bonn", "Denver", None, "Biloxi \x1b[31m"]
    return View(
        ["T_id", "T_city", "T_age"],
        [
            (index, chance.choice(names), chance.choice([None, chance.randrange(90), chance.random() * 90]))
            for index in range(count)
        ],
    )


async def test_sorting_puts_nulls_last_and_keeps_equal_rows_in_their_order() -> None:
    view = cities(25_000)
    for descending in (False, True):
        for column in (1, 2):
            shown = await positions(view, Order(column=column, descending=descending))
            assert shown is not None
            values = list(view.column(column))
            cells = [values[position] for position in shown]
            known = [cell for cell in cells if cell is not None]
            assert known == sorted(known, reverse=descending)
            assert cells[len(known) :] == [None] * (len(cells) - len(known))
            assert sorted(shown) == list(range(25_000))
            beside = zip(cells, cells[1:], shown, shown[1:], strict=False)
            assert all(left < right for one, other, left, right in beside if one == other)


async def test_filters_hold_numbers_texts_and_nulls_apart() -> None:
    view = View(
        ["name", "Age", "age group"], [("Ann", 30, "x=1"), ("Bob", 9, "y"), (None, 100, "x"), ("ann", None, "")]
    )

    async def kept(text: str) -> list[int]:
        found = await positions(view, Order(filter=text))
        return list(range(view.num_records)) if found is None else list(found)

    assert await kept("") == [0, 1, 2, 3]
    assert await kept("ann") == [0, 3]
    assert await kept("name=ANN") == [0, 3]
    assert await kept("name!=ann") == [1, 2]
    assert await kept("Age>9") == [0, 2]
    assert await kept("Age>=9 ann") == [0]
    assert await kept("Age=null") == [3]
    assert await kept("group~x") == [0, 2]
    assert await kept("'age group=x=1'") == [0]
    assert await kept("name=null") == [2]
    for wrong in ("height=3", "'unclosed"):
        with pytest.raises(DataError):
            terms_of(wrong, view.columns)
    with pytest.raises(DataError, match="could be called"):
        terms_of("a=1", view.columns)


async def test_a_table_of_a_hundred_thousand_rows_reads_the_pages_in_view() -> None:
    view = View(["id", "name"], [(index, f"name {index}") for index in range(100_000)])
    asked: list[int] = []
    source = TableRows(view, asked.append)
    assert source.layout(80) == 100_002
    assert plain(source.line(50_002)).endswith("\u2026")
    start = asked[0]
    source.put(start, await page(view, None, start))
    assert "name 50000" in plain(source.line(50_002))
    assert view.read < 200
    order = Order().turned(0).turned(0)
    assert (order.column, order.descending) == (0, True)
    source.show(order, await positions(view, order))
    source.put(0, await page(view, source.positions, 0))
    assert "name 99999" in plain(source.line(2))
    assert source.words == "100,000 rows, by id (descending)"
    assert order.turned(0) == Order()
    assert list(await rows_with(view, source.positions, Needle("NAME 99998"))) == [1]
    assert view.read < 100_000 + 400


async def test_cells_and_names_of_any_kind_line_up() -> None:
    hostile = [
        "[/]",
        "\x1b[2J",
        "a\nb",
        "\u202edlrow",
        "\u6f22\u5b57" * 30,
        "",
        None,
        True,
        float("nan"),
        {"$base64": "AA=="},
    ]
    view = View([f"n\u200b{index}" for index in range(len(hostile))], [tuple(hostile), tuple(reversed(hostile))])
    source = TableRows(view, lambda start: None)
    source.put(0, await page(view, None, 0))
    for column in range(-2, 14):
        start, end = source.place_column(column)
        assert end > start
        assert source.column_at(start) == source.column
    assert all(plain(source.line(index)) for index in range(source.layout(80)))
    assert source.column_at(3) is None
    empty = TableRows(View([], []), lambda start: None)
    assert empty.layout(80) == 2
    assert empty.place_column(1)[0] == 10
