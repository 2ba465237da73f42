"""The list of instances under the keys of a person: sorting, marks, kept filters, a choice made elsewhere."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import screen_toy as toy
from screen_opening import SMALL, WIDE, opened
from screen_reading import rows, squeezed, until, until_shown
from textual.widgets import Input

from sessions.store import Store
from toolenv.model import Instance
from vakra_tui.app import VakraApp


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")


def wiring(store: Store) -> toy.ToyWiring:
    instances = [
        toy.instance("u-1", query="Which brewer sells most?"),
        toy.instance("u-2", policy="", query="What is brewed [/] here?"),
        toy.instance("u-3", capability=3, domain="airline", policy="", query="Who flies?"),
    ]
    return toy.wiring(store=store, instances=instances, runs=[toy.ToyRun("first", [toy.prediction("u-1")])])


def listed(app: VakraApp) -> list[str]:
    return [entry.uuid for entry in app.instances.listing.shown]


async def test_sorting_by_a_column_and_the_other_way_round(store: Store) -> None:
    async with opened(wiring(store)) as (app, pilot):
        await pilot.press("s")
        await until_shown(pilot, "the tool style of capability 1: SLOT or SEL")
        await pilot.press("s")
        await until(pilot, lambda: listed(app) == ["u-3", "u-1", "u-2"], "sorted by capability")
        await until_shown(pilot, "sorted by capability")
        assert "\u25b4cap" in squeezed(app)
        await pilot.press("s", "s")
        await until(pilot, lambda: listed(app) == ["u-1", "u-2", "u-3"], "the other way round")
        assert "\u25becap" in squeezed(app)
        await pilot.press("slash", *"~cap 4", "enter")
        await until(pilot, lambda: listed(app) == ["u-1", "u-2"], "a filter keeps the order")
        await pilot.click("#columns", offset=(squeezed_at(app, "query"), 0))
        await until(pilot, lambda: listed(app) == ["u-2", "u-1"], "a click sorts by the query")
        await pilot.press("s", "end", "enter")
        await until(pilot, lambda: app.instances.listing.order is None, "the order of the files")


def squeezed_at(app: VakraApp, name: str) -> int:
    head = next(row for row in rows(app) if "domain" in row and "query" in row)
    return head.index(name) + 1


async def test_marks_are_shown_filtered_and_remembered(store: Store) -> None:
    async with opened(wiring(store)) as (app, pilot):
        await pilot.press("space", "down", "space")
        await until_shown(pilot, "2 marked")
        assert sum("*4" in row or "*3" in row for row in rows(app)) == 2
        await pilot.press("slash", *"~marked", "enter")
        await until(pilot, lambda: listed(app) == ["u-1", "u-3"], "those that are marked")
        await pilot.press("space")
        await until_shown(pilot, "1 marked")
        await app.workers.wait_for_complete()
    async with opened(wiring(store), SMALL) as (app, pilot):
        await until_shown(pilot, "1 marked")
        assert [entry.uuid for entry in app.instances.listing.entries if entry.marked] == ["u-3"]
        await pilot.press("asterisk")
        await until_shown(pilot, "3 marked")
        await pilot.press("asterisk")
        await until(pilot, lambda: "marked" not in squeezed(app), "no mark")


async def test_filters_are_kept_chosen_and_deleted(store: Store) -> None:
    async with opened(wiring(store), SMALL) as (app, pilot):
        await pilot.press("K")
        await until_shown(pilot, "There is no filter to keep")
        await pilot.press("slash", *"~domain [a]irl", "enter", "K")
        await until_shown(pilot, "Keep ~domain [a]irl under which name?")
        await pilot.press(*"my [/] one", "enter")
        await until_shown(pilot, "F chooses it")
        await pilot.press("escape")
        await until(pilot, lambda: len(listed(app)) == 3, "all rows")
        await pilot.press("F")
        await until_shown(pilot, "my [/] one")
        await until_shown(pilot, "policy broken")
        await pilot.press("enter")
        await until(pilot, lambda: listed(app) == ["u-3"], "what the filter finds")
        assert app.screen.query_one("#find", Input).value == "~domain [a]irl"
        await pilot.press("F")
        await until_shown(pilot, "d deletes one of yours")
        await pilot.press("d")
        await until_shown(pilot, "Delete the filter my [/] one?")
        await pilot.press("enter")
        await until_shown(pilot, "my [/] one")
        await pilot.press("d", "down", "enter")
        await until(pilot, lambda: "my [/] one" not in squeezed(app), "the filter to be deleted")
        await pilot.press("d")
        await until_shown(pilot, "only your own can be deleted")


async def test_a_choice_made_elsewhere_is_said_and_taken_away(store: Store) -> None:
    async with opened(wiring(store), WIDE) as (app, pilot):
        await pilot.press("slash", *"brew", "enter")
        await until(pilot, lambda: len(listed(app)) == 2, "those of the search")
        app.instances.show_only(frozenset({(3, "airline", "u-3")}), "hop pattern [API], run first: 1")
        await until_shown(pilot, "only hop pattern [API], run first: 1 (Esc shows all)")
        await until(pilot, lambda: listed(app) == ["u-3"], "the chosen rows alone")
        assert "showing 1 of 3 instances" in squeezed(app)
        await pilot.press("escape")
        await until(pilot, lambda: len(listed(app)) == 3, "all rows")


async def test_a_filter_that_cannot_be_read_is_not_left_in_silence(store: Store) -> None:
    async with opened(wiring(store)) as (app, pilot):
        await pilot.press("slash", *"~fail tool", "enter")
        await until_shown(pilot, "not applied: ")
        assert "the rows are those of before" in squeezed(app)
        assert app.instances.field.has_focus, "it can be written to its end"
        await pilot.press(*"_sequence", "enter")
        await until(pilot, lambda: not listed(app), "nothing, as nothing is scored")
        assert "not applied" not in squeezed(app)


async def test_the_row_under_the_cursor_stays_when_a_filter_is_taken_away(store: Store) -> None:
    async with opened(wiring(store), WIDE) as (app, pilot):
        await pilot.press("slash", *"~domain airline", "enter")
        await until(pilot, lambda: listed(app) == ["u-3"], "the row of the filter")
        await pilot.press("escape")
        await until(pilot, lambda: len(listed(app)) == 3, "all rows")
        assert app.instances.under_cursor == (3, "airline", "u-3")


async def test_the_rows_follow_what_becomes_known(store: Store) -> None:
    async with opened(wiring(store)) as (app, pilot):
        await pilot.press("slash", *"~fail tool_sequence", "enter")
        await until(pilot, lambda: not listed(app), "nothing, as nothing is scored")
        app.evaluate_entries(app.instances.listing.entries)
        await until(pilot, lambda: listed(app) == ["u-1"], "the instance that failed")
        await until_shown(pilot, "verdicts by the profile paper, judge offline")


async def test_rows_in_sight_are_read_first(store: Store) -> None:
    instances = [toy.instance(f"u-{number}", query=f"question {number}") for number in range(1200)]
    read: list[int] = []
    looked = threading.Event()

    class Watched(toy.ToyDataset):
        def load(self, ref: toy.Ref) -> Instance:
            if len(read) == 150:
                looked.wait()
            read.append(ref.position)
            return super().load(ref)

    made = toy.wiring(store=store, instances=instances, runs=[])
    made.dataset = Watched(instances)
    async with opened(made, SMALL) as (app, pilot):
        await pilot.press("end")
        looked.set()
        await until(pilot, lambda: all(entry.known for entry in app.instances.listing.entries), "all rows")
        assert read.index(1199) < read.index(1000), "the end of the list was looked at"
