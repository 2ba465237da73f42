"""A text of any size in a dialog: a value of a response read whole."""

from __future__ import annotations

import json

import pytest
import screen_toy as toy
from screen_opening import opened
from screen_reading import until, until_shown

from sessions.store import Store
from vakra_tui import wrap
from vakra_tui.screens.message import LONG, MessageScreen
from vakra_tui.state.lines import plain
from vakra_tui.widgets.line_view import LineView

pytestmark = pytest.mark.asyncio


async def test_a_long_value_is_read_to_its_end_without_being_wrapped_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped: list[int] = []
    whole = wrap.wrap

    def counting(content: wrap.Line, width: int):  # type: ignore[no-untyped-def]
        wrapped.append(sum(len(span.text) for span in content))
        return whole(content, width)

    monkeypatch.setattr(wrap, "wrap", counting)
    value = "word " * LONG + "the end"
    answers = {**toy.ANSWERS, "get_top_brand": json.dumps({"brand": value})}
    wiring = toy.wiring(environment=toy.ToyEnvironment(answers), store=Store.open("sqlite://"), instance="u-1")
    async with opened(wiring) as (app, pilot):
        await pilot.press("home")
        await until_shown(pilot, "step 1: get_top_brand")
        await pilot.press("t")
        await until_shown(pilot, "brand: ")
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.screen, MessageScreen), "the value")
        wrapped.clear()
        view = app.screen.query_one(LineView)
        await until(pilot, lambda: view.count > 100, "all of it")
        await pilot.press("end")
        await until_shown(pilot, "the end")
        assert max(wrapped, default=0) < LONG
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, MessageScreen), "the debugger")


async def test_a_short_text_breaks_between_words() -> None:
    async with opened(toy.wiring(store=Store.open("sqlite://"))) as (app, pilot):
        app.report("one two three " * 20 + "\nand a second line")
        await until_shown(pilot, "and a second line")
        source = app.screen.query_one(LineView).source
        assert all(plain(source.line(row)).split()[-1] in ("one", "two", "three") for row in range(3))
