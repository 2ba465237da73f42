"""What a row of the list knows of verdicts, and which rows an evaluation is still to score."""

from __future__ import annotations

from typing import Any

import pytest
import screen_toy as toy
from screen_opening import opened
from screen_reading import until, until_shown

from eval.waterfall import unscored
from sessions.store import Flag, Store
from toolenv.errors import EnvironmentFailure
from vakra_tui.state.entry import Entry
from vakra_tui.state.keeping import FLAG_KIND
from vakra_tui.state.world import World

NAMED = ("u-1", 4, "beer_factory")


class Down(toy.ToyEnvironment):
    """Cannot be reached until it is ``up``."""

    up = False

    async def pause(self) -> None:
        if not self.up:
            raise EnvironmentFailure("the server is down")


def test_a_row_is_to_be_scored_where_something_failed_around_it() -> None:
    entry = Entry(*NAMED, instance=object(), predictions={"r": object()})
    assert entry.waits_for("r")
    for reason, again in (("environment", True), ("judge", True), ("no ground truth", False), ("not recorded", False)):
        entry.learn("r", unscored(*NAMED, reason, "why"))  # type: ignore[arg-type]
        assert entry.waits_for("r") is again, reason
    extra = Entry(*NAMED, predictions={"r": object()})
    assert extra.waits_for("r") and not extra.waits_for("other")


def test_verdicts_are_replaced_while_others_go_through_them() -> None:
    entry = Entry(*NAMED, instance=object())
    verdict = unscored(*NAMED, "judge", "why")
    entry.learn("a", verdict, kept=True)
    going, kept = iter(entry.verdicts.items()), entry.kept
    entry.learn("b", verdict)
    entry.unlearn("a")
    assert list(going) == [("a", verdict)] and kept == {"a"}
    assert dict(entry.verdicts) == {"b": verdict} and not entry.kept
    entry.learn("b", verdict, kept=True)
    entry.learn("b", verdict)
    assert not entry.kept, "what is scored here was not read from the store"


def test_a_row_whose_record_changed_says_nothing_of_the_former_one() -> None:
    entry = Entry(*NAMED, query="q", turns=3, policy=True, policy_kind="no_documents", applies="applies", slices={})
    entry.forget()
    assert entry == Entry(*NAMED)


@pytest.mark.asyncio
async def test_a_row_is_scored_once_the_environment_is_back() -> None:
    environment = Down(toy.ANSWERS)
    async with opened(toy.wiring(environment=environment, store=Store.open("sqlite://"))) as (app, pilot):
        (entry,) = app.world.listing.entries
        await pilot.press("v")
        await until(pilot, lambda: bool(entry.verdicts), "a verdict")
        (verdict,) = entry.verdicts.values()
        assert (verdict.status, verdict.reason) == ("unscored", "environment")
        environment.up = True
        await pilot.press("S")
        await until_shown(pilot, "could not be scored")
        await pilot.press("v")
        await until(pilot, lambda: all(each.status == "scored" for each in entry.verdicts.values()), "another verdict")
        await pilot.press("v")
        await until_shown(pilot, "All that can be scored is scored.")


@pytest.mark.asyncio
async def test_the_last_verdicts_are_kept_before_the_program_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    from vakra_tui import kept

    monkeypatch.setattr(kept, "KEPT_EVERY_S", 0.01)
    flushed: list[str] = []
    wiring: Any = toy.wiring(store=Store.open("sqlite://"))
    monkeypatch.setattr(wiring.kept, "flush", lambda: flushed.append("flushed"))
    async with opened(wiring) as (_, pilot):
        await pilot.press("v")
        await until(pilot, lambda: bool(flushed), "the verdicts to be kept")


@pytest.mark.asyncio
async def test_a_flag_that_is_set_early_hides_no_other() -> None:
    store = Store.open("sqlite://")
    store.put_flag(Flag(dataset="sha256:toy", uuid="u-2", kind=FLAG_KIND, text="wrong"))
    world: Any = World(toy.wiring(store=store))  # type: ignore[arg-type]
    world.open()
    await world.keep_flag("u-1", "odd")
    await world.read_flags()
    assert (world.flag_of("u-1"), world.flag_of("u-2")) == ("odd", "wrong")
    await world.close()


@pytest.mark.asyncio
async def test_rulings_that_cannot_be_read_are_told_and_read_again_later() -> None:
    store = Store.open("sqlite://")
    store.put_human_ruling("sha256:toy", "run", "u-1", "grounded", {"outcome": "perhaps"})
    world: Any = World(toy.wiring(store=store))  # type: ignore[arg-type]
    world.open()
    assert await world.rulings.about("run") == {}
    assert "Your rulings cannot be read" in " ".join(world.problems)
    store.put_human_ruling("sha256:toy", "run", "u-1", "grounded", {"outcome": "pass", "reason": "it is there"})
    assert [ruling.outcome for ruling in (await world.rulings.about("run")).values()] == ["pass"]
    await world.close()
