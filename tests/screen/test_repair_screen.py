"""Repair search from the debugger: what would have saved the trajectory, opened as a branch."""

from __future__ import annotations

from pathlib import Path

import screen_toy as toy
from screen_opening import opened
from screen_reading import debugger, shown, until_settled, until_shown

from sessions.store import Store


async def test_a_repair_is_found_opened_and_passes(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")
    wiring = toy.wiring(instance="u-1", store=store, instances=[toy.instance(policy="")])
    async with opened(wiring) as (app, pilot):
        await pilot.press("r")
        await until_shown(pilot, "Repair search:")
        await pilot.press("enter")
        await until_shown(pilot, "branch repair")
        await until_shown(pilot, "tool sequence ✓ PASS")
        await until_settled(pilot)
        verdict = debugger(app).scene.verdict  # type: ignore[union-attr]
        assert verdict is not None
        assert verdict.passed
        by = [row.actor for row in debugger(app).scene.rows]  # type: ignore[union-attr]
        assert by == ["recording", "recording", "ground_truth", by[-1]]
        assert by[-1] in ("recording", "ground_truth")
        assert by[-1] == "recording" or "replays its old calls" not in shown(app)


async def test_what_cannot_be_searched_is_told(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")
    async with opened(toy.wiring(instance="u-1", store=store, runs=[])) as (_, pilot):
        await pilot.press("r")
        await until_shown(pilot, "run it to its end first")
