"""Twelve pictures of the screen, kept as SVG: what nobody meant to change looks as it did.

A picture that changed on purpose is drawn again with ``VAKRA_TUI_SNAPSHOTS=write``
and looked at (``scripts/screenshots.py`` turns SVG into PNG). They hold for the versions in ``constraints.txt``.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from screen_reading import until, until_settled, until_shown
from screen_tour import Idle, Tour

import sessions.calling
import sessions.store.writing
import toolenv.native.composed
import toolenv.native.session
import vakra_tui.state.session_list
from vakra_tui.app import VakraApp
from vakra_tui.options import Options
from vakra_tui.screens.instances import InstancesScreen
from vakra_tui.wiring import Wiring

FOLDER = Path(__file__).parent / "snapshots"
VARIABLE = "VAKRA_TUI_SNAPSHOTS"
QUERY = "On which day was the craft launched"
"""Of the sample: its policy asks for documents first, and the ``flawed`` run begins with an API."""

MISSIONS = Options(domains=("missions",), capabilities=(4,), runs=("flawed", "oracle"))


@dataclass(frozen=True)
class Picture:
    """``keys`` are pressed one after the other, in the list (``listed``) or in the debugger; then ``shows`` is read."""

    name: str
    shows: str
    listed: bool = False
    size: tuple[int, int] = (120, 36)
    keys: tuple[str, ...] = ()


PICTURES = (
    Picture("debugger-160x45", "WATERFALL", size=(160, 45)),
    Picture("debugger-120x36", "WATERFALL"),
    Picture("debugger-80x24", "WATERFALL", size=(80, 24), keys=("2",)),
    Picture("instances-120x36", "scored passed", listed=True),
    Picture("instances-80x24", "scored passed", listed=True, size=(80, 24)),
    Picture("compare", "oracle", keys=("C",)),
    Picture("scores", "flawed", listed=True, keys=("S",)),
    Picture("tools", "on offer", keys=("n",)),
    Picture("call", "Run as step", keys=("e",)),
    Picture("sessions", "merely looked at", keys=("m", "escape", "up", "enter", "escape", "L", "a")),
    Picture("help", "keys and signs", keys=("question_mark",)),
    Picture("no-agent", "No agent is named", keys=("N",)),
)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the sample is built, once for all pictures."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def nothing_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools take no time, for how long a call took is shown from a millisecond on; sessions have known names, times."""
    for module in (sessions.calling, toolenv.native.session, toolenv.native.composed):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: 0.0))
    numbers = count(1)
    monkeypatch.setattr(sessions.store.writing, "new_key", lambda: f"session{next(numbers):03}")
    monkeypatch.setattr(vakra_tui.state.session_list, "when_words", lambda seconds, brief: "2026-01-02 03:04")


async def drawn(picture: Picture, monkeypatch: pytest.MonkeyPatch) -> str:
    """The SVG of a picture, from a fresh start."""
    app = VakraApp(Wiring(replace(MISSIONS, db="sqlite://")))
    app.world.memory.keep_hint_seen()
    idle = Idle(monkeypatch)
    async with app.run_test(size=picture.size) as pilot:

        async def each(name: str) -> None:
            return None

        tour = Tour(app, pilot, idle, each=each)
        await until(pilot, lambda: app.opened and isinstance(app.screen, InstancesScreen), "the list")
        await tour.settle()
        if picture.listed:
            await tour.press("V", "evaluate all")
        else:
            app.open_entry(next(e for e in app.instances.listing.entries if QUERY in (e.query or "")))
            await until_settled(pilot)
        await tour.settle()
        for key in picture.keys:
            await tour.press(key, key)
        await until_shown(pilot, picture.shows)
        await tour.settle()
        return plain_names(app.export_screenshot(title="vakra-tui"))


def plain_names(svg: str) -> str:
    """The SVG with names that do not depend on its content, so that a change is seen where it is."""
    found = re.search(r"terminal-\d+", svg)
    return svg.replace(found.group(), "terminal") if found else svg


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
async def test_it_looks_as_it_did(
    picture: Picture, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    svg = await drawn(picture, monkeypatch)
    kept = FOLDER / f"{picture.name}.svg"
    if os.environ.get(VARIABLE) == "write":
        FOLDER.mkdir(exist_ok=True)
        kept.write_text(svg, encoding="utf-8")
    if svg != kept.read_text(encoding="utf-8"):
        other = tmp_path / kept.name
        other.write_text(svg, encoding="utf-8")
        pytest.fail(f"{other} differs from {kept}; {VARIABLE}=write keeps the new one")


def test_there_are_at_most_twelve() -> None:
    assert {path.stem for path in FOLDER.glob("*.svg")} == {picture.name for picture in PICTURES}
    assert len(PICTURES) <= 12
