"""Random trajectories, with all that may stand in one."""

from __future__ import annotations

from hypothesis import strategies as st

from sessions.trajectory import Answer, CallTool, Check, GiveUp, Message, Step, Trajectory
from toolenv.model import GroundTruth, GroundTruthTurn, Instance, Prediction, ToolCall, ToolResult, Turn

text = st.text(st.characters(codec=None), max_size=20)
"""Any code points, halves of surrogate pairs and NUL included."""

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | text,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(text | st.sampled_from(["$float", "$object", "format"]), inner, max_size=3)
    ),
    max_leaves=8,
)
objects = st.dictionaries(text | st.sampled_from(["$float", "$object"]), json_values, max_size=3)
calls = st.builds(
    ToolCall,
    name=text,
    arguments=objects,
    raw_arguments=st.none() | text,
    id=st.none() | st.sampled_from(["", "0", "call_1"]),
    label=st.none() | text,
)
results = st.builds(
    ToolResult,
    text=text,
    is_error=st.booleans(),
    failed=st.booleans(),
    error_kind=st.sampled_from([None, "tool_failed", "unknown_tool", "cancelled"]),
    duration_s=st.floats(0, 100),
    handle=st.none() | text,
    notes=st.lists(text, max_size=2).map(tuple),
)
checks = st.builds(
    Check,
    name=st.sampled_from(["policy", "schema"]),
    outcome=st.sampled_from(["ok", "violation", "unknown"]),
    reason=text,
)
decisions = (
    st.builds(CallTool, call=calls)
    | st.builds(Answer, text=text)
    | st.builds(GiveUp, reason=text)
    | st.builds(Message, role=text, text=text)
)
steps = st.builds(
    Step,
    actor=st.sampled_from(["agent", "human", "recording", "ground_truth", "stepper"]),
    decision=decisions,
    result=st.none() | results,
    executed_arguments=st.none() | objects,
    opening=st.booleans(),
    checks=st.lists(checks, max_size=2).map(tuple),
)
turns = st.builds(Turn, turn_id=st.integers(0, 9), query=text, answer=json_values)
truths = st.builds(
    GroundTruth,
    turns=st.lists(
        st.builds(
            GroundTruthTurn,
            turn_id=st.integers(0, 9),
            query=text,
            answer=json_values,
            calls=st.lists(calls, max_size=2).map(tuple),
            responses=st.none() | st.lists(json_values, max_size=2).map(tuple),
        ),
        min_size=1,
        max_size=2,
    ).map(tuple),
)
instances = st.builds(
    Instance,
    uuid=text,
    capability=st.integers(0, 4),
    domain=text,
    turns=st.lists(turns, min_size=1, max_size=3).map(tuple),
    policy=text,
    universe_id=st.none() | text,
    ground_truth=st.none() | truths,
    author_keys=objects,
    topics=st.dictionaries(text, text, max_size=2),
    problems=st.lists(text, max_size=1).map(tuple),
)
trajectories = st.builds(Trajectory, instance=instances, steps=st.lists(steps, max_size=5).map(tuple))

plain = st.text(st.characters(codec="utf-8"), max_size=20)
plain_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | plain,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain, inner, max_size=3),
    max_leaves=6,
)
plain_calls = st.builds(
    ToolCall, name=plain.filter(bool), arguments=st.dictionaries(plain, plain_values, max_size=3), label=st.none()
)
predictions = st.builds(
    Prediction,
    uuid=plain.filter(bool),
    domain=plain.filter(bool),
    query=plain,
    answer=plain,
    calls=st.lists(plain_calls, max_size=4).map(tuple),
    turn_id=st.integers(0, 9),
    status=st.sampled_from(["success", "error"]),
    error=plain,
    duration_s=st.floats(0, 1000),
)
