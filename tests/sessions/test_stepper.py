"""The loop itself: states and listeners, checks, breakpoints, cancellation, a store that refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from counting import TOOLS, CountingSession, make_instance

from sessions.breakpoints import Breakpoint, checked
from sessions.checks import check_schema, standard_checks
from sessions.drivers import HumanDriver, RecordingDriver
from sessions.events import StepEvent
from sessions.execution import opening_call
from sessions.filters import FilterError
from sessions.stepper import Stepper
from sessions.trajectory import Answer, CallTool, Message, Step, Trajectory
from toolenv.errors import EnvironmentFailure, StoreError
from toolenv.model import Json, Prediction, ToolCall, ToolSpec

ONLY_DOCUMENTS = "Use document retrievers to answer questions. Do not use any other type of tool."


def call(name: str, **arguments: Json) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


def recording(*calls: ToolCall, answer: str = "done") -> RecordingDriver:
    return RecordingDriver(Prediction(uuid="u-1", domain="counting", query="q", answer=answer, calls=calls))


def stepper(*calls: ToolCall, session: CountingSession | None = None, policy: str = "", **options: Json) -> Stepper:
    instance = make_instance(policy=policy)
    return Stepper(Trajectory(instance=instance), session or CountingSession(), recording(*calls), **options)


class Sink:
    """Keeps steps in a list; refuses while ``full``."""

    def __init__(self, *, full: bool = False) -> None:
        self.full = full
        self.steps: list[Step] = []
        self.writes = 0

    async def append(self, start: int, steps: Sequence[Step]) -> None:
        await asyncio.sleep(0)
        if self.full:
            raise StoreError("The session store s cannot be written: the disk is full.")
        self.writes += 1
        self.steps[start:] = steps


async def test_listeners_see_every_state_in_order() -> None:
    events: list[StepEvent] = []
    states: list[str] = []
    subject = stepper(call("read"))

    def listener(event: StepEvent) -> None:
        events.append(event)
        states.append(subject.state)

    subject.listeners.append(listener)
    await subject.run()
    assert [event.moment for event in events] == [
        *("proposed", "checked", "running", "observed"),
        *("proposed", "checked", "observed", "finished"),
    ]
    assert [event.number for event in events] == [1, 1, 1, 1, 2, 2, 2, 2]
    assert states == ["proposed", "checked", "running", "observed", "proposed", "checked", "finished", "finished"]
    assert await subject.advance() is None


async def test_a_step_is_kept_before_it_is_observed() -> None:
    sink = Sink()
    kept: list[int] = []
    subject = stepper(call("read"), call("read"), store=sink)
    subject.listeners.append(lambda event: kept.append(len(sink.steps)) if event.moment == "observed" else None)
    for number in (1, 2, 3):
        await subject.advance()
        assert kept == list(range(1, number + 1))


async def test_a_batch_keeps_an_instance_at_once() -> None:
    sink = Sink()
    await stepper(call("read"), call("read"), store=sink, commit="instance").run()
    assert (sink.writes, len(sink.steps)) == (1, 3)


async def test_a_store_that_refuses_is_told_and_gets_everything_later() -> None:
    sink = Sink(full=True)
    told: list[StepEvent] = []
    subject = stepper(call("read"), call("add", amount=1), store=sink, listeners=[told.append])
    await subject.advance()
    assert [event.detail for event in told if event.moment == "unsaved"] == [
        "The session store s cannot be written: the disk is full."
    ]
    assert len(subject.unsaved) == 1
    sink.full = False
    await subject.advance()
    assert subject.unsaved == ()
    assert sink.steps == list(subject.trajectory.steps)


async def test_a_proposal_can_be_looked_at_replaced_and_withdrawn() -> None:
    session = CountingSession()
    subject = stepper(call("add", amount=1), session=session)
    first = await subject.propose()
    assert first is not None and first is await subject.propose()
    assert session.calls == []
    await subject.replace(CallTool(call=call("add", amount=5)), "human")
    step = await subject.advance()
    assert step is not None and step.actor == "human" and session.count == 5
    await subject.propose()
    subject.withdraw()
    assert subject.proposal is None and subject.state == "idle"


async def test_checks_are_made_and_block_nothing_by_themselves() -> None:
    instance = make_instance(policy=ONLY_DOCUMENTS, query="Add 3, please.")
    subject = Stepper(
        Trajectory(instance=instance),
        CountingSession(),
        recording(call("add", amount=3), call("add", amount=77), call("add"), call("raed")),
        checks=standard_checks(instance),
    )
    await subject.run()
    found = [{check.name: check.outcome for check in step.checks} for step in subject.trajectory.steps[:4]]
    assert found[0] == {"policy": "violation", "schema": "ok", "provenance": "ok"}
    assert found[1] == {"policy": "violation", "schema": "ok", "provenance": "violation"}
    assert found[2]["schema"] == "violation"
    assert found[3]["schema"] == "violation"
    reasons = {check.name: check.reason for check in subject.trajectory.steps[3].checks}
    assert "Close matches: read" in reasons["schema"]
    assert len(subject.trajectory.steps) == 5


async def test_a_check_blocks_once_when_asked_to() -> None:
    session = CountingSession()
    subject = stepper(call("add"), session=session, checks=[check_schema], blocking=frozenset({"schema"}))
    assert await subject.advance() is None
    assert subject.pause is not None and subject.pause.before
    assert session.calls == []
    assert await subject.advance() is not None


async def test_checks_can_be_made_beside_the_event_loop() -> None:
    subject = stepper(call("raed"), checks=[check_schema], offload=True)
    step = await subject.advance()
    assert step is not None and step.checks[0].outcome == "violation"


BREAKS: list[tuple[Breakpoint, int, bool]] = [
    (Breakpoint(kind="tool", value="add"), 2, True),
    (Breakpoint(kind="error"), 3, False),
    (Breakpoint(kind="unknown_tool"), 4, True),
    (Breakpoint(kind="policy"), 1, True),
    (Breakpoint(kind="ungrounded"), 2, True),
    (Breakpoint(kind="divergence"), 2, True),
    (Breakpoint(kind="slow", value="0"), 1, False),
    (Breakpoint(kind="filter", value="~tool add & ~val 41"), 2, True),
    (Breakpoint(kind="filter", value="~err"), 3, False),
    (Breakpoint(kind="filter", value='"no such thing" | ~n 4'), 4, False),
]


@pytest.mark.parametrize(("breakpoint_", "number", "before"), BREAKS, ids=lambda value: getattr(value, "kind", None))
async def test_breakpoints(breakpoint_: Breakpoint, number: int, before: bool) -> None:
    instance = make_instance(policy=ONLY_DOCUMENTS)
    calls = (call("read"), call("add", amount=41), call("fail"), call("raed"))
    reference = [Step(actor="ground_truth", decision=CallTool(call=each)) for each in (call("read"), call("read"))]
    subject = Stepper(
        Trajectory(instance=instance),
        CountingSession(),
        recording(*calls),
        checks=standard_checks(instance),
        breakpoints=[checked(breakpoint_)],
        reference=reference,
    )
    pause = await subject.resume()
    assert pause is not None and (pause.number, pause.before) == (number, before)
    assert len(subject.trajectory.steps) == (number - 1 if before else number)
    while await subject.resume() is not None:
        pass
    assert [step.decision.call for step in subject.trajectory.steps if isinstance(step.decision, CallTool)] == [*calls]


async def test_a_disabled_breakpoint_does_not_stop() -> None:
    subject = stepper(call("read"), breakpoints=[Breakpoint(kind="tool", value="read", enabled=False)])
    assert await subject.resume() is None


def test_a_breakpoint_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(FilterError):
        checked(Breakpoint(kind="filter", value="~nonsense"))
    with pytest.raises(ValueError, match="seconds"):
        checked(Breakpoint(kind="slow", value="-1"))


async def test_cancelling_a_batch_call_leaves_no_step() -> None:
    session = CountingSession()
    subject = stepper(call("hang"), session=session)
    task = asyncio.create_task(subject.advance())
    await session.running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert subject.trajectory.steps == () and subject.state == "idle"


async def test_cancelling_while_a_step_is_kept_loses_nothing() -> None:
    class Slow(Sink):
        def __init__(self) -> None:
            super().__init__()
            self.begun = asyncio.Event()
            self.go = asyncio.Event()

        async def append(self, start: int, steps: Sequence[Step]) -> None:
            self.begun.set()
            await self.go.wait()
            await super().append(start, steps)

    sink = Slow()
    subject = stepper(call("add", amount=1), store=sink)
    task = asyncio.create_task(subject.advance())
    await sink.begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    sink.go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(sink.steps) == 1 == len(subject.trajectory.steps)


async def test_cancelling_the_driver_leaves_the_stepper_as_it_was() -> None:
    driver = HumanDriver()
    subject = Stepper(Trajectory(instance=make_instance()), CountingSession(), driver)
    task = asyncio.create_task(subject.advance())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert subject.state == "idle"
    driver.decide(Message(role="assistant", text="Let me see."))
    driver.decide(Answer(text="0"))
    await subject.run()
    assert subject.trajectory.answer == "0"


async def test_two_steps_at_once_are_a_mistake() -> None:
    session = CountingSession()
    subject = stepper(call("hang"), session=session)
    task = asyncio.create_task(subject.advance())
    await session.running.wait()
    with pytest.raises(RuntimeError, match="one step at a time"):
        await subject.advance()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_after_a_failure_of_the_environment_the_same_step_can_be_tried_again() -> None:
    session = CountingSession()
    subject = stepper(call("outage"), session=session)
    for _ in range(2):
        with pytest.raises(EnvironmentFailure):
            await subject.advance()
    assert subject.trajectory.steps == ()


async def test_an_agent_that_repeats_the_opening_is_answered_with_it() -> None:
    instance = make_instance(1)
    opening = opening_call(instance)
    assert opening is not None
    driver = HumanDriver()
    for each in (opening, call("read")):
        driver.decide(CallTool(call=each))
    driver.decide(Answer(text="3"))
    session = CountingSession()
    subject = Stepper(Trajectory(instance=instance), session, driver, opening=opening)
    done = await subject.run()
    assert [name for name, _ in session.calls] == ["get_data", "read"]
    assert [step.opening for step in done.trajectory.steps] == [True, True, False, False]
    assert done.tables[0] is done.tables[1]


async def test_tools_are_listed_again_when_they_change() -> None:
    class Changing(CountingSession):
        def __init__(self) -> None:
            super().__init__()
            self.tell = lambda: None
            self.listed = 0

        def on_tools_changed(self, listener: object) -> None:
            self.tell = listener  # type: ignore[assignment]

        async def list_tools(self) -> Sequence[ToolSpec]:
            self.listed += 1
            return TOOLS if self.listed == 1 else TOOLS[:1]

    session = Changing()
    subject = stepper(session=session)
    assert await subject.tools() == TOOLS
    assert await subject.tools() == TOOLS
    session.tell()
    assert await subject.tools() == TOOLS[:1]
    assert session.listed == 2


async def test_other_spellings_of_a_tool_are_that_tool() -> None:
    session = CountingSession()
    spelled = call("task_3_counting_add", amount="5")
    reference = [Step(actor="ground_truth", decision=CallTool(call=call("add", amount=5)))]
    subject = stepper(
        spelled,
        session=session,
        checks=[check_schema],
        reference=reference,
        breakpoints=[Breakpoint(kind="unknown_tool"), Breakpoint(kind="divergence")],
    )
    assert await subject.resume() is None
    step = subject.trajectory.steps[0]
    assert step.executed_arguments == {"amount": 5}
    assert [check.outcome for check in step.checks] == ["ok"]
    assert session.calls == [("task_3_counting_add", {"amount": 5})]
