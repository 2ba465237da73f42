"""Breakpoints by keys: set, stop at them in the past and at the tip, switch off, remove, and find them again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import screen_toy as toy
from screen_opening import SMALL, opened
from screen_reading import debugger, pane, shown, squeezed, until, until_settled, until_shown
from textual.pilot import Pilot
from textual.widgets import Input

from sessions.breakpoints import Breakpoint
from sessions.store import Store
from vakra_tui.app import VakraApp
from vakra_tui.state.breakpoints import KINDS


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")


async def add(pilot: Pilot[Any], kind: str, value: str = "", *keys: str) -> None:
    """Add a breakpoint by keys, in the open list of them."""
    await pilot.press("a")
    await until_shown(pilot, "Stop where?")
    await pilot.press("home", *["down"] * [name for name, _ in KINDS.values()].index(kind), "enter")
    if value:
        await until_shown(pilot, "Tab completes")
        await pilot.press(*value, *keys, "enter")
    await until_shown(pilot, "a adds")


async def set_only(pilot: Pilot[Any], kind: str, value: str = "", *keys: str) -> None:
    """Set one breakpoint and close the list."""
    await pilot.press("p")
    await until_shown(pilot, "Breakpoints:")
    await add(pilot, kind, value, *keys)
    await pilot.press("escape")
    await until_shown(pilot, "■ 1")


def place(app: VakraApp) -> tuple[int, int]:
    """(row under the cursor from 1, rows executed)."""
    screen = debugger(app)
    assert screen.scene is not None
    return screen.cursor + 1, screen.scene.executed


async def test_from_the_start_to_a_tool_and_on_to_the_end(store: Store) -> None:
    wiring = toy.wiring(instance="u-1", store=store)
    async with opened(wiring) as (app, pilot):
        await set_only(pilot, "tool", "query", "tab")
        assert store.breakpoints() == (Breakpoint(kind="tool", value="query_beer_factory"),)
        await pilot.press("0")
        await until_shown(pilot, "branch recording from 0")
        assert place(app) == (1, 0)
        called = len(wiring.environment.calls)
        await pilot.press("c")
        await until_shown(pilot, "paused before this step The tool query_beer_factory is about to be called.")
        assert place(app) == (2, 1)
        assert len(wiring.environment.calls) == called + 1
        assert "■ paused" in squeezed(app)
        await pilot.press("c")
        await until_shown(pilot, "No further breakpoint")
        assert place(app) == (4, 4)
        assert "paused before" not in squeezed(app)


async def test_the_past_stops_too_and_each_step_once(store: Store) -> None:
    store.put_breakpoints([Breakpoint(kind="error"), Breakpoint(kind="filter", value="~n <=2 | ~tool get_city")])
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        assert place(app)[1] == 4, "opening runs to the end, whatever the breakpoints"
        await pilot.press("home")
        assert place(app)[0] == 1

        def stop() -> tuple[int, bool | None]:
            pause = debugger(app).scene.pause  # type: ignore[union-attr]
            return place(app)[0], pause.before if pause is not None else None

        seen = []
        for _ in range(4):
            last = stop()
            await pilot.press("c")
            await until(pilot, lambda last=last: stop() != last, "another stop")  # type: ignore[misc]
            await until_settled(pilot)
            seen.append(stop())
        assert seen == [(2, True), (3, True), (3, False), (4, None)]


@pytest.mark.parametrize(
    ("kind", "number", "reason"),
    [
        ("divergence", 1, "first step that differs"),
        ("ungrounded", 1, "seen nowhere before"),
        ("error", 3, "The call failed."),
    ],
)
async def test_kinds_without_a_value(kind: str, number: int, reason: str, store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await set_only(pilot, kind)
        await pilot.press("0")
        await until_shown(pilot, "branch recording from 0")
        await pilot.press("c")
        await until_shown(pilot, reason)
        assert place(app)[0] == number
        assert shown(app).count("■") >= 2


async def test_the_list_is_kept_switched_and_emptied(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store), SMALL) as (app, pilot):
        await pilot.press("p")
        await until_shown(pilot, "none yet")
        await pilot.press("d", "enter")
        await add(pilot, "slow", "2.5")
        await add(pilot, "filter", "~to", "tab", *"[/]x")
        await until_shown(pilot, "~tool [/]x")
        await pilot.press("enter", "escape")
        await until(pilot, lambda: len(store.breakpoints()) == 2, "both in the store")
    kept = Store.open(f"sqlite:///{store.path}")
    assert [each.enabled for each in kept.breakpoints()] == [True, False]
    async with opened(toy.wiring(instance="u-1", store=kept)) as (app, pilot):
        assert "steps 4 ■ 1" in squeezed(app)
        await pilot.press("p")
        await until_shown(pilot, "~tool [/]x")
        await pilot.press("d", "d")
        await until_shown(pilot, "none yet")
        await pilot.press("escape")
        await until(pilot, lambda: kept.breakpoints() == (), "none in the store")
        assert "■" not in pane(app, app.screen.query_one("#steps-pane"))


async def test_what_cannot_be_read_is_told_and_not_taken(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("p")
        await until_shown(pilot, "none yet")
        await pilot.press("a")
        await until_shown(pilot, "Stop where?")
        await pilot.press("end", "enter")
        await until_shown(pilot, "has an argument whose name matches")
        await pilot.press(*"~nothing", "enter")
        await until_shown(pilot, "There is no '~nothing'")
        await pilot.press("escape")
        await until_shown(pilot, "none yet")
        await pilot.press("a")
        await until_shown(pilot, "Stop where?")
        await pilot.press("end", "up", "enter")
        await until(pilot, lambda: isinstance(app.focused, Input), "a line to type into")
        await pilot.press(*"soon", "enter")
        await until_shown(pilot, "A number of seconds is needed")
        await pilot.press("escape", "escape")
        assert store.breakpoints() == ()


async def test_starting_again_without_a_recording_is_by_hand(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store, runs=[])) as (app, pilot):
        await pilot.press("a", *"No", "enter")
        await until_shown(pilot, "step 1: final answer")
        await pilot.press("0")
        await until_shown(pilot, "branch human from 0")
        assert place(app)[1] == 0
