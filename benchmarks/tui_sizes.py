"""Large responses and long sessions on the screen: when they can be read, and what a key costs; used by ``tui.py``.

The application runs headless on a toy world. A response counts as visible when the widget of the step draws a row of
it. Work is counted, not timed: rows made into lines, and function calls on the screen's thread, from a key until the
screen has settled.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low
from types import FrameType
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "screen"))

import screen_toy as toy
from screen_opening import opened
from screen_reading import debugger, until

from sessions.store import Store
from toolenv.model import ToolCall
from vakra_tui.app import VakraApp
from vakra_tui.screens.debugger import DebuggerScreen
from vakra_tui.widgets.line_view import LineView

SIZE = (120, 36)
MARK = "first-of-all"
"""A member of every response; the first that is drawn of the response's tab."""

RESPONSES = {"5 kB": 5_000, "50 kB": 50_000, "5 MB": 5_000_000}
STEPS = {"50 steps": 50, "5,000 steps": 5_000}
UNUSED = "f12"
ROUNDS = 5
"""What the application draws on its own, a toast that goes or a scene that came, falls into one or two of them."""

KEYS = ("down", "down", "pagedown", "pagedown", "end", "pageup", "up", "home")


def response(characters: int) -> str:
    """A JSON object of about so many characters."""
    row = {"id": 100_000, "name": "a river of some length", "value": 12.5, "tags": ["one", "two"], "more": None}
    count = characters // (len(json.dumps(row)) + 2)
    return json.dumps({MARK: True, "rows": [{**row, "id": number} for number in range(count)]})


@dataclass
class Work:
    """What was done while it was watched."""

    rows: int = 0
    calls: int = 0


@contextmanager
def counted() -> Iterator[Work]:
    """Count the rows that views draw and the calls of functions, Python's and the library's, in this thread."""
    work = Work()
    draw = LineView.line_at

    def line_at(view: LineView, index: int) -> Any:
        work.rows += 1
        return draw(view, index)

    def profiled(frame: FrameType, event: str, argument: object) -> None:
        if event in ("call", "c_call"):
            work.calls += 1

    LineView.line_at = line_at  # type: ignore[method-assign]
    sys.setprofile(profiled)
    try:
        yield work
    finally:
        sys.setprofile(None)
        LineView.line_at = draw  # type: ignore[method-assign]


async def per_key(pilot: Any) -> dict[str, dict[str, int]]:
    """key -> the middle of the work of several rounds until the screen has settled, the keys pressed one after another.

    What a key that does nothing takes is left out of the calls: it is the library's waiting for the screen.
    """
    idle: list[int] = []
    for _ in range(ROUNDS):
        with counted() as nothing:
            await pilot.press(UNUSED)
            await pilot.pause()
        idle.append(nothing.calls)
    found: dict[str, list[Work]] = {}
    for _ in range(ROUNDS):
        for number, key in enumerate(KEYS, start=1):
            with counted() as work:
                await pilot.press(key)
                await pilot.pause()
            work.calls = max(work.calls - min(idle), 0)
            found.setdefault(f"{number} {key}", []).append(work)
    return {
        name: {"rows": median_low(each.rows for each in rounds), "calls": median_low(each.calls for each in rounds)}
        for name, rounds in found.items()
    }


async def shown_response(text: str, folder: Path) -> tuple[float, dict[str, dict[str, int]]]:
    """(seconds from the key that opens the response's tab to its first row drawn, work for each key)."""
    environment = toy.ToyEnvironment({**toy.ANSWERS, "get_top_brand": text})
    store = Store.open(f"sqlite:///{folder / 'sizes.sqlite'}")
    drawn = asyncio.Event()
    draw = LineView.render_line

    def render_line(view: LineView, y: int) -> Any:
        strip = draw(view, y)
        if view.id == "step" and MARK in strip.text:
            drawn.set()
        return strip

    async with opened(toy.wiring(instance="u-1", environment=environment, store=store), SIZE) as (app, pilot):
        await pilot.press("g", "1", "enter")
        await pilot.pause()
        LineView.render_line = render_line  # type: ignore[method-assign]
        try:
            started = time.perf_counter()
            await pilot.press("t")
            await drawn.wait()
            seconds = time.perf_counter() - started
        finally:
            LineView.render_line = draw  # type: ignore[method-assign]
        view = debugger(app).query_one("#step", LineView)
        if view.count < SIZE[1]:
            # The rows of a large response are folded at first: the third row opens them.
            await pilot.press("down", "down", "enter")
            await until(pilot, lambda: view.count > SIZE[1], "the rows of the response")
        await pilot.press("home")
        return seconds, await per_key(pilot)


