"""Opening and leaving screens is several short callbacks: turns between messages, styles known, styles dimmed once."""

from __future__ import annotations

import asyncio
import gc
import weakref
from pathlib import Path
from typing import Any

import pytest
import screen_toy as toy
from rich.segment import Segment
from rich.style import Style
from screen_opening import SMALL, opened
from screen_reading import shown, until
from textual import events
from textual._styles_cache import StylesCache
from textual.color import Color
from textual.css.stylesheet import Stylesheet
from textual.message import Message
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import Screen
from textual.strip import Strip

import vakra_tui.screens
from sessions.store import Store
from vakra_tui.screens.message import MessageScreen
from vakra_tui.widgets import acyclic, dimmed, turns
from vakra_tui.widgets.turns import InTurns

FOLDER = Path(vakra_tui.screens.__file__).parent


class Ticks:
    """Counts the turns of the running event loop."""

    def __init__(self) -> None:
        self.number = 0
        self.going = True
        asyncio.get_running_loop().call_soon(self._tick)

    def _tick(self) -> None:
        self.number += 1
        if self.going:
            asyncio.get_running_loop().call_soon(self._tick)


async def test_others_have_a_turn_after_each_long_message_of_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Screen[Any], type[Message], int]] = []
    dispatch = InTurns._dispatch_message

    async def noted(pump: InTurns, message: Message) -> None:
        if isinstance(pump, Screen):
            seen.append((pump, type(message), ticks.number))
        await dispatch(pump, message)

    async with opened(toy.wiring(instance="u-1", store=Store.open("sqlite://")), SMALL) as (app, pilot):
        monkeypatch.setattr(turns, "LONG_S", -1.0)  # every message counts as long
        monkeypatch.setattr(InTurns, "_dispatch_message", noted)
        ticks = Ticks()
        dialog = MessageScreen("A title", "a text")
        app.push_screen(dialog)
        await pilot.pause()
        own = [(kind, tick) for screen, kind, tick in seen if screen is dialog]
        ticks.going = False
        assert "a text" in shown(app)
    assert {events.Mount, events.ScreenResume, events.Resize} <= {kind for kind, _ in own}
    assert len({tick for _, tick in own}) == len(own)


def test_every_screen_works_in_turns() -> None:
    import importlib

    for path in FOLDER.glob("*.py"):
        module = importlib.import_module(f"vakra_tui.screens.{path.stem}")
        for one in vars(module).values():
            if isinstance(one, type) and issubclass(one, Screen) and one.__module__.startswith("vakra_tui"):
                assert issubclass(one, InTurns), one


async def test_no_styles_are_parsed_when_a_screen_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    reparse = Stylesheet.reparse

    def noted(stylesheet: Stylesheet) -> None:
        parsed.append("all")
        reparse(stylesheet)

    async with opened(toy.wiring(instance="u-1", store=Store.open("sqlite://")), SMALL) as (app, pilot):
        assert [path for path in FOLDER.glob("*.tcss") if not app.stylesheet.has_source(str(path))] == []
        monkeypatch.setattr(Stylesheet, "reparse", noted)
        for key in ("question_mark", "g", "p", "n"):
            base = app.screen
            await pilot.press(key)
            await until(pilot, lambda base=base: app.screen is not base, key)  # type: ignore[misc]
            await pilot.press("escape")
            await until(pilot, lambda base=base: app.screen is base, "back")  # type: ignore[misc]
    assert parsed == []


def test_dimming_is_the_library_s_and_works_out_a_style_once() -> None:
    dimmed._dimmed.cache_clear()
    styles = [
        None,
        Style(),
        Style.parse("bold #ff0000 on #102030"),
        Style.parse("#00ff00"),
        Style(meta={"@click": "x"}),
    ]
    segments = [Segment(f"word {number}", styles[number % len(styles)]) for number in range(50)]
    for colour in (Color(10, 20, 30, 0.6), Color(0, 0, 0, 0)):
        made = list(dimmed.Dimmed.process_segments(segments, colour))
        assert made == list(BackgroundScreen.process_segments(segments, colour))
    assert dimmed._dimmed.cache_info().misses == 2 * len(styles)


class Watched(Strip):
    """A strip of which can be told whether it is still there."""

    __slots__ = ("__weakref__",)


def test_a_strip_that_is_not_cut_does_not_keep_itself() -> None:
    acyclic.free_strips_at_once()
    acyclic.free_strips_at_once()
    gc.disable()
    try:
        strip = Watched([Segment("a row")], 5)
        gone = weakref.ref(strip)
        assert list(strip.divide([5])) == [strip]
        assert strip.crop(0, 5) is strip
        assert strip.crop_extend(0, 5, None) is strip
        assert strip.adjust_cell_length(5) is strip
        assert [each.text for each in strip.divide([2, 5])] == ["a ", "row"]
        assert strip.crop(0, 2) is strip.crop(0, 2)
        del strip
        assert gone() is None
    finally:
        gc.enable()


def test_a_strip_of_a_version_without_such_caches_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acyclic, "CUTTING", {"join": "_no_such_cache", "no_such_method": "_crop_cache"})
    joined = Strip.join
    acyclic.free_strips_at_once()
    assert Strip.join == joined
    assert not hasattr(Strip, "no_such_method")


def test_the_rows_of_a_widget_are_kept_by_no_table_of_colours() -> None:
    acyclic.free_strips_at_once()
    acyclic.free_strips_at_once()
    colours = Color(1, 2, 3), Color(40, 50, 60, 0.5)
    rows, others = StylesCache(), StylesCache()
    gone = weakref.ref(rows)
    inner, outer = rows.get_inner_outer(*colours)
    assert (inner.background, outer.background) == (colours[0] + colours[1], colours[0])
    assert others.get_inner_outer(*colours)[0] is inner  # worked out once
    del rows
    assert gone() is None
