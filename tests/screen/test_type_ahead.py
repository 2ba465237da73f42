"""Keys that arrive in one burst: each goes where the key before it led, and none is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
import screen_toy as toy
from screen_opening import opened
from screen_reading import squeezed, until, until_settled
from textual import events
from textual.widgets import Input

from sessions.store import Store
from vakra_tui.app import VakraApp
from vakra_tui.screens.debugger import DebuggerScreen
from vakra_tui.screens.instances import InstancesScreen


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")


def wiring(store: Store) -> toy.ToyWiring:
    instances = [
        toy.instance("u-1", query="Which brewer sells most?"),
        toy.instance("u-2", policy="", query="What is brewed here?"),
        toy.instance("u-3", capability=3, domain="airline", policy="", query="Who flies?"),
    ]
    return toy.wiring(store=store, instances=instances, runs=[toy.ToyRun("first", [toy.prediction("u-1")])])


def burst(app: VakraApp, *keys: str) -> None:
    """All keys at once, as a terminal hands over what was typed while the program was busy."""
    for key in keys:
        app.post_message(events.Key(key, key if len(key) == 1 else {"slash": "/", "space": " "}.get(key)))


def listed(app: VakraApp) -> list[str]:
    return [entry.uuid for entry in app.instances.listing.shown]


async def test_a_word_typed_right_behind_the_key_of_the_search_line(store: Store) -> None:
    async with opened(wiring(store)) as (app, pilot):
        burst(app, "slash", *"vsd", "backspace", "backspace", "backspace", *"flies", "enter")
        await until(pilot, lambda: listed(app) == ["u-3"], "the row with the word")
        await until(pilot, lambda: app.focused is app.instances.rows, "the keyboard in the rows")
        assert app.instances.query_one("#find", Input).value == "flies"
        assert not app.evaluating, "no letter of the word was taken for a command"


async def test_what_is_pasted_behind_it_keeps_its_turn(store: Store) -> None:
    async with opened(wiring(store)) as (app, pilot):
        burst(app, "slash", "w")
        app.post_message(events.Paste("ho fl"))
        burst(app, *"ies")
        await until(pilot, lambda: app.instances.query_one("#find", Input).value == "who flies", "all in their order")


async def test_through_screens_that_open_and_close(store: Store) -> None:
    async with opened(wiring(store)) as (app, pilot):
        burst(app, "question_mark", "escape", "slash", *"flies", "enter", "enter")
        await until(pilot, lambda: isinstance(app.screen, DebuggerScreen), "the debugger of the row that was found")
        await until_settled(pilot)
        assert isinstance(app.screen, DebuggerScreen) and app.screen.session.entry is not None
        assert app.screen.session.entry.uuid == "u-3"
        burst(app, "escape", "escape", "slash", *"brewer", "enter")
        await until(pilot, lambda: isinstance(app.screen, InstancesScreen) and listed(app) == ["u-1"], "the other row")


async def test_a_number_typed_into_a_dialog_and_keys_behind_its_end(store: Store) -> None:
    async with opened(toy.wiring(store=store, instance="u-1")) as (app, pilot):
        burst(app, "g", "1", "enter", "s", "s")
        await until(pilot, lambda: "step 3: get_city" in squeezed(app), "two steps behind the first")


async def test_a_key_whose_widget_goes_down_does_not_hold_up_the_next(store: Store) -> None:
    async with opened(wiring(store)) as (app, pilot):
        taken: list[str] = []

        class Going(Input):
            async def _on_key(self, event: events.Key) -> None:
                event.stop()
                taken.append(event.key)
                await self.remove()

        field = Going()
        await app.screen.mount(field)
        field.focus()
        await pilot.pause()
        burst(app, "a", "question_mark")
        await until(pilot, lambda: app.screen.__class__.__name__ == "HelpScreen", "the help")
        assert taken == ["a"]
