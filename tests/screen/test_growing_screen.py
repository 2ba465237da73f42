"""What grows stays cheap: lists, steps and responses are drawn by the screenful; the event loop never waits."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import screen_toy as toy
from screen_reading import debugger, squeezed, until, until_settled, until_shown

from sessions.store import Store
from toolenv.model import ToolCall
from vakra_tui.app import VakraApp
from vakra_tui.state.json_tree import JsonTree
from vakra_tui.state.lines import Line, plain
from vakra_tui.state.listing import Listing
from vakra_tui.state.response import RawText, document, read


class CountingListing(Listing):
    """Counts how many rows are made into lines."""

    drawn = 0

    def line(self, index: int) -> Line:
        self.drawn += 1
        return super().line(index)


async def test_a_list_of_thousands_draws_only_what_is_seen() -> None:
    instances = [toy.instance(uuid=f"u-{index}", query=f"query number {index}?") for index in range(5000)]
    app = VakraApp(toy.wiring(instances=instances, runs=[], store=Store.open("sqlite://")))  # type: ignore[arg-type]
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.opened and "not read" not in squeezed(app), "all queries to be read")
        listing = CountingListing(app.instances.listing.entries, ())
        app.instances.take(listing)
        await pilot.pause()
        before = listing.drawn
        await pilot.press("end")
        await until_shown(pilot, "query number 4999?")
        await pilot.press("pageup", "up")
        assert 0 < listing.drawn - before < 400
        await pilot.press("slash", *"number 4321")
        await until_shown(pilot, "showing 1 of 5,000 instances")
        assert "query number 4321?" in squeezed(app)


def test_a_large_raw_text_costs_its_visible_rows() -> None:
    text = "\n".join(f"line {index} " + "x" * 40 for index in range(90_000))
    source = RawText(text)
    assert source.layout(20) > 90_000
    assert "line 0 " in plain(source.line(0))
    single = RawText("y" * 3_000_000)
    assert single.layout(100) == 30_000
    assert plain(single.line(29_999)) == "y" * 100
    wide = RawText("\u6f22" * 100)
    assert wide.layout(20) == 10


def test_a_large_value_folds_and_unfolds() -> None:
    value = {"rows": [{"id": index, "name": f"n{index}"} for index in range(50_000)], "more": {"a": [1, 2]}}
    tree = JsonTree(value)
    count = tree.layout(80)
    assert count < 500
    rows = next(index for index in range(count) if plain(tree.line(index)).strip().startswith("\u25b8 rows"))
    tree.toggle(rows)
    assert tree.layout(80) == count + 50_000
    assert "49999" in plain(tree.line(rows + 50_000))
    tree.toggle(rows)
    assert tree.layout(80) == count
    shape = read(json.dumps(value))
    assert shape.kind == "json"
    assert document(shape).layout(80) == count


async def test_a_large_response_opens_in_a_worker_and_scrolls(tmp_path: Path) -> None:
    big = json.dumps({"items": [{"id": index, "value": "lorem " * 8} for index in range(6_000)]})
    environment = toy.ToyEnvironment({**toy.ANSWERS, "get_top_brand": big})
    wiring = toy.wiring(instance="u-1", environment=environment, store=Store.open(f"sqlite:///{tmp_path / 's.sqlite'}"))
    app = VakraApp(wiring)  # type: ignore[arg-type]
    async with app.run_test(size=(120, 36)) as pilot:
        await until_settled(pilot)
        await pilot.press("g", "1", "enter")
        await until_shown(pilot, "large response: t opens the response tab")
        await pilot.press("t")
        await until_shown(pilot, "items: ")
        await pilot.press("down", "enter")
        await until_shown(pilot, "▸ 9: ")
        await pilot.press("end")
        await until_shown(pilot, "5999: ")
        await pilot.press("t", "t")
        await until_shown(pilot, '{"items": [')
        await pilot.press("end")
        assert "lorem" in squeezed(app)


async def test_the_event_loop_answers_while_tools_are_slow(tmp_path: Path) -> None:
    """A blocking environment holds the engine thread; keys are answered all the while."""

    class Blocking(toy.ToyEnvironment):
        async def pause(self) -> None:
            time.sleep(0.4)  # noqa: ASYNC251  (the point of this test: work that does not yield)

    environment = Blocking(toy.ANSWERS)
    wiring = toy.wiring(instance="u-1", environment=environment, store=Store.open(f"sqlite:///{tmp_path / 's.sqlite'}"))
    app = VakraApp(wiring)  # type: ignore[arg-type]
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: bool(environment.calls), "the first call")
        made = len(environment.calls)
        answered = 0
        while len(environment.calls) == made and answered < 5:
            await pilot.press("question_mark")
            assert "one step forth" in squeezed(app)
            await pilot.press("escape")
            answered += 1
        assert answered
        await until_settled(pilot)


async def test_thousands_of_steps_are_one_list(tmp_path: Path) -> None:
    calls = tuple(ToolCall(name="get_top_brand", arguments={"limit": index}) for index in range(200))
    wiring = toy.wiring(
        instance="u-1",
        runs=[toy.ToyRun("long", [toy.prediction(calls=calls)])],
        store=Store.open(f"sqlite:///{tmp_path / 's.sqlite'}"),
    )
    app = VakraApp(wiring)  # type: ignore[arg-type]
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await until_settled(pilot)
        assert screen.scene is not None
        assert screen.scene.executed == 201
        await pilot.press("g", "1", "9", "9", "enter")
        await until_shown(pilot, "step 199: get_top_brand")
        assert len(debugger(app).query("*")) < 40
        await asyncio.sleep(0)
