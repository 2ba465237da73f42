"""What a person does is done where it was asked for, by whom it was asked, and as it was typed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import screen_toy as toy
from screen_opening import opened
from screen_reading import debugger, squeezed, until, until_settled, until_shown
from screen_session import predicted, session_on

from sessions.store import Store
from sessions.trajectory import Message
from toolenv.errors import DataError
from toolenv.model import ToolSpec
from vakra_tui.state.form import fields_of
from vakra_tui.state.lines import text_of
from vakra_tui.state.panes import head, step
from vakra_tui.state.panes.call import argument_blocks
from vakra_tui.state.panes.waterfall import strip_lines
from vakra_tui.state.session import DebugSession


@pytest.fixture
async def session() -> AsyncIterator[DebugSession]:
    async with session_on(toy.wiring(store=Store.open("sqlite://"))) as session:
        yield session


class NoAgent:
    """An agent that cannot be opened."""

    usual: Any = None

    def driver(self, *_: Any, **__: Any) -> Any:
        raise DataError("the agent react needs --model")


async def test_an_agent_that_cannot_be_opened_never_gets_the_wheel(
    session: DebugSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session.world.wiring, "agent_name", "react", raising=False)
    monkeypatch.setattr(session.world.wiring, "agent", NoAgent(), raising=False)
    for verb in (session.take_wheel("agent", 2), session.ask(2), session.ask(2)):
        with pytest.raises(DataError, match="needs --model"):
            await verb
        assert session.wheel == "recording"
    assert session.scene is not None and session.scene.wheel == "recording" and len(session.scene.tree) == 1


async def test_messages_after_a_step_are_not_shown_with_it(session: DebugSession) -> None:
    await session.take_wheel("human", 1)
    await session.decide_otherwise(Message(role="user", text="Said afterwards."))
    scene = session.scene
    assert scene is not None
    before, after = scene.rows[0], scene.rows[-1]
    assert "Said afterwards." not in text_of(step.message_lines(before, scene))
    assert "Said afterwards." in text_of(step.message_lines(after, scene))


async def test_a_verdict_of_an_earlier_state_is_never_told_as_that_of_this_one(session: DebugSession) -> None:
    scene = session.scene
    assert scene is not None and scene.verdict is not None
    import msgspec

    for verdict in (
        msgspec.structs.replace(scene.verdict, status="unscored", passed=None, reason="environment"),
        msgspec.structs.replace(scene.verdict, passed=None),
    ):
        told = head.header_note(msgspec.structs.replace(scene, verdict=verdict, stale=True))
        assert told is not None and told.text.startswith("steps were added")


async def test_a_hidden_reference_hides_what_would_have_been_right(session: DebugSession) -> None:
    await session.toggle_reference()
    scene = session.scene
    assert scene is not None and not scene.reference_shown
    assert "RIGHT" not in text_of(strip_lines(scene))
    assert "Denver" not in text_of(step.call_source(scene.rows[-1], scene).lines)


async def test_a_call_typed_while_the_cursor_moved_stands_where_it_was_asked(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path / 's.sqlite'}")
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("b", "b", "b", "n")
        await until_shown(pilot, "on offer")
        screen = debugger(app)
        screen._move(3)
        app.screen.query_one("#find").value = 'get_locations {"name": "Dixie"}'  # type: ignore[attr-defined]
        await pilot.press("enter")
        await until(pilot, lambda: screen.scene is not None and screen.scene.on_branch == 1, "a branch")
        await until_settled(pilot)
        assert [row.tool for row in screen.scene.rows] == ["get_top_brand", "get_locations"]  # type: ignore[union-attr]


def test_a_type_that_names_itself_ends() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "string"}]}},
    }
    assert fields_of(ToolSpec(name="t", description="", input_schema=schema))[0].types == ("string",)


async def test_an_invented_argument_is_told_once() -> None:
    runs = predicted(("get_top_brand", {"sort_by": 1}))
    async with session_on(toy.wiring(store=Store.open("sqlite://"), runs=runs)) as session:
        assert session.scene is not None
        lines: Sequence[Any] = [line for _, block in argument_blocks(session.scene.rows[0]) for line in block]
        text = text_of(lines)
        assert text.count("no such argument") + text.count("not in the schema") == 1


async def test_going_to_a_step_of_capability_1_before_the_opening_counts_the_opening(tmp_path: Path) -> None:
    from vakra_tui.app import VakraApp
    from vakra_tui.options import Options
    from vakra_tui.sample import sample_runs
    from vakra_tui.wiring import Wiring

    runs = (str(sample_runs()["flawed"]),)
    options = Options(
        instances=("04f88e0a70fd-e21e7704fa8d",), runs=runs, db=f"sqlite:///{tmp_path / 's.sqlite'}", capabilities=(1,)
    )
    app = VakraApp(Wiring(options))
    async with app.run_test(size=(120, 36)) as pilot:
        screen = await until_settled(pilot)
        await pilot.press("0")
        await until(pilot, lambda: screen.scene is not None and screen.scene.executed == 0, "the beginning")
        await pilot.press("g")
        await until_shown(pilot, "Go to step")
        await pilot.press("2", "enter")
        await until(pilot, lambda: screen.scene is not None and screen.scene.executed == 3, "the opening and two steps")
        await until_settled(pilot)
        assert screen.row is not None and screen.row.number == 2
        assert "not executed yet" not in squeezed(app)
