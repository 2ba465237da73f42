"""Pastes of every size and kind into fields: nothing stalls, escapes or is lost without a word."""

from __future__ import annotations

from pathlib import Path

import pytest
import screen_toy as toy
from screen_opening import opened
from screen_reading import shown, squeezed, until, until_shown
from test_screen_text import is_clean
from textual import events
from textual.pilot import Pilot

from sessions.store import Store
from vakra_tui.app import VakraApp
from vakra_tui.pasting import LONGEST


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")


async def paste(app: VakraApp, pilot: Pilot[int], text: str) -> str:
    """Paste as a terminal does; the text of the field then."""
    app.post_message(events.Paste(text))
    await pilot.pause()
    await until(pilot, lambda: app._way is None, "the paste")
    return str(getattr(app.focused, "value", ""))


FIELDS = {
    "slash": "Search in",
    "a": "The final answer",
    "f": "Flag the ground truth",
    "n": "tools on offer",
    "colon": "",
}


@pytest.mark.parametrize("key", FIELDS)
async def test_what_is_too_long_for_a_field_is_refused_in_words(store: Store, key: str) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press(key)
        await until_shown(pilot, FIELDS[key])
        before = str(getattr(app.focused, "value", ""))
        assert await paste(app, pilot, "\x1b[31m\u6f22 " * 200_000) == before
        assert "Nothing was pasted: 1,400,000 characters" in next(iter(app._notifications)).message


@pytest.mark.parametrize("key", FIELDS)
async def test_nothing_that_is_pasted_reaches_the_terminal(store: Store, key: str) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press(key)
        await until_shown(pilot, FIELDS[key])
        value = await paste(app, pilot, "\x1b[2J\x07\x9b31m\u202e[/][null] x\ny\n")
        assert "[/][null]" in value and is_clean(value)
        await pilot.press("home")
        assert "\u241b[2J" in squeezed(app)
        assert all(is_clean(row) for row in shown(app).splitlines())


async def test_all_lines_of_a_paste_are_taken_where_the_cursor_is(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, "The final answer")
        await pilot.press("ctrl+u", *"ab", "left")
        value = await paste(app, pilot, "one\r\ntwo\rthree\n\n")
        assert value == "aone\u240atwo\u240athreeb"
        await pilot.press("X")
        assert app.focused.value == "aone\u240atwo\u240athreeXb"  # type: ignore[union-attr]
        assert app.focused.meant == "aone\ntwo\nthreeXb"  # type: ignore[union-attr]


async def test_a_paste_as_long_as_allowed_is_taken_whole(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("a")
        await until_shown(pilot, "The final answer")
        await pilot.press("ctrl+u")
        assert await paste(app, pilot, "w" * LONGEST) == "w" * LONGEST
