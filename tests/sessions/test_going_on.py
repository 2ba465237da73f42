"""Where a recording goes on behind calls that somebody else made: what it makes again, and what it leaves out."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from counting import make_instance
from hypothesis import given
from hypothesis import strategies as st

from sessions.drivers import RecordingDriver
from sessions.drivers.recording import Standing
from sessions.trajectory import Actor, Answer, CallTool, Step, Trajectory
from toolenv.model import Prediction, ToolCall

NAMES = "abcd"


def call(name: str) -> ToolCall:
    return ToolCall(name=name, arguments={})


def recorded(names: str) -> Prediction:
    return Prediction(uuid="u", domain="d", query="q", answer="done", calls=tuple(map(call, names)))


def steps(*made: tuple[Actor, str]) -> tuple[Step, ...]:
    """``("human", "xy")``: two calls of a person."""
    return tuple(Step(actor=actor, decision=CallTool(call=call(name))) for actor, names in made for name in names)


async def rest(prediction: Prediction, past: Sequence[Step], left_out: int | None = None) -> str:
    """What the recording makes behind some steps, to its answer."""
    driver = RecordingDriver(prediction, left_out)
    trajectory, names = Trajectory(instance=make_instance(), steps=tuple(past)), ""
    while isinstance(decision := await driver.next(trajectory, ()), CallTool):
        names += decision.call.name
        trajectory = Trajectory(
            instance=trajectory.instance, steps=(*trajectory.steps, Step(actor="recording", decision=decision))
        )
    assert decision == Answer(text="done")
    return names


@pytest.mark.parametrize(
    ("past", "left_out", "made"),
    [
        ([], None, "abcd"),
        ([("recording", "ab")], None, "cd"),
        ([("recording", "a"), ("human", "x")], None, "cd"),
        ([("recording", "a"), ("human", "x")], 0, "bcd"),
        ([("human", "xx")], None, "cd"),
        ([("human", "xx")], 1, "bcd"),
        ([("human", "xx")], 0, "abcd"),
        # Edited and gone on with, then one put in: the edited one stands for the second, the other for none.
        ([("recording", "a"), ("human", "x"), ("recording", "c"), ("human", "y")], 0, "d"),
        # One put in and gone on with: a second one is put in behind it.
        ([("human", "x"), ("recording", "ab"), ("human", "y")], 0, "cd"),
        ([("human", "x"), ("recording", "ab"), ("human", "y")], None, "d"),
        # An edited call and one put in behind it.
        ([("recording", "a"), ("human", "xy")], 1, "cd"),
        # A repair that left a call out.
        ([("recording", "ac")], None, "d"),
        ([("ground_truth", "x"), ("recording", "bcd")], None, ""),
        ([("recording", "abcd"), ("human", "xyz")], None, ""),
        ([("recording", "z")], None, "bcd"),
    ],
)
async def test_where_a_recording_goes_on(past: list[tuple[Actor, str]], left_out: int | None, made: str) -> None:
    assert await rest(recorded(NAMES), steps(*past), left_out) == made


async def test_an_opening_counts_where_the_recording_begins_with_it() -> None:
    opening = Step(actor="stepper", decision=CallTool(call=call("a")), opening=True)
    assert await rest(recorded("abc"), [opening]) == "bc"
    assert await rest(recorded("bc"), [opening]) == "bc"
    assert await rest(recorded("abc"), [opening, *steps(("human", "x"))], 0) == "bc"


PUT_IN = st.lists(st.integers(0, 2), min_size=1, max_size=6)


@given(st.text(NAMES, max_size=5), PUT_IN)
async def test_with_nothing_left_out_every_call_is_made_once_whatever_is_put_in_between(
    names: str, put_in: list[int]
) -> None:
    driver, made = RecordingDriver(recorded(names), 0), ""
    trajectory = Trajectory(instance=make_instance())
    for turn in range(len(names) + 1):
        own = steps(("human", "x" * put_in[turn % len(put_in)]))
        trajectory = Trajectory(instance=trajectory.instance, steps=(*trajectory.steps, *own))
        decision = await driver.next(trajectory, ())
        if isinstance(decision, CallTool):
            made += decision.call.name
            trajectory = Trajectory(
                instance=trajectory.instance, steps=(*trajectory.steps, Step(actor="recording", decision=decision))
            )
    assert made == names and isinstance(decision, Answer)


@given(st.lists(st.tuples(st.sampled_from(["recording", "human"]), st.sampled_from("abx")), max_size=12))
def test_a_trajectory_that_went_on_stands_where_a_whole_one_does(made: list[tuple[Actor, str]]) -> None:
    calls = recorded("abab").calls
    bit_by_bit, all_steps = Standing(calls), steps(*made)
    for end in range(len(all_steps) + 1):
        assert bit_by_bit.of(all_steps[:end]) == Standing(calls).of(all_steps[:end])
    following, since = bit_by_bit.of(all_steps)
    assert 0 <= following <= len(calls) and since <= len(all_steps)
    assert bit_by_bit.next(all_steps) == following + since
    assert Standing(calls, 0).next(all_steps) <= len(calls)
