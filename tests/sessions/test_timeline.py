"""The debugger without a screen: cursor, branches, editing, scratch calls, what the store is given."""

from __future__ import annotations

import asyncio

import pytest
from counting import CountingEnvironment, make_instance

from sessions.branches import Cursor, as_prediction
from sessions.breakpoints import Breakpoint
from sessions.checks import check_schema
from sessions.drivers import HumanDriver, RecordingDriver
from sessions.events import StepEvent
from sessions.store import AsyncStore, NewSession, Store
from sessions.timeline import Timeline
from sessions.trajectory import Answer, CallTool, Step
from toolenv.model import Json, Prediction, ToolCall


def call(name: str, **arguments: Json) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


def recording(*calls: ToolCall, answer: str = "done") -> RecordingDriver:
    return RecordingDriver(Prediction(uuid="u-1", domain="counting", query="q", answer=answer, calls=calls))


THREE = (call("add", amount=1), call("add", amount=10), call("read"))


def counts(steps: tuple[Step, ...]) -> list[str]:
    return [step.result.text for step in steps if step.result is not None]


@pytest.fixture(params=[True, False], ids=["copies", "replays"])
def environment(request: pytest.FixtureRequest) -> CountingEnvironment:
    return CountingEnvironment(copies=request.param)


async def test_stepping_back_moves_the_cursor_and_nothing_else(environment: CountingEnvironment) -> None:
    timeline = Timeline(make_instance(), environment, recording(*THREE))
    await timeline.run()
    tree = timeline.tree
    assert timeline.cursor == Cursor(branch=0, at=4)
    assert timeline.back() and timeline.back()
    assert timeline.trajectory.steps == timeline.steps[:2]
    assert await timeline.step() == timeline.steps[2]
    assert timeline.tree is tree
    assert not timeline.go_to(5) and not timeline.go_to(-1)


async def test_an_edited_call_opens_a_branch_and_the_recording_goes_on(environment: CountingEnvironment) -> None:
    timeline = Timeline(make_instance(), environment, recording(*THREE))
    await timeline.run()
    before = timeline.tree.steps(0)
    await timeline.edit(2, call("add", amount=100))
    await timeline.run()
    assert timeline.tree.steps(0) == before
    assert counts(timeline.steps) == ['{"count": 1}', '{"count": 101}', '{"count": 101}']
    assert [step.actor for step in timeline.steps] == ["recording", "human", "recording", "recording"]
    assert timeline.branch.name == "fork 2a"
    relations = [pair.relation for pair in timeline.compared(0, 1)]
    assert relations == ["same", "changed", "same", "same"]


async def test_the_promoted_branch_is_exported(environment: CountingEnvironment) -> None:
    timeline = Timeline(make_instance(), environment, recording(*THREE))
    await timeline.run()
    await timeline.edit(3, call("add", amount=1))
    await timeline.decide(Answer(text="twelve"))
    assert timeline.prediction().answer == "done"
    timeline.promote()
    exported = timeline.prediction()
    assert exported.answer == "twelve"
    assert exported.calls == (*THREE[:2], call("add", amount=1))
    assert exported.responses == ('{"count": 1}', '{"count": 11}', '{"count": 12}')


async def test_a_decision_at_the_tip_stays_on_the_branch_and_one_in_the_past_forks() -> None:
    timeline = Timeline(make_instance(), CountingEnvironment(), HumanDriver())
    await timeline.decide(CallTool(call=call("add", amount=1)))
    await timeline.decide(CallTool(call=call("add", amount=2)))
    assert len(timeline.tree.branches) == 1
    timeline.go_to(1)
    await timeline.decide(CallTool(call=call("add", amount=5)))
    assert timeline.cursor == Cursor(branch=1, at=2)
    assert counts(timeline.steps) == ['{"count": 1}', '{"count": 6}']


async def test_forks_of_forks_share_their_prefixes(environment: CountingEnvironment) -> None:
    timeline = Timeline(make_instance(), environment, recording(*THREE))
    await timeline.run()
    await timeline.edit(3, call("add", amount=100))
    await timeline.fork(1)
    await timeline.decide(CallTool(call=call("read")))
    assert counts(timeline.steps) == ['{"count": 1}', '{"count": 1}']
    assert counts(timeline.tree.steps(1)) == ['{"count": 1}', '{"count": 11}', '{"count": 111}']
    assert timeline.tree.forks(1, 1) == (timeline.tree.branch(2),)


