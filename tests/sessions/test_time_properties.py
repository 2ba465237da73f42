"""What holds of time for every trajectory: forks, replays, going back, handing over, breakpoints, stores."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from counting import CountingEnvironment, make_instance
from hypothesis import given, settings
from hypothesis import strategies as st

from sessions.breakpoints import Breakpoint
from sessions.checks import check_schema
from sessions.drivers import RecordingDriver
from sessions.replay import replay
from sessions.store import AsyncStore, Store
from sessions.timeline import Timeline
from sessions.trajectory import CallTool, Step
from toolenv.model import Prediction, ToolCall

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
