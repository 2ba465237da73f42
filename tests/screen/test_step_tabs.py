"""The tabs of a step by their keys: searching, whole tables, sources of values, differences, raw messages."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import screen_toy as toy
from screen_opening import SMALL, WIDE, opened
from screen_reading import debugger, pane, shown, squeezed, until, until_shown
from screen_tables import TabledEnvironment, View
from textual.pilot import Pilot

from sessions.store import Store
from toolenv.errors import EnvironmentFailure
from toolenv.exchange import RawMessage, WireExchange
from toolenv.model import ToolCall, ToolSpec
from vakra_tui.app import VakraApp
from vakra_tui.state.json_tree import JsonTree
from vakra_tui.state.lines import Line
from vakra_tui.state.search import Needle


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")


async def go_to(pilot: Pilot[Any], number: int, *keys: str) -> None:
    await pilot.press("g", *str(number), "enter", *keys)


async def search(pilot: Pilot[Any], text: str) -> None:
    await pilot.press("slash")
    await until_shown(pilot, "Search in")
    await pilot.press(*("space" if letter == " " else letter for letter in text), "enter")


def border(app: VakraApp, name: str = "#step-pane") -> str:
    """The lower border of a pane."""
    region = app.screen.query_one(name).region
    return shown(app).split("\n")[region.bottom - 1][region.x : region.right]


async def test_a_search_goes_from_match_to_match_and_round(store: Store) -> None:
    answer = json.dumps({"rows": [{"id": number, "city": f"Ulm {number}"} for number in range(300)], "tail": "ulm"})
    environment = toy.ToyEnvironment({**toy.ANSWERS, "get_top_brand": answer})
    async with opened(toy.wiring(instance="u-1", store=store, environment=environment)) as (app, pilot):
        await go_to(pilot, 1, "t")
        await until_shown(pilot, "rows: ")
        await search(pilot, "ULM")
        await until_shown(pilot, "1 of 301")
        assert 'city: "Ulm 0"' in squeezed(app)
        await pilot.press("full_stop", "full_stop")
        await until_shown(pilot, "3 of 301")
        assert 'city: "Ulm 2"' in squeezed(app)
        await pilot.press("comma", "comma", "comma")
        await until_shown(pilot, "301 of 301")
        assert 'tail: "ulm"' in squeezed(app)
        await search(pilot, "nowhere")
        await until_shown(pilot, "occurs nowhere here")
        await go_to(pilot, 2)
        await pilot.press("full_stop")
        await until_shown(pilot, "no match")


async def test_an_empty_search_takes_the_marks_away(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await go_to(pilot, 2, "t")
        await search(pilot, "Dixie")
        await until_shown(pilot, "1 of 2")
        await pilot.press("slash", "ctrl+u", "enter")
        await pilot.pause()
        assert "1 of 2" not in squeezed(app)


async def test_the_steps_and_the_ground_truth_are_searched_too(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("1")
        await search(pilot, "beer_fac")
        await until_shown(pilot, "step 2: query_beer_factory")
        assert debugger(app).cursor == 1
        await pilot.press("3")
        await search(pilot, "Dixie Brewing")
        await until_shown(pilot, "1 of")
        await pilot.press("comma")
        assert "Dixie Brewing" in pane(app, app.screen.query_one("#truth"))


async def test_five_megabytes_are_searched_while_keys_are_answered(store: Store) -> None:
    answer = json.dumps(
        [{"id": number, "words": "lorem ipsum dolor sit amet " * 2 + "etc"} for number in range(60_000)]
    )
    assert len(answer) > 5_000_000
    environment = toy.ToyEnvironment({**toy.ANSWERS, "get_top_brand": answer})
    async with opened(toy.wiring(instance="u-1", store=store, environment=environment)) as (app, pilot):
        await go_to(pilot, 1, "t")
        await until_shown(pilot, "60,000 items")
        await search(pilot, "amet")
        await pilot.press("question_mark")
        await until_shown(pilot, "one step forth")
        await pilot.press("escape")
        await until_shown(pilot, "1 of 60,000")
        await pilot.press("comma")
        await until_shown(pilot, "60,000 of 60,000")
        assert "59999: " in squeezed(app)


async def test_a_key_in_a_long_response_draws_a_screenful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted: rows made into lines per key are the same for 5 kB and for 5 MB."""
    drawn = 0
    line = JsonTree.line

    def counting(self: JsonTree, index: int) -> Line:
        nonlocal drawn
        drawn += 1
        return line(self, index)

    monkeypatch.setattr(JsonTree, "line", counting)
    costs = []
    for count in (60, 60_000):
        answer = json.dumps([{"id": number, "words": "lorem ipsum dolor sit amet " * 2} for number in range(count)])
        environment = toy.ToyEnvironment({**toy.ANSWERS, "get_top_brand": answer})
        wiring = toy.wiring(instance="u-1", store=Store.open("sqlite://"), environment=environment)
        async with opened(wiring) as (app, pilot):
            await go_to(pilot, 1, "t")
            await until_shown(pilot, "0: ")
            await pilot.press("end")
            await until_shown(pilot, f"{count - 1}: ")
            drawn = 0
            await pilot.press("up", "up", "pageup", "home", "pagedown", "end")
            await pilot.pause()
            costs.append(drawn)
            assert app.screen.is_current
    assert 0 < costs[1] <= 1.2 * costs[0] + 20


