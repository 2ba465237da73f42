"""Two trajectories side by side: aligned call by call, differences value by value, handles by what made them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sessions.comparison import (
    LISTED,
    Difference,
    Handles,
    aligned,
    argument_differences,
    differences,
    handles,
    response_differences,
    responses,
)
from sessions.trajectory import Answer, CallTool, GiveUp, Message, Step
from toolenv.model import ToolCall, ToolResult


def made(tool: str, handle: str | None = None, /, *, opening: bool = False, text: str = "x", **arguments: Any) -> Step:
    call = CallTool(call=ToolCall(name=tool, arguments=arguments))
    return Step(actor="agent", decision=call, result=ToolResult(text=text, handle=handle), opening=opening)


def answer(text: str) -> Step:
    return Step(actor="agent", decision=Answer(text=text))


ANSWER = answer("1")


def rows(left: list[Step], right: list[Step]) -> list[tuple[int | None, int | None, str]]:
    return [(pair.left, pair.right, pair.relation) for pair in aligned(left, right)]


def test_equal_calls_stand_side_by_side_and_other_tools_alone() -> None:
    left = [made("a"), made("b"), made("c"), ANSWER]
    right = [made("a"), made("x"), made("y"), made("c"), ANSWER]
    assert rows(left, right) == [
        (0, 0, "same"),
        (1, None, "only_left"),
        (None, 1, "only_right"),
        (None, 2, "only_right"),
        (2, 3, "same"),
        (3, 4, "same"),
    ]
    assert [relation for _, _, relation in rows(left, [])] == ["only_left"] * 4
    assert rows([], []) == []


def test_one_tool_with_other_arguments_is_one_row() -> None:
    left = [made("find", name="Dixie", limit=3), made("city", name="Denver"), answer("Denver")]
    right = [made("find", name="Dixie", limit=5), made("city", name="Denver"), answer("Biloxi")]
    assert rows(left, right) == [(0, 0, "changed"), (1, 1, "same"), (2, 2, "changed")]


def test_of_several_calls_of_a_tool_the_equal_and_then_the_likest_one_is_taken() -> None:
    left = [made("find", name="b", limit=1)]
    right = [made("find", name="a", limit=2), made("find", name="b", limit=2), made("find", name="b", limit=1)]
    assert rows(left, right) == [(None, 0, "only_right"), (None, 1, "only_right"), (0, 2, "same")]
    assert rows(left, right[:2]) == [(None, 0, "only_right"), (0, 1, "changed")]


def test_a_call_made_at_another_place_is_said_to_be_there() -> None:
    left = [made("a"), made("b"), made("c")]
    right = [made("b"), made("c"), made("a")]
    pairs = aligned(left, right)
    assert [(pair.left, pair.right, pair.elsewhere) for pair in pairs] == [
        (0, None, 2),
        (1, 0, None),
        (2, 1, None),
        (None, 2, 0),
    ]


def test_a_tool_called_at_another_place_with_other_arguments_is_said_to_be_there() -> None:
    left = [made("a", x=1), made("b"), made("b")]
    right = [made("b"), made("b"), made("a", x=2), made("c")]
    pairs = [(pair.left, pair.right, pair.elsewhere, pair.likewise) for pair in aligned(left, right)]
    assert pairs == [
        (0, None, 2, False),
        (1, 0, None, True),
        (2, 1, None, True),
        (None, 2, 0, False),
        (None, 3, None, True),
    ]


def test_other_spellings_of_a_tool_are_that_tool() -> None:
    long = "get_team_v1_superhero_get_team_name_get"
    left = [made(long, name="X"), made("task_3_superhero_count", n=1), made("get_power")]
    right = [made("get_team", name="X"), made("count", n=2), made("get_powers")]
    pairs = [(pair.left, pair.right, pair.relation) for pair in aligned(left, right, "superhero")]
    assert pairs == [(0, 0, "same"), (1, 1, "changed"), (2, None, "only_left"), (None, 2, "only_right")]
    assert [pair.relation for pair in aligned(left[:1], right[:1])] == ["only_left", "only_right"]


def test_handles_stand_for_the_calls_behind_them() -> None:
    left = [
        made("get_data", "retrieved_1", opening=True),
        made("filter", "filtered_1", data="retrieved_1"),
        made("count", data="filtered_1"),
    ]
    right = [
        made("get_data", "other_7", opening=True),
        made("sort", "sorted_2", data="other_7"),
        made("filter", "filtered_9", data="other_7"),
        made("count", data="filtered_9"),
    ]
    assert rows(left, right) == [(0, 0, "same"), (None, 1, "only_right"), (1, 2, "same"), (2, 3, "same")]
    wrong = [*right[:3], made("count", data="sorted_2")]
    assert rows(left, wrong)[-1] == (2, 3, "changed")
    found = argument_differences(left[2], wrong[3], handles(left, wrong))
    assert found.listed == (Difference(path="data", kind="value", left="filtered_1", right="sorted_2"),)


def test_the_end_of_a_trajectory_stands_beside_the_other_end() -> None:
    gave_up = Step(actor="agent", decision=GiveUp(reason="no"))
    said = Step(actor="agent", decision=Message(role="assistant", text="hm"))
    assert rows([made("a"), gave_up], [made("a"), said, ANSWER]) == [
        (0, 0, "same"),
        (None, 1, "only_right"),
        (1, 2, "changed"),
    ]


def test_differences_are_told_value_by_value_with_their_place() -> None:
    left = {"name": "Dixie", "filters": [{"key": "a", "value": 1}, {"key": "b"}], "same": {"x": [1, 2]}}
    right = {"name": "dixie", "filters": [{"key": "a", "value": 2}], "same": {"x": [1, 2.0]}, "limit": None}
    assert differences(left, right, Handles()).listed == (
        Difference(path="name", kind="value", left="Dixie", right="dixie"),
        Difference(path="filters[0].value", kind="value", left=1, right=2),
        Difference(path="filters[1]", kind="only_left", left={"key": "b"}),
        Difference(path="limit", kind="only_right"),
    )
    many = differences(list(range(200)), [-1] * 200, Handles())
    assert (len(many.listed), many.total) == (LISTED, 200)
    assert differences(1, True, Handles()).total == 1
    assert differences(1, 1.0, Handles()).total == 0


def test_responses_are_compared_as_text_then_as_json() -> None:
    one = made("a", text='{"n": 1, "m": [2]}')
    assert responses(one, made("a", text='{"m": [2], "n": 1.0}'), Handles()) == "same"
    other = made("a", text='{"n": 1, "m": [3]}')
    assert responses(one, other, Handles()) == "differs"
    assert response_differences(one, other, Handles()).listed == (
        Difference(path="m[0]", kind="value", left=2, right=3),
    )
    assert responses(one, None, Handles()) == "one"
    assert responses(ANSWER, ANSWER, Handles()) == "none"
    failed = Step(actor="agent", decision=one.decision, result=ToolResult(text=one.result.text, failed=True))  # type: ignore[union-attr]
    assert responses(one, failed, Handles()) == "differs"
    lines = response_differences(made("a", text="x\ny"), made("a", text="x\nz\nw"), Handles())
    assert lines.listed == (
        Difference(path="line 2", kind="value", left="y", right="z"),
        Difference(path="line 3", kind="only_right", right="w"),
    )


def test_responses_nested_too_deeply_are_compared_as_text() -> None:
    one, other = (made("a", text="[" * 600 + value + "]" * 600) for value in "12")
    assert responses(one, other, Handles()) == "differs"
    assert response_differences(one, other, Handles()).total == 1


def test_a_response_that_names_a_handle_is_the_same_whatever_the_handle_is_called() -> None:
    left = [made("filter", "filtered_1", text=json.dumps({"handle": "filtered_1", "num_records": 2}))]
    right = [made("filter", "filtered_9", text=json.dumps({"handle": "filtered_9", "num_records": 2}))]
    assert responses(left[0], right[0], handles(left, right)) == "same"


def test_what_is_no_json_object_is_compared_as_it_was_written() -> None:
    raw = Step(actor="agent", decision=CallTool(call=ToolCall(name="a", arguments={}, raw_arguments="{oops")))
    assert rows([raw], [made("a", x=1)]) == [(0, 0, "changed")]
    assert argument_differences(raw, made("a", x=1), Handles()).total == 2


def test_long_trajectories_are_aligned_in_pieces() -> None:
    left = [made(f"tool_{n % 40}", n=n) for n in range(3000)]
    right = [made(f"tool_{n % 40}", n=n if n % 3 else -n) for n in range(1, 3001)]
    pairs = aligned(left, right)
    assert [pair.left for pair in pairs if pair.left is not None] == list(range(3000))
    assert [pair.right for pair in pairs if pair.right is not None] == list(range(3000))
    assert sum(pair.relation == "same" for pair in pairs) > 1900


CALLS = st.lists(st.builds(lambda tool, x: made(tool, x=x), st.sampled_from("abc"), st.integers(0, 2)), max_size=9)


@given(CALLS, CALLS)
def test_every_step_is_in_one_row_and_in_order(left: list[Step], right: list[Step]) -> None:
    pairs = aligned(left, right)
    assert [pair.left for pair in pairs if pair.left is not None] == list(range(len(left)))
    assert [pair.right for pair in pairs if pair.right is not None] == list(range(len(right)))
    for pair in pairs:
        one = left[pair.left] if pair.left is not None else None
        other = right[pair.right] if pair.right is not None else None
        equal = one is not None and other is not None and one.decision == other.decision
        assert (pair.relation == "same") == equal
        if pair.relation == "changed":
            assert one.decision.call.name == other.decision.call.name  # type: ignore[union-attr]
        if pair.elsewhere is not None and pair.likewise:
            assert left[pair.left if pair.left is not None else pair.elsewhere].decision == (
                right[pair.right if pair.right is not None else pair.elsewhere].decision
            )
    mirrored = aligned(right, left)
    assert sum(pair.relation == "same" for pair in pairs) == sum(pair.relation == "same" for pair in mirrored)


@given(CALLS)
def test_a_trajectory_equals_itself(steps: list[Step]) -> None:
    assert all(pair.relation == "same" for pair in aligned(steps, list(steps)))
