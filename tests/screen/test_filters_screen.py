"""The filter language in the list of instances, beside the words to be found."""

from __future__ import annotations

from pathlib import Path

import pytest
import screen_toy as toy
from screen_opening import SMALL, opened
from screen_reading import rows, squeezed, until, until_shown
from textual.widgets import Input

from sessions.store import Store
from toolenv.model import Turn
from vakra_tui.app import VakraApp


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")


def wiring(store: Store) -> toy.ToyWiring:
    instances = [
        toy.instance("u-1"),
        toy.instance("u-2", policy="", query="What [/] is ~brewed?"),
        toy.instance("u-3", capability=3, domain="airline", policy="", turns=(Turn(turn_id=0, query="Who flies?"),)),
    ]
    runs = [
        toy.ToyRun("first", [toy.prediction("u-1"), toy.prediction("u-2")]),
        toy.ToyRun("second", [toy.prediction("u-1")]),
    ]
    return toy.wiring(store=store, instances=instances, runs=runs)


def listed(app: VakraApp) -> list[str]:
    return [entry.uuid for entry in app.instances.listing.shown]


async def test_expressions_narrow_the_list(store: Store) -> None:
    async with opened(wiring(store)) as (app, pilot):
        await until(pilot, lambda: all(entry.query is not None for entry in app.instances.listing.entries), "queries")
        await pilot.press("V")
        entries = app.instances.listing.entries
        await until(pilot, lambda: all(len(entry.verdicts) == 2 for entry in entries), "verdicts")
        await pilot.press("slash")
        field = app.screen.query_one("#find", Input)
        for text, found in {
            "~cap 4 !~policy none": ["u-1"],
            "~cap <4 | ~domain ^beer ~policy unknown": ["u-1", "u-3"],
            "~fail tool_sequence": ["u-1", "u-2"],
            "~missing": ["u-2", "u-3"],
            "~differs": ["u-2"],
            "~by offline ~text u-1": ["u-1"],
            "[/] is": ["u-2"],
        }.items():
            field.value = text
            await until(pilot, lambda found=found: listed(app) == found, f"{text} -> {found}")  # type: ignore[misc]
        field.value = "~cap x ["
        await until_shown(pilot, "~cap")
        assert listed(app) == ["u-2"], "what cannot be read changes nothing"
        await pilot.press("escape")
        assert len(listed(app)) == 3
        await pilot.press("D")
        await until(pilot, lambda: listed(app) == ["u-2"], "those that differ")
        await until_shown(pilot, "1 of 3 instances")
        await pilot.press("D")
        await until(pilot, lambda: len(listed(app)) == 3, "all")


async def test_expressions_complete(store: Store) -> None:
    async with opened(wiring(store), SMALL) as (app, pilot):
        await pilot.press("slash", *"~dom")
        await until_shown(pilot, "~domain (the domain matches)")
        await pilot.press("tab", "a", "tab")
        field = app.screen.query_one("#find", Input)
        assert field.value == "~domain airline "
        await until(pilot, lambda: listed(app) == ["u-3"], "the one of this domain")
        assert field.has_focus
        await pilot.press("enter")
        await until(pilot, lambda: "Tab:" not in squeezed(app), "no word on how to go on, as nothing is written")
        await pilot.press("slash", "end")
        await pilot.press(*"~no", "enter")
        await until_shown(pilot, "There is no '~no'")
        assert all(len(row) <= 80 for row in rows(app))
        assert "find" not in squeezed(app) or field.value


async def test_the_value_of_a_filter_is_completed_before_it_is_begun(store: Store) -> None:
    async with opened(wiring(store), SMALL) as (app, pilot):
        field = app.screen.query_one("#find", Input)
        await pilot.press("slash", *"~fail", "space")
        await until_shown(pilot, "Tab: policy")
        await pilot.press("tab")
        assert field.value == "~fail policy " and field.has_focus


async def test_a_filter_that_matches_nothing_says_so(store: Store) -> None:
    async with opened(wiring(store), SMALL) as (app, pilot):
        await pilot.press("slash", *"~cap 2", "enter")
        await until(pilot, lambda: not listed(app), "no row")
        await until_shown(pilot, "no row matches; Esc shows all again")
        assert "showing 0 of 3 instances" in squeezed(app)
        await pilot.press("escape")
        await until(pilot, lambda: len(listed(app)) == 3, "all rows")
        assert "no row matches" not in squeezed(app)
        await pilot.press("slash", *"zzz")
        await until_shown(pilot, "no row matches")


async def test_evaluating_what_is_scored_says_so(store: Store) -> None:
    async with opened(wiring(store)) as (app, pilot):
        await pilot.press("v")
        await until(pilot, lambda: len(app.instances.listing.entries[0].verdicts) == 2, "both verdicts")
        await pilot.press("v")
        await until_shown(pilot, "Everything of this row is scored.")