async def test_a_scalar_is_read_whole_and_nodes_fold_by_arrows(store: Store) -> None:
    answer = json.dumps({"note": "begin " + "long " * 60 + "the very end", "inner": {"a": 1}})
    environment = toy.ToyEnvironment({**toy.ANSWERS, "get_top_brand": answer})
    async with opened(toy.wiring(instance="u-1", store=store, environment=environment)) as (app, pilot):
        await go_to(pilot, 1, "t")
        await until_shown(pilot, "note: ")
        assert "the very end" not in squeezed(app)
        await pilot.press("down", "enter")
        await until_shown(pilot, "the very end")
        await pilot.press("escape", "down", "left")
        await until_shown(pilot, "{\u2026} 1 key")
        await pilot.press("right")
        assert "a: 1" in squeezed(app)
        await pilot.press("right", "left")
        assert "\u25b8 \u25be inner" in squeezed(app)


async def test_the_whole_table_is_sorted_filtered_and_searched(store: Store) -> None:
    view = View(
        ["T_id", "T_city", "T_age"],
        [(number, f"city {number % 7}", None if number % 9 == 0 else number % 90) for number in range(100_000)],
    )
    wiring = toy.wiring(instance="u-1", store=store, environment=TabledEnvironment(view))
    async with opened(wiring) as (app, pilot):
        view.read = 0
        await go_to(pilot, 1, "t")
        await until_shown(pilot, "retrieved_1")
        assert "100,000 rows, 3 columns" in squeezed(app)
        await pilot.press("t")
        await until_shown(pilot, "city 6")
        assert "T_city" in squeezed(app)
        await pilot.press("end")
        await until_shown(pilot, "99999")
        assert view.read < 1000
        await pilot.press("right", "right", "enter")
        await until_shown(pilot, "by T_age (ascending)")
        assert "T_age\u25b2" in squeezed(app)
        await pilot.press("enter")
        await until_shown(pilot, "by T_age (descending)")
        await until_shown(pilot, " 89 ")
        await pilot.press("ampersand")
        await until_shown(pilot, "Show only the rows with")
        await pilot.press(*"age=77", "space", *"id>99000", "enter")
        await until_shown(pilot, "11 of 100,000 rows")
        assert " 77 " in squeezed(app)
        await search(pilot, "city 3")
        await until_shown(pilot, "1 of ")
        await pilot.press("ampersand")
        await until_shown(pilot, "Show only the rows with")
        await pilot.press("ctrl+u", *"height=3", "enter")
        await until_shown(pilot, "No column is called")
        await pilot.press("escape")
        assert "11 of 100,000 rows" in squeezed(app)


async def test_a_match_in_a_column_off_the_screen_is_scrolled_to(store: Store) -> None:
    names = [f"column_{number}" for number in range(40)]
    rows = [(*(f"value {number}" for number in range(39)), f"Calcium {row:04}") for row in range(5000)]
    wiring = toy.wiring(instance="u-1", store=store, environment=TabledEnvironment(View(names, rows)))
    async with opened(wiring) as (app, pilot):
        await go_to(pilot, 1, "t", "t")
        await until_shown(pilot, "value 2")
        for text in ("calcium 0003", "calcium 4321"):
            await search(pilot, text)
            await until_shown(pilot, f"\u201c{text}\u201d: 1 of ")
            await until_shown(pilot, text.capitalize())
            assert "column_39" in squeezed(app)
        await search(pilot, "value 0")
        await until_shown(pilot, "column_0")


async def test_a_click_on_a_columns_name_sorts(store: Store) -> None:
    view = View(["id", "name"], [(number, f"n{number}") for number in range(50)])
    async with opened(toy.wiring(instance="u-1", store=store, environment=TabledEnvironment(view))) as (app, pilot):
        await go_to(pilot, 1, "t", "t")
        await until_shown(pilot, "n20")
        await pilot.click("#step", offset=(12, 0))
        await until_shown(pilot, "by id (ascending)")
        await pilot.click("#step", offset=(12, 0))
        await until_shown(pilot, "by id (descending)")
        assert "n49" in squeezed(app)


