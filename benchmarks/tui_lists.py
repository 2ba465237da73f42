"""What a key costs in a list of 5,000 instances with three runs: processor time, not the clock.

    python benchmarks/tui_lists.py [--count N]

The application runs headless. Verdicts are put into the rows, so that filters and counts have something to look at. For
each key: the processor time of the screen's thread, the longest callback of its event loop, and the processor time of
the whole process, work beside the loop included.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent))

import tui_start

sys.path.remove(str(Path(__file__).resolve().parent))

from eval.model import SieveClass, Verdict
from vakra_tui.app import VakraApp
from vakra_tui.options import Options
from vakra_tui.wiring import Wiring

PATIENCE = 6000
"""Hundredths of a second."""

RUNS = ("run", "run2", "run3")
CLASSES: tuple[SieveClass, ...] = ("none", "tool_selection", "argument_names", "argument_values")

KEYS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("one row down", ("down",) * 10),
    ("one page down", ("pagedown",) * 5),
    ("a letter of a fuzzy word", ("slash", *"mstrev")),
    ("the search taken away", ("escape",)),
    ("a letter of a word", ("slash", *"mission")),
    ("a letter of a filter", (*("backspace",) * 7, *"~cap", "space", "4", "space", *"~fails", "space", *"run2")),
    ("only those that differ, and back", ("escape", "D", "D")),
    ("sort by a column", ("s", "s", "s", "s")),
    ("sort by a run", ("s", "end", "up", "enter")),
    ("mark a row", ("space",) * 5),
    ("mark all, and none", ("asterisk", "asterisk")),
)


class Longest:
    """The longest callback of the event loop of this thread since it was last asked for."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def watched(self) -> Iterator[None]:
        run, loop = asyncio.events.Handle._run, asyncio.get_running_loop()

        def timed(handle: asyncio.events.Handle) -> Any:
            if handle._loop is not loop:  # type: ignore[attr-defined]
                return run(handle)
            started = time.thread_time()
            try:
                return run(handle)
            finally:
                self.seconds = max(self.seconds, time.thread_time() - started)

        asyncio.events.Handle._run = timed  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            asyncio.events.Handle._run = run  # type: ignore[method-assign]


def verdict(entry: Any, number: int) -> Verdict:
    """One of four verdicts, by number."""
    sieve = CLASSES[number % len(CLASSES)]
    return Verdict(
        uuid=entry.uuid,
        capability=entry.capability,
        domain=entry.domain,
        status="scored",
        passed=sieve == "none",
        failed_stage=None if sieve == "none" else "tool_sequence",
        sieve=sieve,
        stages=(),
    )


async def measured(folder: Path) -> None:
    options = Options(data=str(folder / "data"), runs=tuple(str(folder / run) for run in RUNS), db="sqlite://")
    app = VakraApp(Wiring(options))
    app.world.memory.keep_hint_seen()
    longest = Longest()
    async with app.run_test(size=(120, 36)) as pilot:
        await until(lambda: app.opened and all(entry.known for entry in app.instances.listing.entries))
        entries = app.instances.listing.entries
        for number, entry in enumerate(entries):
            entry.verdicts = {run: verdict(entry, number * 7 + place * 3) for place, run in enumerate(RUNS)}
        app.instances.changed()
        await settled(app, pilot)
        print(f"{len(entries):,} instances, {len(RUNS)} runs\n")
        print("| key | screen's thread | longest callback | all threads |\n|---|---|---|---|")
        with longest.watched():
            for name, keys in KEYS:
                longest.seconds = 0.0
                thread, process = time.thread_time(), time.process_time()
                for key in keys:
                    await pilot.press(key)
                    await settled(app, pilot)
                taken = [
                    1000 * each / len(keys) for each in (time.thread_time() - thread, time.process_time() - process)
                ]
                print(f"| {name} | {taken[0]:.0f} ms | {1000 * longest.seconds:.0f} ms | {taken[1]:.0f} ms |")


async def settled(app: VakraApp, pilot: Any) -> None:
    """Until nothing works beside the screen; a dialog that waits for its answer does not work."""
    await pilot.pause()
    await until(lambda: not any(worker.is_running and worker.group != "filters" for worker in app.workers))
    await pilot.pause()


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(PATIENCE):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError("the screen does not settle")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=5000, help="generated instances (5000)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ.update(tui_start.environment(folder))
        tui_start.multiplied(tui_start.built_sample(folder), folder / "large", options.count)
        for run in RUNS[1:]:
            shutil.copytree(folder / "large" / RUNS[0], folder / "large" / run)
        asyncio.run(measured(folder / "large"))


if __name__ == "__main__":
    main()
