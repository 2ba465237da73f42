"""How long the screen's event loop is held up while every command is run against slow parts; used by ``tui.py``.

The walk, the slow parts and the probe are those of the tests. The probe's times on the clock are what a person feels
only on a machine with nothing else to do; the processor time beside each says what the callback itself takes. The same
walk is made where tools answer with 5 MB, and keys are pressed in a session of 5,000 steps.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "screen"))

import pytest
import screen_toy as toy
import tui_first
from screen_probe import FIRST_S, Callback, Probe, watched
from screen_reading import until, until_settled
from screen_tour import Idle, Tour
from test_stalls import slow_world
from tui_sizes import response

from sessions.store import Store
from toolenv.model import ToolCall
from vakra_tui.app import VakraApp
from vakra_tui.screens.debugger import DebuggerScreen

SIZE = (120, 36)
WORST = 5

LIMIT_S = 0.05
FIRST_LIMIT_S = 0.12
"""What a callback may take on the clock, and what it may within the first seconds."""

LARGE = 5_000_000
STEPS = 5_000
STEP_KEYS = ("home", "t", "pagedown", "end", "v", "t", "up", "slash", "9", "9", "enter", "escape", "b", "s", "v")

HEAP = "vakra_tui.state.heap"
"""In the name of a callback: it visits garbage."""


async def walk(
    folder: Path, answers: Mapping[str, str] = toy.ANSWERS, *, laps: int = 3, slow: bool = True
) -> tuple[Probe, Tour]:
    """Every command of the list and, ``laps`` times, of the debugger; ``slow`` parts take their time."""
    with pytest.MonkeyPatch.context() as patch:
        own_place(folder, patch)
        if not slow:
            patch.setattr("test_stalls.SLOW_S", 0.0)
        idle = Idle(patch)
        app = VakraApp(slow_world(folder, answers))  # type: ignore[arg-type]
        with watched() as probe:
            async with app.run_test(size=SIZE, notifications=True, tooltips=True) as pilot:

                async def each(name: str) -> None:
                    probe.during = name

                tour = Tour(app, pilot, idle, each=each)
                await until(pilot, lambda: app.opened and app.prepared, "the list, and all modules")
                await tour.settle()
                await tour.walk()
                probe.during = "opening the debugger"
                app.open_entry(app.instances.listing.entries[0])
                await until_settled(pilot)
                for _ in range(laps):
                    await tour.walk()
                probe.thread = 0
    return probe, tour


async def many_steps(folder: Path) -> Probe:
    """A session of many recorded steps: run to its end and evaluated while keys are pressed."""
    calls = tuple(ToolCall(name="get_top_brand", arguments={"limit": number}) for number in range(STEPS))
    store = Store.open(f"sqlite:///{folder / 'steps.sqlite'}")
    runs = [toy.ToyRun("long", [toy.prediction(calls=calls)])]
    with pytest.MonkeyPatch.context() as patch:
        own_place(folder, patch)
        app = VakraApp(toy.wiring(instance="u-1", runs=runs, store=store))  # type: ignore[arg-type]
        with watched() as probe:
            async with app.run_test(size=SIZE) as pilot:
                probe.during = "running all steps"
                while not settled(app):
                    await pilot.press("down")
                    await asyncio.sleep(0.05)
                for key in STEP_KEYS:
                    probe.during = f"{key} in {STEPS:,} steps"
                    await pilot.press(key)
                    await until_settled(pilot)
                probe.thread = 0
    return probe


def settled(app: VakraApp) -> bool:
    """Whether a debugger is open in which nothing works."""
    scenes = [screen.scene for screen in app.screen_stack if isinstance(screen, DebuggerScreen)]
    return bool(scenes) and scenes[-1] is not None and not scenes[-1].working


def own_place(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Folders of its own, a pager and an editor that end at once."""
    patch.setenv("PAGER", "cat")
    patch.setenv("EDITOR", "true")
    for name in ("STATE", "DATA", "CONFIG", "CACHE"):
        patch.setenv(f"XDG_{name}_HOME", str(folder / name.lower()))
    patch.chdir(folder)


async def measured(folder: Path) -> dict[str, Any]:
    """The longest callbacks within the first seconds and after them, what blocked, and the same for large data."""
    probe, tour = await walk(folder)
    visits = [each.processor for each in probe.callbacks if HEAP in each.what]
    result = {
        "commands": len(tour.done),
        "blocking calls": len(probe.blocking),
        "load": os.getloadavg()[0],
        "first": worst([each for each in probe.callbacks if each.began < FIRST_S]),
        "later": worst([each for each in probe.callbacks if each.began >= FIRST_S]),
        "visits": len(visits),
        "longest visit": max(visits, default=0.0),
        "collections in the middle": len(probe.collections),
    }
    large = response(LARGE)
    walks = {"all commands three times; tools, judge and disk are slow": probe}
    for name in ("large", "steps"):
        (folder / name).mkdir()
    gc.collect()
    answers = {**toy.ANSWERS, "get_top_brand": large, "get_locations": large}
    walks["all commands; two of the tools answer with 5 MB, nothing is slow"], _ = await walk(
        folder / "large", answers, laps=1, slow=False
    )
    gc.collect()
    walks[f"keys while {STEPS:,} steps run and behind them"] = await many_steps(folder / "steps")
    result["walks"] = {name: summary(each) for name, each in walks.items()}
    return result


def summary(probe: Probe) -> dict[str, Any]:
    """How many callbacks took too long, and the longest."""
    too_long = [each for each in probe.callbacks if each.seconds > (FIRST_LIMIT_S if each.began < FIRST_S else LIMIT_S)]
    longest = max(probe.callbacks, key=lambda each: each.seconds)
    return {
        "too long": len(too_long),
        "processor too long": sum(each.processor > LIMIT_S for each in probe.callbacks),
        "seconds": longest.seconds,
        "during": longest.during,
        "processor_s": max(each.processor for each in probe.callbacks),
        "blocking calls": len(probe.blocking),
    }


def worst(callbacks: list[Callback]) -> list[dict[str, Any]]:
    """The longest callbacks, the longest first."""
    found = sorted(callbacks, key=lambda each: each.seconds, reverse=True)[:WORST]
    return [{"seconds": each.seconds, "processor_s": each.processor, "during": each.during} for each in found]


def run(folder: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    """``environment`` is that of the processes in which the first keys are pressed."""
    result = asyncio.run(measured(folder))
    result["first keys"] = tui_first.run(environment)
    return result