async def test_a_value_leads_to_its_source_and_back(store: Store) -> None:
    calls = (
        ToolCall(name="get_top_brand", arguments={}),
        ToolCall(name="query_beer_factory", arguments={"question": "Dixie", "limit": 3}),
    )
    earlier = toy.prediction(calls=calls)
    instance = toy.instance(query="Which brewer of it sells in Denver?")
    wiring = toy.wiring(instance="u-1", store=store, instances=[instance], runs=[toy.ToyRun("r", [earlier])])
    async with opened(wiring) as (_, pilot):
        await go_to(pilot, 2, "2")
        await until_shown(pilot, "\u2190 from turn 1 of the dialogue")
        await pilot.press("u")
        await until_shown(pilot, "answer Dixie")
        await pilot.press("down", "u")
        await until_shown(pilot, "seen nowhere before")


async def test_a_value_of_a_response_is_shown_in_it(store: Store) -> None:
    calls = (
        ToolCall(name="get_locations", arguments={}),
        ToolCall(name="query_beer_factory", arguments={"question": "Biloxi"}),
    )
    wiring = toy.wiring(instance="u-1", store=store, runs=[toy.ToyRun("r", [toy.prediction(calls=calls)])])
    async with opened(wiring) as (app, pilot):
        await go_to(pilot, 2, "u")
        await until_shown(pilot, "step 1: get_locations")
        await until_shown(pilot, "1 of 1")
        assert "[response]" in squeezed(app)
        assert '1: "Biloxi"' in squeezed(app)
        await pilot.press("U")
        await until_shown(pilot, "step 2: query_beer_factory")
        assert "[call]" in squeezed(app)
        await pilot.press("U")
        await until_shown(pilot, "no jump to come back from")


async def test_the_other_places_of_a_value_are_gone_to_one_after_the_other(store: Store) -> None:
    calls = (
        ToolCall(name="get_locations", arguments={}),
        ToolCall(name="get_locations", arguments={}),
        ToolCall(name="query_beer_factory", arguments={"question": "Biloxi"}),
    )
    wiring = toy.wiring(instance="u-1", store=store, runs=[toy.ToyRun("r", [toy.prediction(calls=calls)])])
    async with opened(wiring) as (_, pilot):
        await go_to(pilot, 3)
        await until_shown(pilot, "from the response of step 2 (also in step 1)")
        await pilot.press("u")
        await until_shown(pilot, "step 2: get_locations")
        await until_shown(pilot, "u again: step 1")
        await pilot.press("u")
        await until_shown(pilot, "step 1: get_locations")
        await until_shown(pilot, "1 of 1")
        await pilot.press("U")
        await until_shown(pilot, "step 3: query_beer_factory")
        await pilot.press("U")
        await until_shown(pilot, "no jump to come back from")


async def test_rows_that_cannot_be_read_say_so_and_are_read_again(store: Store) -> None:
    class Failing(View):
        fails = False

        def rows(self, start: int, stop: int) -> Any:
            if self.fails and start >= 64:
                raise EnvironmentFailure("the server went away")
            return super().rows(start, stop)

    view = Failing(["id"], [(index,) for index in range(1000)])
    call = ToolCall(name="get_top_brand", arguments={})
    wiring = toy.wiring(
        instance="u-1",
        store=store,
        runs=[toy.ToyRun("r", [toy.prediction(calls=(call,))])],
        environment=TabledEnvironment(view),
    )
    async with opened(wiring) as (app, pilot):
        await go_to(pilot, 1, "t", "t")
        await until_shown(pilot, "1,000 rows")
        view.fails = True
        await pilot.press("end")
        await until_shown(pilot, "not read l tries again the server went away")
        assert "That did not work" not in squeezed(app)
        view.fails = False
        await pilot.press("l")
        await until_shown(pilot, "1000 999")


async def test_the_raw_messages_of_a_step_are_shown(store: Store) -> None:
    class Tapped(toy.ToySession):
        forks_by_copy = False

        def __init__(self, environment: toy.ToyEnvironment) -> None:
            super().__init__(environment)
            self.calls: list[Any] = []

        async def call(self, name: str, arguments: Any) -> Any:
            self.calls.append((name, dict(arguments)))
            return await super().call(name, arguments)

        def exchange(self, number: int) -> WireExchange:
            text = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call"})
            sent = RawMessage(direction="sent", text=text, size=len(text))
            return WireExchange(server="small server", tool="t", messages=(sent,), stderr=("\x1b[31mwarned",))

        async def fork(self) -> Tapped:
            return Tapped(self.environment)

    class Environment(toy.ToyEnvironment):
        kind = "config"

        async def open(self, instance: Any) -> Tapped:
            return Tapped(self)

    wiring = toy.wiring(instance="u-1", store=store, environment=Environment(toy.ANSWERS))
    async with opened(wiring) as (app, pilot):
        await go_to(pilot, 1, "T")
        await until_shown(pilot, '"method": "tools/call"')
        assert "small server" in squeezed(app)
        assert "\u241b[31mwarned" in squeezed(app)
        await go_to(pilot, 4)
        await until_shown(pilot, "no call, so nothing was sent to a tool")


