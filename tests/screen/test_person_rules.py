"""A person rules gates in the debugger: marked, kept, taken back, and about nothing but what was shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import screen_toy as toy
from screen_opening import SMALL, opened
from screen_reading import debugger, squeezed, until, until_settled, until_shown
from textual.pilot import Pilot

from sessions.store import Store
from vakra_tui.app import VakraApp


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")


def again(store: Store) -> Store:
    return Store.open(f"sqlite:///{store.path}")


async def rule(pilot: Pilot[Any], outcome: str, reason: str) -> None:
    """Rule the gate that stands out, by keys."""
    await pilot.press("J")
    await until_shown(pilot, "Which gate do you rule?")
    await pilot.press("enter")
    await until_shown(pilot, "Your ruling on")
    await pilot.press("home", *(["down"] if outcome == "fail" else []), "enter")
    await until_shown(pilot, f"{outcome}?")
    await pilot.press(*reason, "enter")


def outcomes(app: VakraApp) -> dict[str, tuple[str, str | None]]:
    verdict = debugger(app).scene.verdict  # type: ignore[union-attr]
    assert verdict is not None
    return {stage.stage: (stage.outcome, stage.decided_by) for stage in verdict.stages}


async def test_a_ruling_overrides_is_marked_kept_and_taken_back(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        before = outcomes(app)
        assert before["tool_sequence"] == ("fail", "offline")
        await rule(pilot, "pass", "enough [/] for me")
        await until_shown(pilot, "tool sequence ✓ PASS (human)")
        await until_shown(pilot, "by human: enough [/] for me (overrides offline: fail")
        assert outcomes(app)["tool_sequence"] == ("pass", "human")
        assert outcomes(app)["final_response"][0] != "skipped"
        ((key, body),) = store.human_rulings("sha256:toy", "sha256:toy-run-gpt-oss-120b").items()
        assert key == ("u-1", "tool_sequence")
        assert body == {"outcome": "pass", "reason": "enough [/] for me"}
    async with opened(toy.wiring(instance="u-1", store=again(store))) as (app, pilot):
        await until_shown(pilot, "tool sequence ✓ PASS (human)")
        await pilot.press("J")
        await until_shown(pilot, "pass, by you")
        await pilot.press("home", "down", "enter")
        await until_shown(pilot, "take back")
        await pilot.press("end", "enter")
        await until(pilot, lambda: outcomes(app) == before, "the program's ruling")
        assert "(human)" not in squeezed(app)
    assert again(store).human_rulings("sha256:toy", "sha256:toy-run-gpt-oss-120b") == {}


async def test_a_ruling_counts_in_the_list_and_in_no_other_run(store: Store) -> None:
    runs = [toy.ToyRun("first", [toy.prediction()]), toy.ToyRun("second", [toy.prediction()])]
    async with opened(toy.wiring(instance="u-1", store=store, runs=runs)) as (_, pilot):
        await rule(pilot, "pass", "")
        await until_shown(pilot, "by human: no reason given")
    async with opened(toy.wiring(store=again(store), runs=runs)) as (app, pilot):
        await pilot.press("V")
        await until(pilot, lambda: len(app.instances.listing.entries[0].verdicts) == 2, "both verdicts")
        verdicts = app.instances.listing.entries[0].verdicts
        decided = {run: verdict.stages[1].decided_by for run, verdict in verdicts.items()}
        assert decided == {"first": "human", "second": "offline"}


async def test_a_ruling_on_a_branch_is_none_on_the_run(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("b", "a", *"Denver", "enter")
        await until_shown(pilot, "branch fork 3a")
        await pilot.press("J")
        await until_shown(pilot, "There is no verdict of what is shown")
        await pilot.press("v")
        await until_shown(pilot, "hop 3 (get_locations) needs")
        await until_settled(pilot)
        await rule(pilot, "pass", "guessed right")
        await until_shown(pilot, "by human: guessed right")
        assert store.human_rulings("sha256:toy", "sha256:toy-run-gpt-oss-120b") == {}
        await pilot.press("B", "home", "enter")
        await until_shown(pilot, "step 4: final answer")
        assert "(human)" not in squeezed(app)
    async with opened(toy.wiring(instance="u-1", store=again(store))) as (_, pilot):
        await until_shown(pilot, "by human: guessed right")


async def test_nothing_is_ruled_without_a_verdict_and_without_a_store(tmp_path: Path) -> None:
    async with opened(toy.wiring(instance="u-1", store=Store.open("sqlite://"), runs=[])) as (_, pilot):
        await pilot.press("J")
        await until_shown(pilot, "There is no verdict of what is shown")
    path = tmp_path / "kept.sqlite"
    Store.open(f"sqlite:///{path}").close()
    reading = Store.open(f"sqlite:///{path}", read_only=True)
    async with opened(toy.wiring(instance="u-1", store=reading), SMALL) as (app, pilot):
        await rule(pilot, "pass", "kept nowhere")
        await until_shown(pilot, "That did not work")
        assert outcomes(app)["tool_sequence"] == ("fail", "offline")
