"""Screens are told of sizes and of what was put off before their parts are made and after they are gone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import screen_toy as toy
from screen_reading import until, until_settled
from textual import events
from textual.app import ComposeResult
from textual.geometry import Size
from textual.widgets import Static

from sessions.store import Store
from vakra_tui.app import VakraApp
from vakra_tui.screens.message import MessageScreen
from vakra_tui.screens.sessions import SessionsScreen
from vakra_tui.widgets.turns import ModalScreen


@pytest.fixture
def app(tmp_path: Path) -> VakraApp:
    made = VakraApp(toy.wiring(store=Store.open(f"sqlite:///{tmp_path / 's.sqlite'}")))  # type: ignore[arg-type]
    made.tells_own_errors = True
    return made


@pytest.mark.parametrize("kind", [SessionsScreen, lambda: MessageScreen("title", "text")], ids=["sessions", "message"])
async def test_what_comes_too_early_or_too_late_ends_nothing(app: VakraApp, kind: type[SessionsScreen]) -> None:
    size = Size(100, 30)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.opened, "the list")
        screen = kind()
        pushed = app.push_screen(screen)
        draw = getattr(screen, "draw", lambda: screen.query_one("#message"))
        screen.post_message(events.Resize(size, size))
        screen.call_after_refresh(draw)
        await pushed
        await pilot.pause()
        popped = app.pop_screen()
        screen.post_message(events.Resize(size, size))
        screen.call_after_refresh(draw)
        await popped
        app.push_screen(kind())
        app.exit(return_code=0)
    assert app.return_code == 0
    assert not app.memory.crash_log.exists()


async def test_a_part_that_is_looked_for_in_vain_is_still_an_error(app: VakraApp) -> None:
    class Wrong(ModalScreen[None]):
        def compose(self) -> ComposeResult:
            yield Static("text")

        def on_key(self) -> None:
            self.query_one("#no-such-part")

    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.opened, "the list")
        await app.push_screen(Wrong())
        app.screen.post_message(events.Key("x", "x"))
        while app.return_code is None:  # noqa: ASYNC110 - a pilot's pause waits for screens, which end here
            await asyncio.sleep(0)
    assert app.memory.crash_log.exists()
    assert app.return_code == 2


async def test_a_scene_that_comes_after_the_debugger_was_left_ends_nothing(app: VakraApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.opened, "the list")
        await pilot.press("enter")
        screen = await until_settled(pilot)
        await screen.remove_children()
        assert screen.scene is not None
        screen._take(screen.scene)
        await app.pop_screen()
    assert not app.memory.crash_log.exists()