async def test_schema_violations_stand_beside_their_arguments(store: Store) -> None:
    environment = toy.ToyEnvironment(toy.ANSWERS)
    schema = {
        "type": "object",
        "properties": {"limit": {"type": "integer", "description": "how many"}, "name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    }
    environment.tools = [
        ToolSpec(name=tool.name, input_schema=schema, description="a tool") for tool in environment.tools
    ]
    call = ToolCall(name="get_top_brand", arguments={"limit": "many", "colour": "red"})
    wiring = toy.wiring(
        instance="u-1", store=store, environment=environment, runs=[toy.ToyRun("r", [toy.prediction(calls=(call,))])]
    )
    async with opened(wiring) as (app, pilot):
        await go_to(pilot, 1)
        text = squeezed(app)
        assert "\u2717 a string where the schema wants integer" in text
        assert "\u2717 the tool has no such argument" in text
        assert "name \u2717 missing string, required" in text
        assert "! schema" in text


async def test_folded_panes_tell_a_search_beside_the_title(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store), SMALL) as (app, pilot):
        await go_to(pilot, 2, "t")
        await search(pilot, "dixie")
        await until_shown(pilot, "step 2: query_beer_factory \u201cdixie\u201d: 1 of 2")
        assert all(len(row) <= 80 for row in shown(app).split("\n"))
        await pilot.press("b")
        await pilot.pause()
        assert "1 of 2" not in squeezed(app)


async def test_what_is_folded_outlives_a_mark_on_the_step(store: Store) -> None:
    answer = json.dumps({"inner": {"a": 1}, "more": {"b": 2}})
    environment = toy.ToyEnvironment({**toy.ANSWERS, "get_top_brand": answer})
    async with opened(toy.wiring(instance="u-1", store=store, environment=environment)) as (app, pilot):
        await go_to(pilot, 1, "t")
        await until_shown(pilot, "a: 1")
        await pilot.press("down", "enter")
        await until_shown(pilot, "inner: {\u2026} 1 key")
        scene = debugger(app).scene
        await pilot.press("m")
        await until(pilot, lambda: debugger(app).scene is not scene, "a new scene")
        assert "inner: {\u2026} 1 key" in squeezed(app)


async def test_what_is_sorted_outlives_an_evaluation(store: Store) -> None:
    view = View(["id", "name"], [(number, f"n{number}") for number in range(50)])
    async with opened(toy.wiring(instance="u-1", store=store, environment=TabledEnvironment(view))) as (app, pilot):
        await go_to(pilot, 2, "t", "t")
        await until_shown(pilot, "n20")
        await pilot.press("enter")
        await until_shown(pilot, "by id (ascending)")
        await pilot.press("enter")
        await until_shown(pilot, "by id (descending)")
        scene = debugger(app).scene
        await pilot.press("v")
        await until(pilot, lambda: debugger(app).scene is not scene, "a new scene")
        assert "by id (descending)" in squeezed(app)
        assert "n49" in squeezed(app)


async def test_a_search_that_takes_long_is_stopped(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = Event()

    def endless(self: JsonTree, needle: Needle, stop: Callable[[], bool]) -> list[Any]:
        while not stop():
            time.sleep(0.01)
        ended.set()
        return []

    monkeypatch.setattr(JsonTree, "find", endless)
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await go_to(pilot, 1, "t")
        await until_shown(pilot, 'brand: "Dixie"')
        await search(pilot, "x")
        await until_shown(pilot, "searching")
        await pilot.press("X")
        await until_shown(pilot, "Stopped; what was shown stays.")
        await until(pilot, ended.is_set, "the worker to end")
        assert "searching" not in border(app)
        assert 'brand: "Dixie"' in squeezed(app)


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_a_value_of_the_policy_is_shown_in_it(store: Store, size: tuple[int, int]) -> None:
    calls = (ToolCall(name="query_beer_factory", arguments={"question": "breweries and meals"}),)
    wiring = toy.wiring(instance="u-1", store=store, runs=[toy.ToyRun("r", [toy.prediction(calls=calls)])])
    async with opened(wiring, size) as (app, pilot):
        await go_to(pilot, 1, "u")
        await until_shown(pilot, "in the policy above" if size == WIDE else "The policy, which has")
        assert "breweries and meals, make sure" in squeezed(app)
