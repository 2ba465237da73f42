"""What holds of time for every trajectory: forks, replays, going back, handing over, breakpoints, stores."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from counting import CountingEnvironment, CountingSession, make_instance
from hypothesis import given, settings
from hypothesis import strategies as st

from sessions.breakpoints import Breakpoint
from sessions.checks import check_schema
from sessions.drivers import RecordingDriver
from sessions.replay import replay
from sessions.stepper import Stepper
from sessions.store import AsyncStore, Store
from sessions.timeline import Timeline
from sessions.trajectory import CallTool, Step, Trajectory
from toolenv.model import Json, Prediction, ToolCall, ToolResult, ToolSpec

calls = st.one_of(
    st.builds(
        lambda n: ToolCall(name="add", arguments={"amount": n}), st.integers(-5, 5) | st.sampled_from(["7", "x"])
    ),
    st.builds(lambda n: ToolCall(name="make_table", arguments={"size": n}), st.integers(0, 4)),
    st.builds(lambda n: ToolCall(name="total", arguments={"handle": f"table_{n}"}), st.integers(1, 3)),
    st.sampled_from([ToolCall(name=name, arguments={}) for name in ("read", "fail", "raed", "outage", "unrecorded")]),
    st.just(ToolCall(name="add", arguments={}, raw_arguments="[")),
)
paths = st.lists(calls, max_size=8)
kinds = st.sampled_from(["copies", "replays"])
breakpoints = st.lists(
    st.one_of(
        st.builds(Breakpoint, kind=st.sampled_from(["error", "unknown_tool", "ungrounded", "policy", "divergence"])),
        st.builds(Breakpoint, kind=st.just("tool"), value=st.sampled_from(["add", "read", "fail"])),
        st.builds(Breakpoint, kind=st.just("slow"), value=st.just("0")),
        st.builds(
            Breakpoint,
            kind=st.just("filter"),
            value=st.sampled_from(["~err", "~n 2..4", "!~tool add", "count", "~kind answer"]),
        ),
    ),
    max_size=3,
)
quick = settings(max_examples=60, deadline=None)


def timeline(path: list[ToolCall], *, copies: bool = True, capability: int = 2, **options: Any) -> Timeline:
    prediction = Prediction(uuid="u-1", domain="counting", query="q", answer="done", calls=tuple(path))
    environment = CountingEnvironment(copies=copies)
    return Timeline(
        make_instance(capability), environment, RecordingDriver(prediction), checks=[check_schema], **options
    )


def timeless(steps: tuple[Step, ...]) -> list[Step]:
    """Steps without who decided them and how long they took."""
    return [
        msgspec.structs.replace(
            step,
            actor="agent",
            result=msgspec.structs.replace(step.result, duration_s=0.0) if step.result is not None else None,
        )
        for step in steps
    ]


@quick
@given(paths, paths, st.integers(0, 9), kinds, st.sampled_from([1, 2]))
def test_a_fork_never_changes_its_parent(
    path: list[ToolCall], others: list[ToolCall], at: int, kind: str, capability: int
) -> None:
    async def check() -> None:
        subject = timeline(path, copies=kind == "copies", capability=capability)
        await subject.step()
        await subject.step()
        half = subject.cursor.at
        await subject.fork(min(at, half))
        for each in others:
            if each.name not in ("outage", "unrecorded"):
                await subject.scratch(each)
            await subject.decide(CallTool(call=each))
        subject.go_to(half, 0)
        await subject.run()
        alone = timeline(path, capability=capability)
        await alone.run()
        assert timeless(subject.tree.steps(0)) == timeless(alone.tree.steps(0))
        await subject.close()

    asyncio.run(check())


@quick
@given(paths, st.sampled_from([1, 2]))
def test_a_replay_is_the_same_at_every_step(path: list[ToolCall], capability: int) -> None:
    async def check() -> None:
        subject = timeline(path, capability=capability)
        await subject.run()
        again = await replay(CountingEnvironment(), subject.instance, subject.steps)
        assert [drift.outcome for drift in again.drifts] == ["same"] * len(subject.steps)
        executed = await subject.executed()
        assert [table and table.fingerprint for table in again.tables] == [
            table and table.fingerprint for table in executed.tables
        ]

    asyncio.run(check())


@quick
@given(paths, st.lists(st.integers(0, 9), max_size=6), kinds)
def test_back_and_forth_is_the_identity(path: list[ToolCall], places: list[int], kind: str) -> None:
    async def check() -> None:
        subject = timeline(path, copies=kind == "copies")
        await subject.run()
        tree, cursor = subject.tree, subject.cursor
        for place in places:
            subject.go_to(place)
            here = subject.cursor
            if subject.back():
                assert await subject.step() is not None
            assert subject.cursor == here
        while await subject.step() is not None:
            pass
        assert (subject.tree, subject.cursor) == (tree, cursor)

    asyncio.run(check())


@quick
@given(paths, st.lists(st.booleans(), max_size=10), st.sampled_from([1, 2]))
def test_two_drivers_alternating_are_one(path: list[ToolCall], turns: list[bool], capability: int) -> None:
    async def check() -> None:
        alone = timeline(path, capability=capability)
        await alone.run()
        both = timeline(path, capability=capability)
        drivers = [both.driver, RecordingDriver(both.driver.prediction)]  # type: ignore[attr-defined]
        for turn in turns:
            both.hand_over(drivers[turn])
            await both.propose()
            await both.step()
        await both.run()
        assert timeless(both.steps) == timeless(alone.steps)

    asyncio.run(check())


@quick
@given(paths, breakpoints, st.booleans(), st.sampled_from([1, 2]))
def test_a_breakpoint_changes_only_when(
    path: list[ToolCall], breaks: list[Breakpoint], stepping: bool, capability: int
) -> None:
    async def check() -> None:
        free = timeline(path, capability=capability)
        await free.run()
        stopped = timeline(path, capability=capability, breakpoints=breaks, reference=free.steps[:3])
        pauses = 0
        while await stopped.resume() is not None:
            pauses += 1
            assert pauses <= 2 * len(free.steps)
            if stepping:
                await stopped.step()
        assert timeless(stopped.steps) == timeless(free.steps)
        assert stopped.finished

    asyncio.run(check())


@settings(max_examples=20, deadline=None)
@given(paths, st.lists(st.tuples(st.integers(0, 9), calls), max_size=4), kinds)
def test_what_is_stored_is_what_happened(path: list[ToolCall], edits: list[tuple[int, ToolCall]], kind: str) -> None:
    async def check() -> None:
        store = AsyncStore(Store.open("sqlite://"))
        subject = timeline(path, copies=kind == "copies", store=store)
        await subject.run()
        for at, each in edits:
            subject.go_to(min(at, subject.branch.length))
            await subject.decide(CallTool(call=each))
        assert subject.keeper is not None and subject.keeper.ref is not None
        stored = await store.load(subject.keeper.ref.key)
        assert stored.tree.branches == subject.tree.branches
        await subject.close()
        await store.close()

    asyncio.run(check())


class HalfwaySession(CountingSession):
    """Answers only after the event loop has gone round a few times."""

    async def list_tools(self) -> Sequence[ToolSpec]:
        await asyncio.sleep(0)
        return await super().list_tools()

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return await super().call(name, arguments)


class SlowList:
    """A store in a list that takes its time."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    async def append(self, start: int, steps: Sequence[Step]) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert start <= len(self.steps), "no gap"
        self.steps[start:] = steps


@quick
@given(st.lists(calls, min_size=1, max_size=5), st.lists(st.integers(0, 30), max_size=5))
def test_cancelling_anywhere_loses_and_repeats_nothing(path: list[ToolCall], rounds: list[int]) -> None:
    async def check() -> None:
        prediction = Prediction(uuid="u-1", domain="counting", query="q", answer="done", calls=tuple(path))
        sink = SlowList()
        session = HalfwaySession()
        subject = Stepper(
            Trajectory(instance=make_instance()),
            session,
            RecordingDriver(prediction),
            store=sink,
            checks=[check_schema],
            on_failure="record",
        )
        for wait in rounds:
            task = asyncio.create_task(subject.run())
            for _ in range(wait):
                await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await subject.run()
        steps = subject.trajectory.steps
        assert [step.decision.call for step in steps if isinstance(step.decision, CallTool)] == path
        assert all(step.result is not None for step in steps[:-1])
        assert sink.steps == list(steps)
        written = [each.name for each in path if each.raw_arguments is None]
        made = [name for name, _ in session.calls]
        cancelled = [step.result is not None and step.result.error_kind == "cancelled" for step in steps]
        assert len(written) - sum(cancelled) <= len(made) <= len(written)

    asyncio.run(check())
