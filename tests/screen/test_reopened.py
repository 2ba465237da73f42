"""A session that is opened again: the verdicts of its branches come back, and so does what stands beside its answer."""

from __future__ import annotations

from pathlib import Path

import msgspec
import screen_toy as toy
from screen_opening import opened
from screen_reading import debugger, pane, until
from screen_session import predicted, session_on

from sessions.store import Store
from sessions.trajectory import Answer, CallTool
from toolenv.model import ToolCall
from vakra_tui.app import VakraApp
from vakra_tui.screens.instances import InstancesScreen
from vakra_tui.widgets.line_view import LineView


def step_pane(app: VakraApp) -> str:
    return pane(app, debugger(app).query_one("#step", LineView))


async def test_verdicts_of_every_branch_come_back() -> None:
    address = Store.open("sqlite://")
    made = {"store": address, "runs": predicted(("get_top_brand", {}))}
    async with session_on(toy.wiring(**made)) as session:
        assert session.scene is not None and session.scene.verdict is not None
        recorded = session.scene.verdict.passed
        await session.play(Answer(text="no idea"), 1)
        await session.evaluate()
        await session.look_at(0)
        before = {row.number: (row.passed, row.judged) for row in session.scene.tree}
    async with session_on(toy.wiring(**made)) as session:
        assert session.scene is not None
        assert {row.number: (row.passed, row.judged) for row in session.scene.tree} == before
        assert [row.judged for row in session.scene.tree] == [True, True]
        await session.look_at(0)
        assert session.scene.verdict is not None and session.scene.verdict.passed == recorded
        assert not session.scene.stale and session.scene.first_trouble is not None


async def test_a_verdict_of_fewer_steps_or_of_another_judge_does_not_come_back() -> None:
    made = {"store": Store.open("sqlite://"), "runs": predicted(("get_top_brand", {}))}
    again = CallTool(call=ToolCall(name="get_top_brand", arguments={}))
    async with session_on(toy.wiring(**made)) as session:
        await session.play(again, 1)
        await session.evaluate()
        await session.play(again, 2)
        store, ref = session.world.keeping.ready(), session._kept_in()[1]
        assert store is not None and ref is not None
        kept = (await store.load(ref.key)).verdicts[0]
        await store.put_verdict(ref.id, msgspec.structs.replace(kept, judge="another", passed=True, created_at=0.0))
    async with session_on(toy.wiring(**made)) as session:
        assert session.scene is not None
        assert [(row.judged, row.passed) for row in session.scene.tree] == [(True, False), (False, None)]
        assert session.scene.verdict is None


async def test_the_reference_answer_stands_beside_the_answer_that_one_comes_back_to(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'sessions.sqlite'}"
    for _ in range(2):
        async with opened(toy.wiring(store=Store.open(address), instance="u-1"), (160, 45)) as (app, pilot):
            await pilot.press("end")
            await until(pilot, lambda: debugger(app).cursor == 3, "the answer")
            await until(pilot, lambda: "reference answer" in step_pane(app), "the reference's answer")
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, InstancesScreen), "the list")
            await app.workers.wait_for_complete()
