"""The form of a call and of the answer: where they begin, what they warn of, what they offer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import screen_toy as toy
from screen_opening import SMALL, WIDE, opened
from screen_reading import debugger, pane, pick, squeezed, until, until_settled, until_shown
from screen_session import predicted
from textual.geometry import Region
from textual.pilot import Pilot

from sessions.store import Store
from sessions.trajectory import Step
from toolenv.model import ToolCall
from vakra_tui.app import VakraApp
from vakra_tui.options import Options
from vakra_tui.sample import sample_runs
from vakra_tui.screens.call import CallScreen, FieldInput
from vakra_tui.screens.debugger import DebuggerScreen
from vakra_tui.screens.tools import ToolsScreen
from vakra_tui.state.answering import Offered, offered
from vakra_tui.state.scene import StepRow
from vakra_tui.wiring import Wiring


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")


def focused(app: object) -> str:
    """The argument whose field has the keyboard."""
    field = app.focused  # type: ignore[attr-defined]
    assert isinstance(field, FieldInput)
    return field.field.name


def of_sample(sieve: str, folder: Path) -> Wiring:
    """The flawed run on one instance of the sample that broke in this way."""
    found = {"argument_values": "04f88e0a70fd-e21e7704fa8d", "argument_names": "04f88e0a70fd-cd891d69f51d"}
    runs, database = (str(sample_runs()["flawed"]),), f"sqlite:///{folder / 's.sqlite'}"
    return Wiring(Options(instances=(found[sieve],), runs=runs, db=database))


@asynccontextmanager
async def debugged(wiring: Wiring, size: tuple[int, int]) -> AsyncIterator[tuple[VakraApp, Pilot[Any]]]:
    """The debugger on the one instance of a wiring."""
    app = VakraApp(wiring)
    async with app.run_test(size=size, notifications=True) as pilot:
        await until(pilot, lambda: app.opened, "the list")
        if not isinstance(app.screen, DebuggerScreen):
            await pilot.press("enter")
        await until_settled(pilot)
        yield app, pilot


@pytest.mark.parametrize("size", [WIDE, (120, 36), SMALL])
async def test_the_form_begins_with_the_argument_that_was_led_to(tmp_path: Path, size: tuple[int, int]) -> None:
    async with debugged(of_sample("argument_values", tmp_path), size) as (app, pilot):
        await pilot.press("i", "e")
        await until(pilot, lambda: isinstance(app.screen, CallScreen), "the form")
        await until_shown(pilot, 'value is "Soviet Union" where "United States" is due')
        assert focused(app) == "value"
        assert "! value" in squeezed(app)


async def test_the_form_begins_with_the_argument_that_a_person_chose(tmp_path: Path) -> None:
    async with debugged(of_sample("argument_values", tmp_path), WIDE) as (app, pilot):
        await pilot.press("i", "2", "up", "e")
        await until(pilot, lambda: isinstance(app.screen, CallScreen), "the form")
        assert focused(app) == "key_name"


async def test_the_form_tells_what_it_leaves_out(tmp_path: Path) -> None:
    async with debugged(of_sample("argument_names", tmp_path), SMALL) as (app, pilot):
        await pilot.press("i", "e")
        await until_shown(pilot, "the tool has no such argument")
        assert "left out" in squeezed(app)
        assert isinstance(app.focused, FieldInput), "the argument that is missing, or the first one"


async def test_what_the_schema_accepts_and_the_reference_gives_are_told_together(store: Store) -> None:
    runs = predicted(
        ("get_top_brand", {}), ("query_beer_factory", {"question": "Who brews Dixie?"}), ("get_locations", {})
    )
    async with opened(toy.wiring(instance="u-1", store=store, runs=runs)) as (app, pilot):
        await pilot.press("home", "down", "down", "e")
        await until_shown(pilot, "the schema accepts this; the reference gives name")
        assert 'the call leaves it out; the reference gives "Dixie Brewing"' in squeezed(app)
        await pilot.press("D")
        await until(pilot, lambda: "accepts this;" not in squeezed(app), "the name is given")


async def test_back_from_the_form_the_search_for_a_tool_is_as_it_was_left(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, ToolsScreen), "the tools")
        await pilot.press(*"get_", "down")
        left = app.screen.chosen  # type: ignore[attr-defined]
        assert left is not None
        for _ in range(2):
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, CallScreen), "the form")
            assert app.screen._spec is left  # type: ignore[attr-defined]
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, ToolsScreen), "the tools again")
            assert app.screen.query_one("#find").value == "get_"  # type: ignore[attr-defined]
            assert app.screen.chosen is left  # type: ignore[attr-defined]
        await pilot.press(*"city")
        await until(pilot, lambda: app.screen.chosen.name == "get_city", "the search goes on")  # type: ignore[attr-defined]


async def test_the_form_of_an_edited_call_keeps_the_warning_of_the_policy(store: Store) -> None:
    runs = predicted(("get_top_brand", {}))
    async with opened(toy.wiring(instance="u-1", store=store, runs=runs, instances=[forbidding()])) as (app, pilot):
        await pilot.press("i", "e")
        await until(pilot, lambda: isinstance(app.screen, CallScreen), "the form")
        assert "! POLICY the policy allows document retrievers only" in squeezed(app)
        await pilot.press("escape", "n")
        await until_shown(pilot, "on offer")
        assert "! POLICY the policy allows document retrievers only" in squeezed(app)


def forbidding() -> object:
    """An instance to which the policy applies."""
    return toy.instance(domain="beer_factory", topics={"beer_factory": "Food & Drink"})


@pytest.mark.parametrize("size", [WIDE, SMALL])
async def test_the_answer_offers_the_value_under_the_cursor(store: Store, size: tuple[int, int]) -> None:
    async with opened(toy.wiring(instance="u-1", store=store), size) as (app, pilot):
        await pilot.press("b", "b", "b", "2", "t", "down", "a")
        await until_shown(pilot, "the value under the cursor; typing replaces it")
        field = app.screen.query_one("#answer")
        assert field.value == "Dixie"  # type: ignore[attr-defined]
        await pilot.press("N", "o")
        assert field.value == "No"  # type: ignore[attr-defined]
        await pilot.press("enter")
        await until_shown(pilot, "wheel: human")
        screen = await until_settled(pilot)
        assert screen.row is not None and screen.row.answer == "No"


async def test_on_an_answer_the_answer_itself_is_offered(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("end", "a")
        await until_shown(pilot, "the recorded answer; typing replaces it")
        assert app.screen.query_one("#answer").value == "It is Dixie Brewing."  # type: ignore[attr-defined]


def answered(text: str, **changes: object) -> StepRow:
    from sessions.trajectory import CallTool
    from toolenv.model import ToolResult

    call = ToolCall(name="t", arguments={})
    step = Step(decision=CallTool(call=call), result=ToolResult(text=text), actor="recording", **changes)  # type: ignore[arg-type]
    return StepRow(number=2, actor="recording", tool="t", outcome="ok", call=call, step=step)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"launched": "2006-01-19"}', "2006-01-19"),
        ("[[7]]", "7"),
        ('{"a": true}', "true"),
        ('{"a": 1, "b": 2}', ""),
        ("[]", ""),
        ('{"a": null}', ""),
        ("no JSON", ""),
        ("[" * 5000, ""),
        (f'"{"x" * 3000}"', ""),
    ],
)
def test_the_only_value_of_a_response_is_offered(text: str, value: str) -> None:
    found = offered(answered(text))
    assert found.text == value
    assert found.source == ("the only value of the response of step 2" if value else "")
    assert offered(None) == Offered()


async def test_the_raw_tab_shows_the_call_whole(store: Store) -> None:
    long = "Who brews it? " * 40 + "the end of the call"
    runs = predicted(("query_beer_factory", {"question": long}))
    async with opened(toy.wiring(instance="u-1", store=store, runs=runs), SMALL) as (app, pilot):
        await pilot.press("home", "2", "t", "t", "t")
        await until_shown(pilot, "[raw]")
        shown = pane(app, debugger(app).query_one("#step")).replace(" ", "")
        assert "theendofthecall" in shown


@pytest.mark.parametrize("size", [WIDE, (120, 36), SMALL])
async def test_toasts_leave_the_lines_of_the_verdict_free(store: Store, size: tuple[int, int]) -> None:
    async with opened(toy.wiring(instance="u-1", store=store), size) as (app, pilot):
        before = pane(app, debugger(app).query_one("#waterfall"))
        await pilot.press("U")
        await until_shown(pilot, "There is no jump to come back from")
        toast: Region = app.screen.query_one("Toast").region
        waterfall = debugger(app).query_one("#waterfall")
        assert toast.height > 0 and not toast.overlaps(waterfall.region)
        assert "BROKEN" in before and pane(app, waterfall) == before


async def test_a_replayed_recording_says_so_on_its_branch(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store), SMALL) as (_, pilot):
        await pilot.press("b", "b", "w")
        await pick(pilot, "recording")
        await until_shown(pilot, "wheel: recording, replays its old calls and answer")
        await pilot.press("down", "down", "2")
        await until_shown(pilot, "the recording replays its old calls and answer, whatever this branch answered")


async def test_a_verdict_names_no_step_that_was_not_run(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("0")
        await until_shown(pilot, "Before the first step")
        await until_settled(pilot)
        await pilot.press("v")
        await until_shown(pilot, "no call was made so far")
        text = pane(app, debugger(app).query_one("#waterfall"))
        assert "BROKEN no call was made so far" in text
        assert "step 1" not in text and "step 3" not in text
