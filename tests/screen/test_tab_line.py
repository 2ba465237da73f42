"""The line of tabs: names are whole, or say that they are cut; the chosen one is always in view."""

from __future__ import annotations

from pathlib import Path

import pytest
import screen_toy as toy
from screen_opening import opened
from screen_reading import debugger, rows

from sessions.store import Store
from vakra_tui.widgets.tab_line import TabLine


@pytest.mark.parametrize("size", [(160, 45), (120, 36), (100, 30), (80, 24)])
async def test_the_chosen_tab_is_read_whole_and_cut_names_say_so(tmp_path: Path, size: tuple[int, int]) -> None:
    wiring = toy.wiring(instance="u-1", store=Store.open(f"sqlite:///{tmp_path / 's.sqlite'}"))
    async with opened(wiring, size=size) as (app, pilot):
        await pilot.press("2")
        tabs = debugger(app).query_one("#step-tabs", TabLine)
        for _ in tabs.names:
            await pilot.press("t")
            await pilot.pause()
            seen = rows(app)[tabs.region.y][tabs.region.x : tabs.region.right]
            assert f"[{tabs.chosen}]" in seen
            for name, shown in zip(tabs.names, tabs.shown_names(), strict=True):
                assert shown == name or shown.endswith("\u2026")
            assert seen[tabs.start_of(tabs.chosen) :].startswith(f"[{tabs.chosen}]")
