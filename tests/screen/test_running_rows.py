"""The rows of a trajectory that is run are those that going through all of its steps would give."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from screen_toy import POLICY, ToyEnvironment, instance, prediction

from sessions.checks import tool_named
from sessions.dataflow import made_calls
from sessions.drivers.recording import Recording
from sessions.trajectory import Answer, CallTool, ExecutedTrajectory, GiveUp, Message, Step, Trajectory
from toolenv import policy as policies
from toolenv.model import ToolCall, ToolResult
from vakra_tui.state import running
from vakra_tui.state.build_scene import Specs
from vakra_tui.state.policy_view import violations
from vakra_tui.state.rows import rows_of
from vakra_tui.state.running import Running
from vakra_tui.state.subject import Subject

TOOLS = ToyEnvironment({"get_top_brand": "{}", "query_beer_factory": "{}"}).tools
NAMES = st.sampled_from(["get_top_brand", "query_beer_factory", "get_data", "get_data_x", "nothing"])
CALLS = NAMES.map(lambda name: ToolCall(name=name, arguments={"tool_universe_id": "u-1"}))
STEPS = st.builds(
    Step,
    actor=st.sampled_from(["recording", "human", "stepper"]),
    decision=CALLS.map(lambda call: CallTool(call=call)) | st.just(Message(role="agent", text="so")),
    result=st.sampled_from([None, ToolResult(text="{}"), ToolResult(text="no", failed=True)]),
    opening=st.booleans(),
)
ENDS = st.sampled_from(
    [(), (Step(actor="human", decision=Answer(text="a")),), (Step(actor="human", decision=GiveUp()),)]
)


@given(
    steps=st.lists(STEPS, max_size=8).map(tuple),
    end=ENDS,
    cuts=st.lists(st.integers(0, 9), max_size=4).map(sorted),
    calls=st.lists(CALLS, max_size=6).map(tuple),
    capability=st.sampled_from([1, 4]),
    policy=st.sampled_from([POLICY, ""]),
    pending=st.booleans(),
    left_out=st.sampled_from([None, 0, 1]),
)
def test_rows_made_bit_by_bit(
    steps: tuple[Step, ...],
    end: tuple[Step, ...],
    cuts: list[int],
    calls: tuple[ToolCall, ...],
    capability: int,
    policy: str,
    pending: bool,
    left_out: int | None,
) -> None:
    subject = Subject(instance(capability=capability, policy=policy), "run", prediction(calls=calls))
    ahead = Recording(prediction=prediction(calls=calls), left_out=left_out) if pending else None
    followed = Running(subject, None, TOOLS, ahead=ahead)
    whole = (*steps, *end)
    for cut in (*cuts, len(whole)):
        executed = ExecutedTrajectory(trajectory=Trajectory(subject.instance, whole[:cut]), tables=(None,) * cut)
        assert followed.goes_on(executed)
        part = followed.analysed(executed)
        applicability = policies.applicability_of(subject.instance)
        scored = [(made.number, made.call) for made in made_calls(executed).scored]
        broken = violations(subject.instance, applicability, scored)
        rows = rows_of(executed, subject.prediction, recovers={}, provenance={}, violations=broken, ahead=ahead)
        assert part.rows == Specs(TOOLS, subject.instance.domain).of_all(rows)
        assert part.policy.violations == tuple(broken)
        assert part.finished == executed.trajectory.finished


def test_a_scene_makes_the_rows_of_new_steps_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    make = running.executed_row
    monkeypatch.setattr(
        running, "executed_row", lambda step, number, *rest: made.append(number) or make(step, number, *rest)
    )
    subject = Subject(instance(), "run", prediction(calls=(ToolCall(name="get_top_brand", arguments={}),) * 50))
    steps = tuple(Step(actor="recording", decision=CallTool(call=call)) for call in subject.prediction.calls)
    followed = Running(subject, None, TOOLS, ahead=Recording(prediction=subject.prediction))
    for count in (10, 11, 30):
        followed.analysed(ExecutedTrajectory(trajectory=Trajectory(subject.instance, steps[:count]), tables=()))
    assert made == list(range(1, 31))
    other = ExecutedTrajectory(trajectory=Trajectory(subject.instance, steps[1:40]), tables=())
    assert followed.goes_on(other)  # equal steps are the same steps
    changed = (Step(actor="human", decision=Message(role="human", text="no")), *steps[1:])
    assert not followed.goes_on(ExecutedTrajectory(trajectory=Trajectory(subject.instance, changed), tables=()))
    assert tool_named(TOOLS, "get_top_brand", "") in [row.spec for row in followed.analysed(other).rows]
