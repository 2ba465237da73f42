"""Comparing trajectories: equal calls whatever the names of handles, what a replay calls a difference."""

from __future__ import annotations

from typing import Any

import pytest
from counting import CountingEnvironment, make_instance

from sessions.branches import Tree, as_prediction
from sessions.divergence import first_divergence
from sessions.replay import compared, difference, replay
from sessions.trajectory import Answer, CallTool, GiveUp, Message, Step, Trajectory
from toolenv.errors import EnvironmentFailure
from toolenv.model import ToolCall, ToolResult


def made(
    name: str, handle: str | None = None, *, opening: bool = False, actor: Any = "agent", **arguments: Any
) -> Step:
    call = CallTool(call=ToolCall(name=name, arguments=arguments))
    return Step(actor=actor, decision=call, result=ToolResult(text="x", handle=handle), opening=opening)


ANSWER = Step(actor="agent", decision=Answer(text="1"))
OPENED = made("get_data", "retrieved_1", opening=True)


def test_handles_are_compared_by_what_made_them() -> None:
    reference = [OPENED, made("filter", "filtered_1", data="retrieved_1"), made("count", data="filtered_1")]
    renamed = [
        made("get_data", "other_7", opening=True),
        made("filter", "filtered_9", data="other_7"),
        made("count", data="filtered_9"),
    ]
    assert first_divergence([*renamed, ANSWER], reference, "d") is None
    wrong = [*renamed[:2], made("count", data="other_7")]
    assert first_divergence(wrong, reference, "d") == 2
    literal = [*renamed[:2], made("count", data="filtered_1")]
    assert first_divergence(literal, reference, "d") == 2


@pytest.mark.parametrize(
    ("steps", "index"),
    [
        ([made("a"), made("b"), ANSWER], None),
        ([made("a"), ANSWER], 1),
        ([made("b")], 0),
        ([made("a", x=1), made("b")], 0),
        ([made("a"), made("b"), made("c")], 2),
        ([Step(actor="agent", decision=Message(role="assistant", text="hm")), made("a"), made("c")], 2),
        ([], None),
        ([Step(actor="agent", decision=GiveUp())], 0),
    ],
)
def test_the_first_divergence(steps: list[Step], index: int | None) -> None:
    assert first_divergence(steps, [made("a"), made("b"), ANSWER], "d") == index


def test_numbers_and_truth_values_are_different_things() -> None:
    assert first_divergence([made("a", x=True)], [made("a", x=1)], "d") == 0
    assert first_divergence([made("a", x=1.0)], [made("a", x=1)], "d") is None
    assert first_divergence([made("a", x=float("nan"))], [made("a", x=float("nan"))], "d") is None
    assert first_divergence([made("a", x="1")], [made("a", x=1)], "d") == 0
    assert first_divergence([made("a", x={"p": [1], "q": None})], [made("a", x={"q": None, "p": [1]})], "d") is None


@pytest.mark.parametrize(
    ("before", "now", "outcome"),
    [
        ("a", "a", "same"),
        ('{"a": 1, "b": [NaN]}', '{"b": [NaN], "a": 1}', "same"),
        ("[1, 2]", "[2, 1]", "drifted"),
        ("a", "b", "drifted"),
        ("1", "1.0", "drifted"),
        ("[" * 100_000, "[" * 100_000, "same"),
    ],
)
def test_what_drift_is(before: str, now: str, outcome: str) -> None:
    assert compared(ToolResult(text=before), ToolResult(text=now)).outcome == outcome


def test_drift_names_the_difference() -> None:
    drift = compared(ToolResult(text="one\ntwo\nthree"), ToolResult(text="one\n2\nthree"))
    assert "-two" in drift.difference and "+2" in drift.difference
    failed = compared(ToolResult(text="ok"), ToolResult(text="no route", failed=True))
    assert failed.difference == "succeeded before, failed now: no route"
    assert compared(None, ToolResult(text="x")).outcome == "drifted"
    assert difference("a\r\nb", "a\nb") == "They differ in line endings only."


def test_large_responses_are_compared_too() -> None:
    before = "\n".join(f"line {n}" for n in range(100_000))
    now = before.replace("line 77777\n", "line x\n")
    assert difference(before, now) == "Line 77778:\n-line 77777\n+line x"
    assert difference(before, before + "\nmore").endswith("-(no line)\n+more")


async def test_a_replay_that_fails_closes_its_session() -> None:
    environment = CountingEnvironment()
    step = Step(
        actor="agent", decision=CallTool(call=ToolCall(name="outage", arguments={})), result=ToolResult(text="x")
    )
    with pytest.raises(EnvironmentFailure):
        await replay(environment, make_instance(), [step])
    assert environment.sessions[0].closed


def test_a_trajectory_without_an_answer_is_a_failed_prediction() -> None:
    steps = (made("get_data", opening=True, actor="stepper"), made("a", x=1))
    prediction = as_prediction(Trajectory(instance=make_instance(1), steps=steps))
    assert prediction.calls == (ToolCall(name="a", arguments={"x": 1}),)
    assert (prediction.status, prediction.answer) == ("error", "")


def test_a_tree_says_where_it_has_no_place() -> None:
    tree = Tree(instance=make_instance()).appended(0, made("a"))
    for branch, at in ((0, 2), (0, -1)):
        with pytest.raises(IndexError):
            tree.forked(branch, at)
    with pytest.raises(IndexError):
        tree.branch(1)
    with pytest.raises(IndexError):
        tree.promote(-1)
    names = []
    for _ in range(30):
        tree, number = tree.forked(0, 1)
        names.append(tree.branch(number).name)
    assert len(set(names)) == 30 and names[0] == "fork 2a" and names[26] == "fork 2aa"