async def test_a_scratch_call_leaves_no_trace(environment: CountingEnvironment) -> None:
    timeline = Timeline(make_instance(), environment, recording(*THREE))
    await timeline.step()
    tree = timeline.tree
    done = await timeline.scratch(call("add", amount="1000"))
    assert done.result.text == '{"count": 1001}'
    assert timeline.tree is tree
    await timeline.run()
    assert counts(timeline.steps)[-1] == '{"count": 11}'


async def test_scratch_follows_the_cursor(environment: CountingEnvironment) -> None:
    timeline = Timeline(make_instance(), environment, recording(*THREE))
    await timeline.run()
    timeline.go_to(1)
    assert (await timeline.scratch(call("read"))).result.text == '{"count": 1}'


async def test_the_wheel_can_be_handed_over_at_any_step(environment: CountingEnvironment) -> None:
    timeline = Timeline(make_instance(), environment, HumanDriver())
    await timeline.decide(CallTool(call=THREE[0]))
    timeline.hand_over(recording(*THREE))
    await timeline.run()
    alone = Timeline(make_instance(), CountingEnvironment(), recording(*THREE))
    await alone.run()
    assert counts(timeline.steps) == counts(alone.steps)
    assert as_prediction(timeline.trajectory).calls == THREE


async def test_replaying_marks_what_drifted() -> None:
    environment = CountingEnvironment(copies=False)
    timeline = Timeline(make_instance(), environment, recording(*THREE))
    await timeline.run()
    environment.drift = 7
    await timeline.fork(3)
    assert [drift.outcome for drift in timeline.branch.replayed] == ["same", "same", "drifted"]
    assert '{"count": 18}' in timeline.branch.replayed[2].difference


async def test_breakpoints_stop_in_history_too() -> None:
    timeline = Timeline(make_instance(), CountingEnvironment(), recording(*THREE))
    await timeline.run()
    timeline.go_to(0)
    timeline.breakpoints = [Breakpoint(kind="tool", value="read")]
    pause = await timeline.resume()
    assert pause is not None and pause.number == 3 and pause.before
    assert timeline.cursor.at == 2
    assert await timeline.resume() is None


async def test_every_step_is_in_the_store_before_it_is_shown() -> None:
    store = Store.open("sqlite://")
    kept = AsyncStore(store)
    seen: list[tuple[int, int]] = []

    def shown(event: StepEvent) -> None:
        if event.moment == "observed":
            assert timeline.keeper is not None and timeline.keeper.ref is not None
            stored = store.load(timeline.keeper.ref.key)
            seen.append((event.number, len(stored.tree.steps(timeline.cursor.branch))))

    new = NewSession(instance=make_instance(), dataset="sha256:d", run="r1")
    timeline = Timeline(make_instance(), CountingEnvironment(), recording(*THREE), store=kept, new=new)
    timeline.listeners.append(shown)
    assert store.sessions().items == ()
    await timeline.run()
    await timeline.edit(2, call("add", amount=4))
    assert [number for number, _ in seen] == [1, 2, 3, 4, 2]
    assert all(kept >= number for number, kept in seen)
    assert timeline.keeper is not None and timeline.keeper.ref is not None
    timeline.promote()
    await timeline.save_place()
    stored = store.load(timeline.keeper.ref.key)
    assert stored.tree.steps(0) == timeline.tree.steps(0)
    assert stored.tree.steps(1) == timeline.tree.steps(1)
    assert (stored.cursor, stored.tree.promoted) == (timeline.cursor, 1)
    await timeline.close()
    await kept.close()


async def test_a_stored_session_is_gone_on_with() -> None:
    kept = AsyncStore(Store.open("sqlite://"))
    first = Timeline(make_instance(), CountingEnvironment(), recording(*THREE), store=kept)
    await first.step()
    await first.step()
    assert first.keeper is not None and first.keeper.ref is not None
    stored = await kept.load(first.keeper.ref.key)
    again = Timeline(
        stored.tree.instance,
        CountingEnvironment(),
        recording(*THREE),
        store=kept,
        tree=stored.tree,
        ref=first.keeper.ref,
        cursor=Cursor(branch=0, at=2),
    )
    await again.run()
    assert [drift.outcome for drift in again.branch.replayed] == ["same", "same"]
    stored = await kept.load(first.keeper.ref.key)
    assert counts(stored.tree.steps(0)) == ['{"count": 1}', '{"count": 11}', '{"count": 11}']
    assert stored.summary.steps == 4
    await kept.close()


async def test_capability_1_branches_are_opened_once() -> None:
    for copies in (True, False):
        timeline = Timeline(make_instance(1), CountingEnvironment(copies=copies), recording(call("read")))
        await timeline.run()
        assert [step.opening for step in timeline.steps] == [True, False, False]
        await timeline.edit(2, call("make_table", size=4))
        assert [step.opening for step in timeline.steps] == [True, False]
        executed = await timeline.executed()
        assert [table.num_records if table else None for table in executed.tables] == [3, 4]


