"""Hostile text as every kind of data, through every pane: nothing crashes, disappears, restyles or escapes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import screen_toy as toy
from hypothesis import given, settings
from screen_reading import rows, squeezed, until, until_settled, until_shown
from test_screen_text import HARD, is_clean

from sessions.store import Store
from toolenv.model import GroundTruth, GroundTruthTurn, ToolCall, Turn
from vakra_tui.app import VakraApp
from vakra_tui.render import palette, strip
from vakra_tui.state.lines import Line, Lines, LineSource, plain
from vakra_tui.state.listing import Listing
from vakra_tui.state.panes import head, step, steps, truth, waterfall
from vakra_tui.state.panes.tools import tool_lines
from vakra_tui.state.world import World
from vakra_tui.text import one_line, sanitize

BRACKETS = (
    "[/",
    "[/]",
    "[b + end",
    "[0] first",
    '[1, "3"]',
    "[data: /p?x=aa-1b-]",
    "a [link='x",
    "[link=http://x]y[/link]",
    "[@click=app.bell()]x[/]",
    "rows[/table]",
    "[phase] n = {n}",
    "list[int]",
    "[[3.5]]",
    "[null]",
    "[red]u1",
    "SELECT [Order] FROM [t]",
    "C:\\[dir]\\",
    "\\[x]",
    "$name {0} %s",
)
CONTROLS = (
    "\x1b[2J\x1b[H",
    "\x1b]0;PWNED\x07",
    "\x1b]52;c;aGk=\x07",
    "\x9b31mred\x9c",
    "bell\x07bs\x08cr\rnul\x00del\x7f",
    "tab\there",
    "\u202eoverride\u202c",
    "\u2066isolate\u2069",
    "zero\u200bwidth\ufeff",
    "line\u2028separator\u2029",
    "lone \udc80 surrogate",
    "\u0301combining first",
    "pile Z" + "\u0301" * 40 + " \u0e01" + "\u0e47" * 30,
    "fillers \u3164\uffa0\u115f\u1160\u034f|",
    "selectors \u2764\ufe0f 1\ufe0f\u20e3 \U0001f468\U0001f3fd",
    "no characters \uffff\U0001fffe\u0378\U000e0041",
    "separators \x1c\x1d\x1e\x1f\x85\x0b\x0c|",
)
WIDE = ("漢字かな交じり文", "한국어", "ไทยำ", "مرحبا بالعالم", "👨\u200d👩\u200d👧 family", "🇩🇪🇫🇷", "e\u0301tude")
HOSTILE = (*BRACKETS, *CONTROLS, *WIDE)
TOGETHER = (" ".join(BRACKETS), " ".join((*CONTROLS, *WIDE)))
"""The same texts several at once, for the runs through the whole application."""


def world_of(text: str, store: Store) -> toy.ToyWiring:
    """One instance whose query, context, policy, calls, responses and answers all hold ``text``."""
    answers = {
        "get_top_brand": json.dumps({text: [text, {"inner": text}]}),
        "query_beer_factory": json.dumps({"results": [{"id": text, "text": f"passage {text}", "score": 1.5}]}),
        f"tool{text}": f"FAIL {text}",
        "get_raw": text,
    }
    environment = toy.ToyEnvironment(answers)
    calls = tuple(ToolCall(name=name, arguments={text: text, "name": [text, None, 1]}) for name in answers)
    instance = toy.instance(
        query=f"Q {text}",
        policy=f"If a user's query pertains to {text}, use only document retrievers {text}",
        turns=(Turn(turn_id=0, query=text, answer=[text]), Turn(turn_id=1, query=f"Q {text}")),
        ground_truth=GroundTruth(
            turns=(GroundTruthTurn(turn_id=1, query=text, answer=[text], calls=calls[:2], responses=(text, text)),)
        ),
        author_keys={"gold_sql": text},
        problems=(text,),
    )
    prediction = toy.prediction(calls=calls, answer=text, responses=(text, [text], {text: text}, None))
    return toy.wiring(
        instances=[instance], runs=[toy.ToyRun(f"run {text}", [prediction])], environment=environment, store=store
    )


def letters(text: str, *, folded: bool = False) -> str:
    """What must be readable of a text that was wrapped; ``folded`` where white space counts for nothing (lists)."""
    clean = one_line(text) if folded else sanitize(text)
    return "".join(sanitize(clean).split()).replace("\u25cc", "")


def check(app: VakraApp) -> None:
    """No row of the screen holds anything that a terminal would act on, and every row has the screen's width."""
    from rich.cells import cell_len

    for row in rows(app):
        assert is_clean(row), repr(row)
        assert cell_len(row) == app.size.width, repr(row)


