"""Every screen with hostile data in terminals of every size: rows as wide as the terminal, and the way back open."""

from __future__ import annotations

from pathlib import Path

import pytest
from screen_reading import rows, until, until_settled
from test_hostile_screen import check
from test_hostile_tour import hostile_world
from textual.pilot import Pilot

from vakra_tui.app import VakraApp

SIZES = ((200, 60), (20, 5), (1, 1), (80, 24))

OPENED_BY = {
    "DebuggerScreen": (),
    "InstancesScreen": ("escape",),
    "ScoresScreen": ("S",),
    "SessionsScreen": ("escape", "L"),
    "CompareScreen": ("C",),
    "ToolsScreen": ("n",),
    "VerdictScreen": ("I",),
    "AskScreen": ("f",),
    "CommandPalette": ("colon",),
}


async def resized(app: VakraApp, pilot: Pilot[int], width: int, height: int) -> None:
    await pilot.resize_terminal(width, height)
    await until(pilot, lambda: app.size == (width, height) and len(rows(app)) == height, f"{width} by {height}")
    await pilot.pause()


@pytest.mark.parametrize("name", OPENED_BY)
async def test_a_screen_outlives_every_size(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    app = VakraApp(hostile_world(tmp_path))  # type: ignore[arg-type]
    async with app.run_test(size=(120, 36), notifications=True, tooltips=True) as pilot:
        await until(pilot, lambda: app.opened, "the list")
        app.open_entry(app.instances.listing.entries[0])
        await until_settled(pilot)
        for key in OPENED_BY[name]:
            await pilot.press(key)
            await pilot.pause()
        await until(pilot, lambda: type(app.screen).__name__ == name, name)
        for width, height in SIZES:
            await resized(app, pilot, width, height)
            check(app)
            # The palette is the screen library's; its list knows no pages in a terminal that has no room for it.
            for key in ("down", "tab", "end", "home", *(("pagedown",) if name != "CommandPalette" else ())):
                await pilot.press(key)
            check(app)
        app.toast("[/][null] \x1b[2J" * 40)
        app.report("[/][null] \x1b[2J" * 400, title="[/]\x1b" * 40)
        for width, height in SIZES:
            await resized(app, pilot, width, height)
            check(app)
        await pilot.press("escape")
        await until(pilot, lambda: type(app.screen).__name__ == name, "the dialog to go")
