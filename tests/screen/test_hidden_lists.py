"""Lists that get other lines while put away: shown again they have all, the cursor on the right one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import screen_toy as toy
from screen_opening import SMALL, opened
from screen_reading import debugger, pane, until, until_settled, until_shown
from textual.pilot import Pilot

from sessions.store import Store
from toolenv.model import ToolCall
from vakra_tui.app import VakraApp
from vakra_tui.state.panes.steps import StepsSource
from vakra_tui.widgets.line_view import LineView
from vakra_tui.widgets.pick_list import PickList


def long_wiring(tmp_path: Path, calls: int = 40) -> toy.ToyWiring:
    """A run of ``calls`` calls, more than a small terminal shows."""
    made = tuple(ToolCall(name="get_top_brand", arguments={"limit": n}) for n in range(calls))
    run = toy.ToyRun("long", [toy.prediction(calls=made)])
    store = Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")
    return toy.wiring(instance="u-1", store=store, runs=[run], instances=[toy.instance(policy="")])


def signed(app: VakraApp) -> str:
    """The row of the steps pane with the cursor's sign."""
    listed = debugger(app).query_one("#steps", PickList)
    text = pane(app, listed)
    assert "\u25b8" in text, f"no cursor in view: {text!r}"
    return text.split("\u25b8")[1]


def check(app: VakraApp) -> None:
    """The sign stands on the step that the other panes show."""
    screen = debugger(app)
    row = screen.row
    assert row is not None
    source = screen.query_one("#steps", PickList).source
    assert isinstance(source, StepsSource)
    assert source.step_of(screen.query_one("#steps", PickList).cursor) == screen.cursor
    assert source.branch_of(screen.query_one("#steps", PickList).cursor) is None
    assert signed(app).split()[0] == (str(row.number) if row.number else "\u00b7")


async def edit(pilot: Pilot[Any], step: int) -> None:
    """Change the call of a step and run it: a branch, from the step before."""
    await pilot.press("g", *str(step), "enter")
    await pilot.press("e")
    await until(pilot, lambda: pilot.app.screen is not debugger(pilot.app), "the form")
    await pilot.press("enter")
    await until_settled(pilot)
    await until_shown(pilot, "bran")


@pytest.mark.parametrize("step", [3, 20, 40])
async def test_a_list_put_away_while_a_branch_is_made_is_whole_again(tmp_path: Path, step: int) -> None:
    async with opened(long_wiring(tmp_path), size=SMALL) as (app, pilot):
        await pilot.press("2")
        await edit(pilot, step)
        await pilot.press("1")
        await pilot.pause()
        check(app)


@pytest.mark.parametrize("away", ["2", "3"])
async def test_from_a_branch_to_main_while_the_list_is_put_away(tmp_path: Path, away: str) -> None:
    async with opened(long_wiring(tmp_path), size=SMALL) as (app, pilot):
        await edit(pilot, 30)
        await pilot.press(away, "B")
        await until(pilot, lambda: app.screen is not debugger(app), "the branches")
        await pilot.press("home", "enter")
        await until(pilot, lambda: app.screen is debugger(app), "the debugger")
        await until_settled(pilot)
        await pilot.press("1")
        await pilot.pause()
        check(app)


async def test_every_view_scrolls_back_when_it_gets_fewer_lines(tmp_path: Path) -> None:
    from vakra_tui.state.lines import Lines, line

    async with opened(long_wiring(tmp_path), size=SMALL) as (app, pilot):
        for id_, key in (("#step", "2"), ("#truth", "3"), ("#steps", "1")):
            await pilot.press(key)
            view = debugger(app).query_one(id_, LineView)
            view.show(Lines([line(f"long {n}") for n in range(200)]))
            await pilot.pause()
            view.scroll_to(y=150, animate=False, force=True)
            await pilot.press("1" if key != "1" else "2")
            view.show(Lines([line("short")]), keep=True)
            await pilot.press(key)
            await pilot.pause()
            assert "short" in pane(app, view), id_