async def survives(text: str, widths: Sequence[int] = (20, 79)) -> None:
    """A text alone: the scene's panes as lines, and the lines as rows of cells."""
    wiring = world_of(text, Store.open("sqlite://"))
    world = World(wiring)  # type: ignore[arg-type]
    listing = world.open()
    world.read_entries(listing.entries)
    assert letters(text, folded=True)[:20] in "".join(plain(listing_line(listing, 300)).replace("\u25cc", "").split())
    session = world.session(listing.entries[0])
    await session.open()
    scene = session.scene
    assert scene is not None
    panes = [
        [head.header(scene)],
        head.question(scene, context=True),
        head.policy(scene, whole=True),
        truth.truth_lines(scene),
        waterfall.strip_lines(scene),
        *([line for tool in await session.tools() for line in tool_lines(tool, scene.policy.text)],),
    ]
    sources: list[LineSource] = [Lines(lines) for lines in panes]
    sources += [step.source(tab, row, scene) for row in scene.rows for tab in step.TABS]
    sources.append(steps.StepsSource(scene))
    for width in widths:
        for source in sources:
            for index in range(source.layout(width)):
                shown = strip(source.line(index), width, palette(True))
                assert shown.cell_length == width
                assert is_clean("".join(segment.text for segment in shown))
    question = "".join(sanitize(plain(part)) for part in panes[1])
    assert letters(f"Q {text}") in "".join(question.replace("\u25cc", "").split())
    await session.close()


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
async def test_every_text_survives_in_every_pane(text: str) -> None:
    await survives(text)


@given(HARD)
@settings(max_examples=200, deadline=None)
def test_every_text_made_survives_in_every_pane(text: str) -> None:
    asyncio.run(survives(text, widths=(33,)))


def listing_line(listing: Listing, width: int) -> Line:
    listing.layout(width)
    return listing.line(0)


@pytest.mark.parametrize("text", TOGETHER, ids=["brackets", "controls and wide"])
async def test_through_every_pane(text: str, tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path / 's.sqlite'}")
    app = VakraApp(world_of(text, store))  # type: ignore[arg-type]
    async with app.run_test(size=(160, 45), notifications=True, tooltips=True) as pilot:
        await until(pilot, lambda: app.opened and not any(e.query is None for e in app.world.listing.entries), "list")
        check(app)
        assert letters(f"Q{text}", folded=True)[:30] in "".join(squeezed(app).replace("\u25cc", "").split())
        await pilot.press("enter")
        await until_settled(pilot)
        check(app)
        told = "".join(squeezed(app).replace("\u25cc", "").split())
        assert letters(f"Q {text}") in told
        await pilot.press("h")
        for key in ("g", "0", "enter"):
            await pilot.press(key)
        for _ in range(4):
            for _ in step.TABS:
                check(app)
                await pilot.press("t")
            await pilot.press("s")
        await pilot.press("n")
        await until_shown(pilot, "tools on offer")
        check(app)
        app.screen.query_one("#find").value = text  # type: ignore[attr-defined]
        await pilot.pause()
        check(app)
        app.screen.query_one("#find").value = "get_raw"  # type: ignore[attr-defined]
        await pilot.press("enter")
        await until_shown(pilot, "Run as step")
        for field in app.screen.query(".field"):
            field.value = text  # type: ignore[attr-defined]
        await pilot.press("f2")
        await until_shown(pilot, "scratch, no trace")
        check(app)
        await pilot.press("escape", "escape")
        app.toast(text)
        app.report(text, title=text)
        await pilot.pause()
        check(app)
        assert letters(text) in "".join(squeezed(app).replace("\u25cc", "").split())
        await pilot.press("enter")
        await pilot.press("f")
        app.screen.query_one("#answer").value = text  # type: ignore[attr-defined]
        await pilot.press("enter")
        await until_shown(pilot, "ground truth flagged")
        await pilot.press("escape")
        await until_shown(pilot, "instance")
        await pilot.press("slash")
        app.screen.query_one("#find").value = text  # type: ignore[attr-defined]
        await pilot.pause()
        check(app)


async def test_typed_brackets_search_literally(tmp_path: Path) -> None:
    instances = [toy.instance(uuid="u-1", query="rows[/table] here"), toy.instance(uuid="u-2", query="other")]
    app = VakraApp(toy.wiring(instances=instances, runs=[], store=Store.open("sqlite://")))  # type: ignore[arg-type]
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.opened and not any(e.query is None for e in app.world.listing.entries), "list")
        await pilot.press("slash", *"[/")
        assert "1 of 2 instances" in squeezed(app)
        assert "rows[/table] here" in squeezed(app)
        await pilot.press("escape")
        assert "2 instances" in squeezed(app)


async def test_records_with_holes_open(tmp_path: Path) -> None:
    """Predictions without calls, answers or a success, and odd arguments."""
    odd: list[dict[str, Any]] = [
        {"calls": (), "answer": ""},
        {"calls": (ToolCall(name="", arguments={}),), "answer": "x"},
        {"calls": (ToolCall(name="get_raw", arguments={}, raw_arguments="[1, 2"),), "answer": "x"},
        {"calls": (), "answer": "", "status": "error", "error": "timeout [/]"},
        {"problems": ("output is no list",)},
    ]
    instances = [toy.instance(uuid=f"u-{index}") for index in range(len(odd))]
    run = toy.ToyRun("r", [toy.prediction(uuid=f"u-{index}", **changes) for index, changes in enumerate(odd)])
    app = VakraApp(toy.wiring(instances=instances, runs=[run], store=Store.open("sqlite://")))  # type: ignore[arg-type]
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.opened, "list")
        for index in range(len(odd)):
            await pilot.press("enter")
            await until_settled(pilot)
            check(app)
            assert f"u-{index}" in squeezed(app)
            await pilot.press("escape", "down")