async def long_session(steps: int, folder: Path) -> tuple[float, dict[str, dict[str, int]]]:
    """(seconds until a session of so many recorded steps has settled, work for each key in its timeline)."""
    calls = tuple(ToolCall(name="get_top_brand", arguments={"limit": number}) for number in range(steps))
    runs = [toy.ToyRun("long", [toy.prediction(calls=calls)])]
    store = Store.open(f"sqlite:///{folder / f'steps-{steps}.sqlite'}")
    app = VakraApp(toy.wiring(instance="u-1", runs=runs, store=store))  # type: ignore[arg-type]
    started = time.perf_counter()
    async with app.run_test(size=SIZE) as pilot:
        await ready(app)
        seconds = time.perf_counter() - started
        await pilot.press("1", "home")
        await until(pilot, lambda: debugger(app).cursor == 0, "the first step")
        return seconds, await per_key(pilot)


async def ready(app: VakraApp) -> None:
    """Until a debugger is open in which nothing works, however long that takes."""
    while True:
        screens = [screen for screen in app.screen_stack if isinstance(screen, DebuggerScreen)]
        scene = screens[-1].scene if screens else None
        if scene is not None and not scene.working:
            return
        await asyncio.sleep(0.05)


async def measured(folder: Path, *, repeat: int) -> dict[str, Any]:
    """All sizes: seconds to be visible, the fastest of several, and the work for each key."""
    texts = {name: response(characters) for name, characters in RESPONSES.items()}
    result: dict[str, Any] = {"responses": {}, "steps": {}}
    for name, text in texts.items():
        taken = [await shown_response(text, folder / f"{name} {number}") for number in made(folder, name, repeat)]
        result["responses"][name] = {
            "characters": len(text),
            "parse_s": min(parse_seconds(text) for _ in range(repeat)),
            "visible_s": min(seconds for seconds, _ in taken),
            "keys": taken[0][1],
        }
    for name, steps in STEPS.items():
        seconds, keys = await long_session(steps, folder)
        result["steps"][name] = {"settled_s": seconds, "keys": keys}
    small, large = result["responses"]["5 kB"], result["responses"]["5 MB"]
    result["visible_ratio"] = (large["visible_s"] - large["parse_s"]) / small["visible_s"]
    result["work_ratio_response"] = work_ratio(result["responses"]["50 kB"]["keys"], large["keys"])
    result["work_ratio_steps"] = work_ratio(*(result["steps"][name]["keys"] for name in STEPS))
    return result


def made(folder: Path, name: str, repeat: int) -> Iterator[int]:
    """Numbers of repetitions, each with a folder of its own."""
    for number in range(repeat):
        (folder / f"{name} {number}").mkdir()
        yield number


def parse_seconds(text: str) -> float:
    """What decoding the JSON takes by itself."""
    started = time.perf_counter()
    json.loads(text)
    return time.perf_counter() - started


def work_ratio(small: Mapping[str, Mapping[str, int]], large: Mapping[str, Mapping[str, int]]) -> dict[str, float]:
    """The greatest ratio of any key's work, large to small."""
    return {kind: max(large[key][kind] / max(small[key][kind], 1) for key in small) for kind in ("rows", "calls")}


def run(folder: Path, *, repeat: int) -> dict[str, Any]:
    return asyncio.run(measured(folder, repeat=repeat))
