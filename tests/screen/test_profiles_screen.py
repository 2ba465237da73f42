"""Verdicts of a batch in the list without scoring again, and what the screen says under another profile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from screen_reading import squeezed, until, until_settled, until_shown

from eval.paper import PaperProfile
from eval.vakra import VakraProfile
from sessions.store import Store
from vakra_tui.app import VakraApp
from vakra_tui.options import Options
from vakra_tui.state.world import World
from vakra_tui.wiring import Wiring

DOMAIN = "missions"


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'kept.sqlite'}"


def options(address: str, **changes: Any) -> Options:
    return Options(**{"runs": ("flawed",), "domains": (DOMAIN,), "capabilities": (4,), "db": address, **changes})


def batch(address: str, *more: str) -> None:
    command = [sys.executable, "-m", "vakra_tui", "--batch", "--run", "flawed", "--domain", DOMAIN, "--capability", "4"]
    done = subprocess.run([*command, "--db", address, "--quiet", *more], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("profile", ["paper", "vakra"])
async def test_a_batch_is_in_the_list_and_nothing_is_scored_again(
    profile: Any, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch(address, "--profile", profile)
    asked: list[str] = []
    for kind in (PaperProfile, VakraProfile):
        monkeypatch.setattr(kind, "score", lambda *given: asked.append("score"))
    world = World(Wiring(options(address, profile=profile)))
    listing = world.open()
    await world.read_verdicts()
    assert len(listing.entries) > 3
    assert all("flawed" in entry.verdicts for entry in listing.entries)
    for entry in listing.entries:
        await world.evaluate(entry)
    assert asked == []
    assert ("verdicts by the profile vakra" in listing.counts()) == (profile == "vakra")
    await world.close()


async def test_the_sample_without_a_run_takes_up_what_a_batch_stored(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch(address, "--run", "explorer", "--run", "oracle")
    asked: list[str] = []
    monkeypatch.setattr(PaperProfile, "score", lambda *given: asked.append("score"))
    world = World(Wiring(options(address, runs=())))
    listing = world.open()
    await world.read_verdicts()
    assert set(listing.runs) == {"flawed", "explorer", "oracle"}
    assert all(set(entry.verdicts) == entry.kept == set(listing.runs) for entry in listing.entries)
    for entry in listing.entries:
        await world.evaluate(entry)
    assert asked == []
    kept = 3 * len(listing.entries)
    assert (
        f"verdicts by the profile paper, judge offline \u00b7 {kept} verdicts read from the store" in listing.counts()
    )
    await world.close()


async def test_what_the_screen_scores_is_kept_as_a_batch_keeps_it(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(Wiring(options(address)))
    for entry in world.open().entries:
        await world.evaluate(entry)
    await world.close()
    report, resumed = tmp_path / "report.json", tmp_path / "resumed.json"
    batch(address, "--resume", "--out", str(resumed))
    batch(f"sqlite:///{tmp_path / 'fresh.sqlite'}", "--out", str(report))
    assert resumed.read_bytes() == report.read_bytes()
    asked: list[str] = []
    monkeypatch.setattr(PaperProfile, "score", lambda *given: asked.append("score"))
    world = World(Wiring(options(address)))
    listing = world.open()
    await world.read_verdicts()
    for entry in listing.entries:
        await world.evaluate(entry)
    assert asked == []
    assert all(entry.kept == {"flawed"} for entry in listing.entries)
    await world.close()


async def test_other_settings_and_later_rulings_are_not_taken_for_it(address: str) -> None:
    batch(address)
    for other in ({"profile": "vakra"}, {"judge": "none"}, {"runs": ("oracle",)}):
        world = World(Wiring(options(address, **other)))
        listing = world.open()
        await world.read_verdicts()
        assert not any(entry.verdicts for entry in listing.entries), other
        said = "flawed by profile paper, judge offline, environment native"
        assert (said in listing.others_words()) == ("runs" not in other)
        await world.close()
    world = World(Wiring(options(address)))
    listing = world.open()
    ruled = listing.entries[0].uuid
    store = Store.open(address)
    fingerprints = world.dataset_fingerprint, world.run_fingerprint("flawed")
    store.put_human_ruling(*fingerprints, ruled, "policy", {"outcome": "fail", "reason": "so it is"})
    await world.read_verdicts()
    assert [entry.uuid for entry in listing.entries if not entry.verdicts] == [ruled]
    await world.evaluate(listing.entries[0])
    assert listing.entries[0].verdicts["flawed"].stages[0].decided_by == "human"
    store.close()
    await world.close()


async def test_the_strip_says_which_profile_it_shows(address: str) -> None:
    app = VakraApp(Wiring(options(address, profile="vakra")))
    async with app.run_test(size=(160, 45)) as pilot:
        await until(pilot, lambda: app.opened and app.screen is app.instances, "the list")
        await until_shown(pilot, "verdicts by the profile vakra")
        await pilot.press("enter")
        await until_settled(pilot)
        # The sample is evaluated by itself, so that the profile's own verdict may be there already.
        await until_shown(pilot, "this strip shows the profile paper; of the recording vakra says:")
        paper = app.screen.scene.verdict  # type: ignore[attr-defined]
        await pilot.press("escape")
        entries = app.instances.listing.entries
        await until(pilot, lambda: all(entry.verdicts for entry in entries), "all of the domain")
        assert entries[0].verdicts["flawed"] != paper
        await pilot.press("enter")
        await until_settled(pilot)
        assert "not scored yet" not in squeezed(app)


async def test_a_comparison_shows_the_verdicts_of_the_profile_in_use(address: str) -> None:
    app = VakraApp(Wiring(options(address, profile="vakra", runs=("flawed", "oracle"))))
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.opened and app.screen is app.instances, "the list")
        entries = app.instances.listing.entries
        await until(pilot, lambda: all(len(entry.verdicts) == 2 for entry in entries), "all verdicts")
        await pilot.press("C")
        await until_shown(pilot, "gates, profile vakra")
        found = app.screen.found  # type: ignore[attr-defined]
        row = entries[0]
        assert found.profile == "vakra"
        assert found.verdict_of(found.left) == row.verdicts["flawed"]
        assert found.verdict_of(found.right) == row.verdicts["oracle"]
        await pilot.press("x")
        await until(pilot, lambda: app.screen.found.left.name == "oracle", "the sides exchanged")  # type: ignore[attr-defined]
        assert "gates, profile vakra" in squeezed(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.instances, "the list")
        del row.verdicts["oracle"]
        await pilot.press("C")
        await until_shown(pilot, "gates, profile paper")
        await until_shown(pilot, "verdicts by the profile paper: vakra has none of oracle (v in the list scores a run")
