"""Two trajectories side by side by their keys: differences named, gone through, and the way into the debugger."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import screen_toy as toy
from screen_opening import SMALL, WIDE, opened
from screen_reading import debugger, pane, rows, shown, squeezed, until, until_settled, until_shown
from textual.pilot import Pilot

from sessions.store import Store
from toolenv.errors import DataError, EnvironmentFailure
from toolenv.model import Instance, Json, Prediction, ToolCall, ToolResult
from vakra_tui.app import VakraApp
from vakra_tui.screens.compare import CompareScreen
from vakra_tui.screens.instances import InstancesScreen


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")


def call(tool: str, /, **arguments: Any) -> ToolCall:
    return ToolCall(name=tool, arguments=arguments)


LEFT = (
    call("get_top_brand", limit=3),
    call("query_beer_factory", question="Who brews Dixie?"),
    call("get_city", name="Zanzibar"),
)
RIGHT = (
    call("get_top_brand", limit=5, order="up"),
    call("query_beer_factory", question="Who brews Dixie?"),
    call("get_locations", name="Dixie Brewing"),
)


def wiring(store: Store, *, more: tuple[str, ...] = (), **changes: Any) -> toy.ToyWiring:
    runs = [
        toy.ToyRun("left-run", [toy.prediction("u-1", calls=LEFT)]),
        toy.ToyRun("right-run", [toy.prediction("u-1", calls=RIGHT, answer="Denver")]),
        *(toy.ToyRun(name, [toy.prediction("u-1")]) for name in more),
    ]
    instances = [toy.instance("u-1", policy=""), toy.instance("u-2", policy="")]
    return toy.wiring(store=store, instances=instances, runs=runs, **changes)


async def compared(pilot: Pilot[int]) -> CompareScreen:
    """The comparison, made."""
    app: VakraApp = pilot.app  # type: ignore[assignment]
    await until(pilot, lambda: isinstance(app.screen, CompareScreen) and app.screen.found is not None, "the comparison")
    assert isinstance(app.screen, CompareScreen)
    return app.screen


class HandleEnvironment(toy.ToyEnvironment):
    """Makes a table, in name, of every sort."""

    async def open(self, instance: Instance) -> toy.ToySession:
        return HandleSession(self)


class HandleSession(toy.ToySession):
    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        result = await super().call(name, arguments)
        return msgspec.structs.replace(result, handle="sorted_1") if name == "sort" else result

    async def fork(self) -> toy.ToySession:
        return HandleSession(self.environment)


def detail(app: VakraApp) -> str:
    return pane(app, app.screen.query_one("#compare-detail"))


async def test_two_runs_of_a_row_side_by_side(store: Store) -> None:
    async with opened(wiring(store), WIDE) as (app, pilot):
        await pilot.press("C")
        await compared(pilot)
        text = squeezed(app)
        assert "Compare beer_factory / cap 4 / u-1" in text
        assert "< left left-run" in text and "> right right-run" in text
        assert "= 1 same ≠ 1 other arguments ≠ 1 other answer < 1 only left > 1 only right" in text
        assert "1 hop recovered by one side only" in text
        assert "gates differ: tool sequence" in text
        assert "≠ other arguments 1 get_top_brand(limit=3)" in text
        assert "= same 2 query_beer_factory" in text
        assert "< only left 3 x failed get_city" in text
        assert "> only right" in text and '3 get_locations(name="Dixie Brewing")' in text
        assert "hop 3 API ✗ MISSING" in text and "✓ recovered @3" in text
        assert "failed: tool sequence" in text and "passed" in text
        assert '≠ limit < 3 > 5 ≠ order only right > "up"' in detail(app)
        assert store.sessions().items == ()


async def test_differences_are_gone_through(store: Store) -> None:
    async with opened(wiring(store), WIDE) as (app, pilot):
        await pilot.press("C")
        await compared(pilot)
        assert "≠ other arguments get_top_brand" in detail(app)
        seen = []
        for _ in range(4):
            await pilot.press("full_stop")
            seen.append(detail(app))
        assert "< only left get_city step 3 of left-run" in seen[0]
        assert "Error calling API: 422" in seen[0]
        assert "> only right get_locations step 3 of right-run" in seen[1]
        assert "recovers hop 3" in seen[1]
        assert "≠ other answer final answer" in seen[2]
        assert "< It is Dixie Brewing. > Denver" in seen[2]
        assert "hop 3 API get_locations" in seen[3]
        assert "< left-run ✗ MISSING lacks 'Denver', 'Biloxi' > right-run ✓ recovered @3" in seen[3]
        await pilot.press("comma")
        assert "≠ other answer" in detail(app)
        await pilot.press("full_stop", "full_stop")
        assert "tool sequence" in detail(app)
        assert "by offline: hop 3 (get_locations) needs" in detail(app) or "✗ FAIL" in detail(app)
        await pilot.press("end", "full_stop")
        await until_shown(pilot, "No further difference.")
        await pilot.press("D")
        assert "= same 2" not in squeezed(app)
        await pilot.press("D", "x")
        await until_shown(pilot, "< left right-run")


async def test_a_row_leads_into_the_debugger_at_its_step(store: Store) -> None:
    async with opened(wiring(store), WIDE) as (_, pilot):
        await pilot.press("C")
        await compared(pilot)
        await pilot.press("full_stop", "full_stop", "1")
        await until_shown(pilot, "The left side has no step here.")
        await pilot.press("enter")
        screen = await until_settled(pilot)
        assert screen.session.subject is not None and screen.session.subject.run == "right-run"
        await until_shown(pilot, "step 3: get_locations")


async def test_eighty_columns_name_everything(store: Store) -> None:
    async with opened(wiring(store), SMALL) as (app, pilot):
        await pilot.press("C")
        await compared(pilot)
        text = squeezed(app)
        assert all(len(row) <= 80 for row in rows(app))
        assert "≠ other arguments 1|1 get_top_brand limit, order" in text
        assert "< only left 3|- get_city" in text
        assert "> only right -|3 get_locations" in text
        assert "≠ limit" in detail(app)
        for side in ("left", "right"):
            head = pane(app, app.screen.query_one(f"#compare-{side}"))
            assert "tool sequence" in head and "final response" in head and "…" not in head
        counts = pane(app, app.screen.query_one("#compare-counts"))
        assert "1 hop and 3 gates differ" in counts and "> 1 only right" in counts and "…" not in counts
        await pilot.press("tab", "end")
        assert '≠ order only right > "up"' in detail(app)
        await pilot.press("escape")
        assert isinstance(app.screen, InstancesScreen)


async def test_long_names_leave_room_for_the_gates_at_eighty_columns(store: Store) -> None:
    made = wiring(store)
    runs = [toy.ToyRun(f"a-model-with-a-very-long-name-{n}", [toy.prediction("u-1")]) for n in (1, 2)]
    made.use({run.name: run for run in runs})
    async with opened(made, SMALL) as (app, pilot):
        await pilot.press("C")
        await compared(pilot)
        for number, side in enumerate(("left", "right"), start=1):
            head = pane(app, app.screen.query_one(f"#compare-{side}"))
            assert f"-long-name-{number} " in head
            assert head.count("…") == 1 and "final response" in head


async def test_of_more_runs_two_are_chosen(store: Store) -> None:
    async with opened(wiring(store, more=("third",)), WIDE) as (app, pilot):
        await pilot.press("C")
        await until_shown(pilot, "The left side")
        await pilot.press("down", "enter")
        await until_shown(pilot, "The right side")
        assert "right-run" not in pane(app, app.screen.query_one("#choices"))
        await pilot.press("down", "enter")
        screen = await compared(pilot)
        assert screen.found is not None
        assert (screen.found.left.name, screen.found.right.name) == ("right-run", "third")
        await pilot.press("escape", "down", "C")
        await until_shown(pilot, "A comparison needs two runs with a prediction of this instance.")


class HeldEnvironment(toy.ToyEnvironment):
    """Answers when it is released."""

    def __init__(self) -> None:
        super().__init__(toy.ANSWERS)
        self.released = asyncio.Event()

    async def pause(self) -> None:
        await self.released.wait()


@pytest.mark.parametrize("key", ["escape", "X"])
async def test_execution_is_told_and_can_be_stopped(store: Store, key: str) -> None:
    environment = HeldEnvironment()
    async with opened(wiring(store, environment=environment), WIDE) as (app, pilot):
        await pilot.press("C")
        await until(pilot, lambda: "0 of 4 steps" in shown(app) and "left-run:" in shown(app), "progress")
        assert "Esc stops" in shown(app)
        await pilot.press(key)
        await until(pilot, lambda: isinstance(app.screen, InstancesScreen), "the list")
        app.engine.loop.call_soon_threadsafe(environment.released.set)
        await app.engine.run(app.world.truth(toy.instance("u-1", policy="")))
        assert {name for name, _ in environment.calls} == {"get_top_brand", "query_beer_factory", "get_locations"}


async def test_the_debuggers_run_beside_another_run(store: Store) -> None:
    async with opened(wiring(store, instance="u-1"), WIDE) as (app, pilot):
        await pilot.press("C")
        await compared(pilot)
        assert "< left left-run" in squeezed(app)
        await pilot.press("2")
        await until(pilot, lambda: app.screen is debugger(app), "the debugger")
        screen = await until_settled(pilot)
        await until(pilot, lambda: debugger(app).session.subject is not None, "a subject")
        assert debugger(app).session.subject.run == "right-run"  # type: ignore[union-attr]
        await until_shown(pilot, "step 1: get_top_brand")
        assert screen is not None


async def test_two_branches_and_back_to_the_step(store: Store) -> None:
    one = toy.wiring(store=store, instances=[toy.instance("u-1", policy="")], instance="u-1")
    async with opened(one, WIDE) as (app, pilot):
        await pilot.press("C")
        await until_shown(pilot, "There is no other run or branch to compare.")
        await pilot.press("1", "home", "b", "0")
        await until_shown(pilot, "Before the first step")
        await pilot.press("s")
        await until(pilot, lambda: debugger(app).scene.executed == 1, "a step")  # type: ignore[union-attr]
        here = debugger(app).scene.on_branch  # type: ignore[union-attr]
        assert here == 1
        await pilot.press("C")
        screen = await compared(pilot)
        assert screen.found is not None
        assert (screen.found.left.kind, screen.found.right.name) == ("branch", "main (run gpt-oss-120b)")
        assert "> 3 only right" in squeezed(app)
        assert "not evaluated: it is not finished" in squeezed(app)
        assert debugger(app).scene.on_branch == 1  # type: ignore[union-attr]
        await pilot.press("full_stop", "2")
        await until(pilot, lambda: app.screen is debugger(app), "the debugger")
        await until(pilot, lambda: debugger(app).scene.on_branch == 0, "the other branch")  # type: ignore[union-attr]
        await until_shown(pilot, "step 3: get_city")


HOSTILE = "[/red] \x1b[31m\u202e[null] \u0301x\n[b"


async def test_hostile_text_is_compared_harmlessly(store: Store) -> None:
    answers = {**toy.ANSWERS, HOSTILE: json.dumps({HOSTILE: HOSTILE})}
    runs = [
        toy.ToyRun(HOSTILE, [toy.prediction("u-1", calls=(call(HOSTILE, name=HOSTILE),), answer=HOSTILE)]),
        toy.ToyRun("r", [toy.prediction("u-1", calls=(call(HOSTILE, name=HOSTILE * 2),), answer="x")]),
    ]
    instances = [toy.instance("u-1", policy="", query=HOSTILE)]
    made = toy.wiring(store=store, instances=instances, runs=runs, environment=toy.ToyEnvironment(answers))
    for size in (WIDE, SMALL):
        async with opened(made, size) as (app, pilot):
            await pilot.press("C")
            await compared(pilot)
            for _ in range(6):
                assert "\x1b" not in shown(app)
                assert "\u202e" not in shown(app)
                await pilot.press("full_stop")
            assert "[/red]" in shown(app)
            await pilot.press("escape")


async def test_handles_of_one_name_are_told_apart_by_the_steps_behind_them(store: Store) -> None:
    environment = HandleEnvironment({"sort": "x", "count": "1"})
    calls = {"a": (call("sort", limit=1), call("count", name="sorted_1")), "b": (call("count", name="sorted_1"),)}
    runs = [toy.ToyRun(name, [toy.prediction("u-1", calls=made)]) for name, made in calls.items()]
    instances = [toy.instance("u-1", policy="")]
    made = toy.wiring(store=store, instances=instances, runs=runs, environment=environment)
    async with opened(made, WIDE) as (app, pilot):
        await pilot.press("C")
        await compared(pilot)
        await pilot.press("full_stop")
        assert "≠ other arguments count" in detail(app)
        assert '< "sorted_1" the table of step 1 sort' in detail(app)
        assert '> "sorted_1" no step of this side made it' in detail(app)


class DamagedRun(toy.ToyRun):
    """Its records cannot be read."""

    def load(self, ref: toy.Ref) -> Prediction:
        raise DataError("right/beer_factory.json record 3: 'output' is missing")


async def test_a_record_that_cannot_be_read_is_one_sentence(store: Store) -> None:
    made = wiring(store)
    damaged = DamagedRun("damaged", [toy.prediction("u-1")])
    made.runs = (made.runs[0], damaged)
    made.run_names = ("left-run", "damaged")
    async with opened(made, WIDE) as (app, pilot):
        await pilot.press("C")
        await until_shown(pilot, "Cannot compare")
        assert "record 3: 'output' is missing" in squeezed(app)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, InstancesScreen), "the list")


class ClosedEnvironment(toy.ToyEnvironment):
    """Cannot be reached."""

    async def open(self, instance: Instance) -> toy.ToySession:
        raise EnvironmentFailure("the container vakra-1 is not running")


async def test_an_environment_that_cannot_be_reached_is_said(store: Store) -> None:
    async with opened(wiring(store, environment=ClosedEnvironment(toy.ANSWERS)), WIDE) as (app, pilot):
        await pilot.press("C")
        await compared(pilot)
        assert "! left-run cannot be executed: the container vakra-1 is not running" in squeezed(app)


class CountingUp(toy.ToyEnvironment):
    """Its answers differ from call to call."""

    def __init__(self) -> None:
        super().__init__({"rows": ""})
        self.made = 0

    async def pause(self) -> None:
        self.made += 1
        self.answers["rows"] = json.dumps({"rows": [{"n": n * self.made} for n in range(20_000)]})


async def test_large_responses_are_compared_beside_the_screen(store: Store) -> None:
    runs = [toy.ToyRun(name, [toy.prediction("u-1", calls=(call("rows"),))]) for name in "ab"]
    instances = [toy.instance("u-1", policy="", calls=(call("rows"),))]
    made = toy.wiring(store=store, instances=instances, runs=runs, environment=CountingUp())
    async with opened(made, WIDE) as (app, pilot):
        await pilot.press("C")
        await compared(pilot)
        assert "~ 1 other response" in squeezed(app)
        await until(pilot, lambda: "response ~ differs" in detail(app), "the differences")
        assert "rows[1].n" in detail(app)
        await pilot.press("tab", "end")
        assert "and 19,987 more values that differ" in detail(app)
