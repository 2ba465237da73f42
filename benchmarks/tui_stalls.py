"""How long the screen's event loop is held up while every command is run against slow parts; used by ``tui.py``.

The walk, the slow parts and the probe are those of the tests. The probe's times on the clock are what a person feels
only on a machine with nothing else to do; the processor time beside each says what the callback itself takes.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "screen"))

import pytest
from screen_probe import FIRST_S, Callback, watched
from screen_reading import until, until_settled
from screen_tour import Idle, Tour
from test_stalls import slow_world

from vakra_tui.app import VakraApp

SIZE = (120, 36)
WORST = 5

LIMIT_S = 0.05

HEAP = "vakra_tui.state.heap"
"""In the name of a callback: it visits garbage."""


async def measured(folder: Path) -> dict[str, Any]:
    """The longest callbacks within the first seconds and after them, and what blocked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PAGER", "cat")
        patch.setenv("EDITOR", "true")
        for name in ("STATE", "DATA", "CONFIG", "CACHE"):
            patch.setenv(f"XDG_{name}_HOME", str(folder / name.lower()))
        patch.chdir(folder)
        idle = Idle(patch)
        app = VakraApp(slow_world(folder))  # type: ignore[arg-type]
        with watched() as probe:
            async with app.run_test(size=SIZE, notifications=True, tooltips=True) as pilot:

                async def each(name: str) -> None:
                    probe.during = name

                tour = Tour(app, pilot, idle, each=each)
                await until(pilot, lambda: app.opened and app.prepared, "the list, and all modules")
                await tour.settle()
                await tour.walk()
                app.open_entry(app.instances.listing.entries[0])
                await until_settled(pilot)
                for _ in range(3):
                    await tour.walk()
                probe.thread = 0
    first = [each for each in probe.callbacks if each.began < FIRST_S]
    later = [each for each in probe.callbacks if each.began >= FIRST_S]
    visits = [each.processor for each in probe.callbacks if HEAP in each.what]
    return {
        "commands": len(tour.done),
        "blocking calls": len(probe.blocking),
        "load": os.getloadavg()[0],
        "first": worst(first),
        "later": worst(later),
        "processor later": max((each.processor for each in later), default=0.0),
        "above 50 ms later": sum(each.seconds > LIMIT_S for each in later),
        "processor above 50 ms later": sum(each.processor > LIMIT_S for each in later),
        "visits": len(visits),
        "longest visit": max(visits, default=0.0),
        "collections in the middle": len(probe.collections),
    }


def worst(callbacks: list[Callback]) -> list[dict[str, Any]]:
    """The longest callbacks, the longest first."""
    found = sorted(callbacks, key=lambda each: each.seconds, reverse=True)[:WORST]
    return [{"seconds": each.seconds, "processor_s": each.processor, "during": each.during} for each in found]


def run(folder: Path) -> dict[str, Any]:
    return asyncio.run(measured(folder))
