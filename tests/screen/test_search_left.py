"""Leaving while a search is marked: the marks go first."""

from __future__ import annotations

import screen_toy as toy
from screen_opening import opened
from screen_reading import debugger, until, until_shown

from sessions.store import Store
from vakra_tui.screens.debugger import DebuggerScreen
from vakra_tui.screens.instances import InstancesScreen


async def test_escape_takes_the_search_away_before_it_leaves() -> None:
    async with opened(toy.wiring(instance="u-1", store=Store.open("sqlite://"))) as (app, pilot):
        await pilot.press("2", "slash", *"brand", "enter")
        await until_shown(pilot, "“brand”")
        view = debugger(app).query_one("#step")
        assert debugger(app)._needle_of(view) is not None  # type: ignore[arg-type]
        await pilot.press("escape")
        assert isinstance(app.screen, DebuggerScreen)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, InstancesScreen), "the list")
