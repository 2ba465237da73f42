"""Alignment of calls, and how values and handles are mapped."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from eval.repair.line import UNRESOLVED, _exchanged, _in_same_place, _path_to
from eval.repair.sides import Sides, aligned, side_calls
from sessions.dataflow import MadeCall, MadeCalls
from sessions.trajectory import CallTool, Step
from toolenv.model import ToolCall, ToolResult
from toolenv.values import key

arguments = st.dictionaries(st.sampled_from("abc"), st.integers(0, 3) | st.sampled_from(["x", "y"]), max_size=3)
calls = st.lists(st.tuples(st.sampled_from(["t", "u", "v"]), arguments), max_size=7)


def made(listed: list[tuple[str, dict[str, Any]]]) -> MadeCalls:
    found = []
    for number, (name, given_arguments) in enumerate(listed, start=1):
        call = ToolCall(name=name, arguments=given_arguments)
        step = Step(actor="agent", decision=CallTool(call=call), result=ToolResult(text='{"n": 1}'))
        found.append(
            MadeCall(number=number, index=number - 1, step=step, call=call, table=None, source="API", scored=True)
        )
    return MadeCalls(opening=None, calls=tuple(found))


@given(calls)
def test_equal_sides_are_aligned_call_by_call(listed: list[tuple[str, dict[str, Any]]]) -> None:
    one, other = side_calls("predicted", made(listed)), side_calls("truth", made(listed))
    pairs = aligned(one, other)
    assert pairs == {number: number for number in range(1, len(listed) + 1)}
    sides = Sides(predicted=one, truth=other, pairs=pairs)
    assert all(sides.differing(step, hop) == () for step, hop in pairs.items())


@given(calls, calls)
def test_alignments_keep_the_order_and_pair_one_to_one(
    left: list[tuple[str, dict[str, Any]]], right: list[tuple[str, dict[str, Any]]]
) -> None:
    pairs = aligned(side_calls("predicted", made(left)), side_calls("truth", made(right)))
    assert sorted(pairs) == list(pairs)
    assert sorted(pairs.values()) == list(pairs.values())
    assert len(set(pairs.values())) == len(pairs)


@given(calls, st.data())
def test_a_call_left_out_is_the_one_that_has_no_counterpart(
    listed: list[tuple[str, dict[str, Any]]], data: st.DataObject
) -> None:
    if not listed:
        return
    index = data.draw(st.integers(0, len(listed) - 1))
    shorter = [*listed[:index], *listed[index + 1 :]]
    pairs = aligned(side_calls("predicted", made(shorter)), side_calls("truth", made(listed)))
    lacking = set(range(1, len(listed) + 1)) - set(pairs.values())
    assert len(lacking) == 1
    assert listed[lacking.pop() - 1] == listed[index]


def test_a_value_is_taken_from_the_same_place() -> None:
    before, now = '{"rows": [{"id": 3, "name": "Ann"}]}', '{"rows": [{"id": 9, "name": "Bea"}]}'
    shown: dict[Any, Any] = {key("Bea"): "Bea", key(9): 9}
    assert _in_same_place(before, now, "Ann", shown) == "Bea"
    assert _in_same_place('{"count": 3}', '{"total": 5}', 3, {key(5): 5}) == 5
    assert _in_same_place('{"count": 3}', '{"a": 1, "b": 2}', 3, {key(1): 1, key(2): 2}) is UNRESOLVED


def test_a_value_is_exchanged_in_the_type_it_was_written_in() -> None:
    assert _exchanged("3", 3, 5) == "5"
    assert _exchanged(3, 3, 5) == 5
    assert _exchanged("about Ann", "Ann", "Bea") == "about Bea"
    assert _exchanged(["Ann", {"who": "Ann"}], "Ann", "Bea") == ["Bea", {"who": "Bea"}]
    assert _exchanged(True, 1, 5) is True


def test_a_path_is_found_however_deep_a_response_is_nested() -> None:
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]
    assert _path_to(deep, key("x")) == (0,) * 5000
