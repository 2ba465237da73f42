"""Steps that nobody waits for one by one are kept in few writes, and never shown before they are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from counting import CountingEnvironment, CountingSession, make_instance

from sessions import together
from sessions.drivers import RecordingDriver
from sessions.events import StepEvent
from sessions.stepper import Stepper
from sessions.store import AsyncStore, NewSession, Store
from sessions.timeline import Timeline
from sessions.trajectory import Step, Trajectory
from toolenv.errors import StoreError
from toolenv.model import Json, Prediction, ToolCall


class Sink:
    """Keeps steps and counts the writes; refuses while ``full``."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.writes = 0
        self.full = False

    async def append(self, start: int, steps: Sequence[Step]) -> None:
        await asyncio.sleep(0)
        if self.full:
            raise StoreError("The disk is full.")
        self.writes += 1
        self.steps[start:] = steps


class Shown:
    """What a listener saw, and that none of it was shown before it was kept."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.events: list[tuple[str, int]] = []

    def __call__(self, event: StepEvent) -> None:
        self.events.append((event.moment, event.number))
        if event.moment == "observed" and not self.sink.full:
            assert len(self.sink.steps) >= event.number

    @property
    def observed(self) -> list[int]:
        return [number for moment, number in self.events if moment == "observed"]


def add(amount: int) -> ToolCall:
    return ToolCall(name="add", arguments={"amount": amount})


def recording(*calls: ToolCall) -> RecordingDriver:
    return RecordingDriver(Prediction(uuid="u-1", domain="counting", query="q", answer="done", calls=calls))


def made(*calls: ToolCall, **options: Json) -> tuple[Stepper, Sink, Shown]:
    sink = Sink()
    shown = Shown(sink)
    stepper = Stepper(
        Trajectory(instance=make_instance()),
        CountingSession(),
        recording(*calls),
        store=sink,
        listeners=[shown],
        **options,
    )
    return stepper, sink, shown


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "TOGETHER_S", 3600.0)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "TOGETHER_S", 0.0)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("verb", ["run", "resume", "advance_for"])
async def test_a_run_is_kept_in_one_write(verb: str) -> None:
    stepper, sink, shown = made(*map(add, range(30)))
    await (stepper.advance_for(3600.0, 1000) if verb == "advance_for" else getattr(stepper, verb)())
    assert (sink.writes, len(sink.steps)) == (1, 31)
    assert shown.observed == list(range(1, 32))
    assert shown.events[-1] == ("finished", 31)
    moments = [moment for moment, number in shown.events if number == 7]
    assert moments == ["proposed", "checked", "running", "observed"]


@pytest.mark.usefixtures("hasty")
async def test_steps_that_come_slowly_are_kept_one_by_one() -> None:
    stepper, sink, shown = made(*map(add, range(5)))
    await stepper.run()
    assert sink.writes == 6
    assert shown.observed == list(range(1, 7))


@pytest.mark.usefixtures("patient")
async def test_a_step_that_somebody_waits_for_is_kept_at_once() -> None:
    stepper, sink, shown = made(*map(add, range(3)))
    for number in (1, 2, 3):
        await stepper.advance()
        assert len(sink.steps) == number == shown.observed[-1]


@pytest.mark.usefixtures("patient")
async def test_so_many_steps_and_no_more() -> None:
    stepper, sink, shown = made(*map(add, range(9)))
    await stepper.advance_for(3600.0, 4)
    assert (sink.writes, shown.observed) == (1, [1, 2, 3, 4])
    await stepper.advance_for(0.0, 4)
    assert (sink.writes, shown.observed) == (2, [1, 2, 3, 4, 5])


async def test_what_waits_is_kept_while_a_call_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    stepper, sink, shown = made(add(1), add(2), ToolCall(name="hang", arguments={}), on_failure="record")
    told = asyncio.Event()
    stepper.listeners.append(lambda event: told.set() if event.moment == "observed" and event.number == 2 else None)
    monkeypatch.setattr(together.Teller, "due", property(lambda self: not self._gathers))
    running = asyncio.create_task(stepper.run())
    await told.wait()
    assert not running.done() and len(sink.steps) == 2
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert shown.observed == [1, 2, 3]
    assert len(sink.steps) == 3
    assert sink.steps[-1].result is not None and sink.steps[-1].result.error_kind == "cancelled"


@pytest.mark.usefixtures("patient")
async def test_a_store_that_refuses_is_told_with_the_steps() -> None:
    stepper, sink, shown = made(add(1), add(2))
    sink.full = True
    await stepper.run()
    assert shown.observed == [1, 2, 3]
    assert [moment for moment, _ in shown.events].count("unsaved") >= 1
    sink.full = False
    await stepper.flush()
    assert len(sink.steps) == 3


@pytest.mark.usefixtures("patient")
async def test_a_timeline_goes_on_by_many_steps() -> None:
    store = Store.open("sqlite://")
    timeline = Timeline(
        make_instance(),
        CountingEnvironment(),
        recording(*map(add, range(20))),
        store=AsyncStore(store),
        new=NewSession(instance=make_instance()),
    )
    await timeline.advance(3600.0, 12)
    assert (timeline.cursor.at, timeline.branch.length) == (12, 12)
    assert timeline.keeper is not None and timeline.keeper.ref is not None
    assert store.load(timeline.keeper.ref.key).tree == timeline.tree
    timeline.back()
    await timeline.advance(3600.0, 5)
    assert timeline.branch.length == 12  # in the past nothing happens
    timeline.go_to(12)
    await timeline.advance(3600.0, 100)
    assert timeline.finished
    await timeline.fork(5)
    step = await timeline.decide(timeline.steps[4].decision)
    assert step is not None and step.result is not None and step.result.text == '{"count": 14}'
    await timeline.close()


async def test_snapshots_of_a_branch_share_their_tables() -> None:
    timeline = Timeline(make_instance(), CountingEnvironment(), recording(*map(make_table, range(40))))
    await timeline.run()
    kept = {id(tables) for _, tables in timeline.live._snapshots.values()}
    assert len(kept) == 1
    executed = await timeline.executed()
    for at in (1, 17, 40):
        found = await timeline.live.at(timeline.tree, 0, at)
        assert found.tables == executed.tables[:at]
    await timeline.fork(17)
    await timeline.step()
    tables = (await timeline.executed()).tables
    assert tables[:17] == executed.tables[:17] and len(tables) == 18
    await timeline.close()


def make_table(size: int) -> ToolCall:
    return ToolCall(name="make_table", arguments={"size": size})