async def test_cancelling_ends_one_call_only() -> None:
    events: list[StepEvent] = []
    environment = CountingEnvironment()
    timeline = Timeline(
        make_instance(),
        environment,
        recording(call("add", amount=1), call("hang"), call("read")),
        checks=[check_schema],
    )
    timeline.listeners.append(events.append)
    await timeline.step()
    task = asyncio.create_task(timeline.step())
    await environment.sessions[0].running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    cancelled = timeline.steps[-1]
    assert cancelled.result is not None and cancelled.result.error_kind == "cancelled"
    assert "hang" in cancelled.result.text
    assert [event.moment for event in events if event.number == 2][-2:] == ["cancelled", "observed"]
    step = await timeline.step()
    assert step is not None and step.result is not None and step.result.text == '{"count": 1}'
    assert timeline.back() and await timeline.step() == step
    # The cancelled call is not made again when the branch is replayed.
    environment.sessions.clear()
    timeline.live._snapshots.clear()
    await timeline.fork()
    assert [name for name, _ in environment.sessions[-1].calls] == ["add", "read"]


@pytest.mark.parametrize(
    ("name", "kind"), [("outage", "environment"), ("unrecorded", "not_recorded"), ("hang", "timed_out")]
)
async def test_a_call_without_an_answer_is_a_step_that_says_so(name: str, kind: str) -> None:
    timeline = Timeline(make_instance(), CountingEnvironment(), recording(call(name), call("read")), deadline_s=0.01)
    await timeline.run()
    result = timeline.steps[0].result
    assert result is not None and result.failed and result.error_kind == kind
    assert timeline.finished
    await timeline.close()


async def test_a_fork_behind_the_answer_opens_before_it() -> None:
    timeline = Timeline(make_instance(), CountingEnvironment(), recording(*THREE))
    await timeline.run()
    await timeline.decide(Answer(text="something else"))
    assert (timeline.branch.fork_at, timeline.trajectory.answer) == (3, "something else")
    assert timeline.tree.trajectory(0).answer == "done"


async def test_two_screens_on_one_session_lose_nothing() -> None:
    kept = AsyncStore(Store.open("sqlite://"))
    first = Timeline(make_instance(), CountingEnvironment(), recording(*THREE), store=kept)
    await first.step()
    assert first.keeper is not None and first.keeper.ref is not None
    stored = await kept.load(first.keeper.ref.key)
    second = Timeline(
        make_instance(),
        CountingEnvironment(),
        HumanDriver(),
        store=kept,
        tree=stored.tree,
        ref=first.keeper.ref,
        cursor=Cursor(branch=0, at=1),
    )
    await first.run()
    await first.edit(2, call("read"))
    problems: list[str] = []
    second.listeners.append(lambda event: problems.append(event.detail) if event.moment == "unsaved" else None)
    await second.decide(CallTool(call=call("add", amount=7)))
    await second.edit(1, call("add", amount=9))
    await second.decide(Answer(text="nine"))
    assert problems == []
    assert second.keeper is not None and second.keeper.ref is not None
    assert second.keeper.ref != first.keeper.ref
    for timeline in (first, second):
        assert timeline.keeper is not None and timeline.keeper.ref is not None
        loaded = await kept.load(timeline.keeper.ref.key)
        assert [branch.steps for branch in loaded.tree.branches] == [branch.steps for branch in timeline.tree.branches]
    await kept.close()


async def test_every_breakpoint_stops_at_the_same_places_in_history() -> None:
    path = (call("read"), call("raed"), call("fail"), call("add", amount=1), call("add"))
    reference = [Step(actor="ground_truth", decision=CallTool(call=each)) for each in (call("read"), call("fail"))]
    for each in (
        Breakpoint(kind="unknown_tool"),
        Breakpoint(kind="error"),
        Breakpoint(kind="divergence"),
        Breakpoint(kind="tool", value="add"),
        Breakpoint(kind="filter", value="~schema"),
        Breakpoint(kind="filter", value="~err & ~tool fail"),
    ):
        timeline = Timeline(
            make_instance(),
            CountingEnvironment(),
            recording(*path),
            checks=[check_schema],
            breakpoints=[each],
            reference=reference,
            offload=True,
        )
        places: list[list[tuple[int, bool]]] = []
        for _ in range(2):
            stops = []
            while (pause := await timeline.resume()) is not None:
                stops.append((pause.number, pause.before))
            places.append(stops)
            timeline.go_to(0)
        assert places[0] == places[1] != [], each
