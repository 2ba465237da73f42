"""The filter language: what it matches, how it reads, what it refuses, what completes it."""

from __future__ import annotations

from typing import Any

import pytest
from counting import TOOLS, make_instance
from hypothesis import given
from hypothesis import strategies as st

from sessions.filters import STEP_FILTERS, FilterError, Language, Predicate
from sessions.filters.steps import StepView, views
from sessions.trajectory import Answer, CallTool, Check, Message, Step, Trajectory
from toolenv.model import ToolCall, ToolResult


def made(name: str, text: str = "", *, actor: Any = "agent", failed: bool = False, **arguments: Any) -> Step:
    result = ToolResult(text=text, failed=failed, duration_s=2.0 if name == "slow" else 0.1)
    return Step(actor=actor, decision=CallTool(call=ToolCall(name=name, arguments=arguments)), result=result)


STEPS = (
    made("get_data", '{"handle": "t"}', actor="stepper"),
    made("get_team_wins", '{"wins": 48}', team="Boston", season=2010),
    made("slow", "Unknown tool: slow", failed=True),
    Step(
        actor="human",
        decision=CallTool(call=ToolCall(name="add", arguments={}, raw_arguments="[1]")),
        checks=(Check(name="policy", outcome="violation", reason="no API"), Check(name="schema", outcome="violation")),
    ),
    Step(actor="agent", decision=Message(role="assistant", text="Let me think (again).")),
    Step(actor="agent", decision=Answer(text="48 wins")),
)
VIEWS = views(Trajectory(instance=make_instance(), steps=STEPS), TOOLS)


def matched(expression: str) -> list[int]:
    """Numbers (from 1) of the steps that match."""
    found = STEP_FILTERS.parse(expression)
    return [view.index + 1 for view in VIEWS if found.matches(view)]


@pytest.mark.parametrize(
    ("expression", "numbers"),
    [
        ("", [1, 2, 3, 4, 5, 6]),
        ("~tool wins", [2]),
        ("~tool ^get_", [1, 2]),
        ("wins", [2, 6]),
        ("~err", [3]),
        ("!~err & ~kind call", [1, 2, 4]),
        ("~kind call !~err", [1, 2, 4]),
        ("~who human | ~who stepper", [1, 4]),
        ("~arg season & ~val boston", [2]),
        ("~val 2010", [2]),
        ("~resp handle", [1]),
        ("~words think", [5]),
        ('"think (again)"', [5]),
        (r'"\(again\)"', [5]),
        ("~n 2..3", [2, 3]),
        ("~n >4", [5, 6]),
        ("~n <=1", [1]),
        ("~dur >1", [3]),
        ("~size >17", [3]),
        ("~policy", [4]),
        ("~schema", [4]),
        ("~unknown", [1, 2, 3]),
        ("~kind answer | ~kind message", [5, 6]),
        ("!(~kind call | ~kind message)", [6]),
        ("!!~err", [3]),
        ("~err | ~policy & ~who agent", [3]),
        ("(~err | ~policy) & ~who human", [4]),
    ],
)
def test_what_matches(expression: str, numbers: list[int]) -> None:
    if "(again)" in expression and "\\" not in expression:
        numbers = []
    assert matched(expression) == numbers


@pytest.mark.parametrize(
    ("expression", "position"),
    [
        ("~nonsense", 0),
        ("~tool", 5),
        ("~tool (", 6),
        ("(~err", 5),
        ("~err)", 4),
        ("~err &", 6),
        ("| ~err", 0),
        ('~tool "open', 6),
        ("~n many", 3),
        ("~who nobody", 5),
        ("~tool [", 6),
        ("!", 1),
        ("(" * 200, 101),
        ("!" * 200, 101),
        ("x" * 5000, 4000),
    ],
)
def test_what_is_refused_says_where(expression: str, position: int) -> None:
    with pytest.raises(FilterError) as refused:
        STEP_FILTERS.parse(expression)
    assert refused.value.position == position
    assert str(refused.value).endswith(".")


def test_a_pattern_cannot_run_away() -> None:
    step = made("read", "a" * 200_000 + "!")
    view = StepView(trajectory=Trajectory(instance=make_instance(), steps=(step,)), index=0)
    assert not STEP_FILTERS.parse('~resp "(a+)+$"').matches(view)


def test_text_without_an_encoding_is_searched_all_the_same() -> None:
    step = made("read", "before \ud800 after")
    view = StepView(trajectory=Trajectory(instance=make_instance(), steps=(step,)), index=0)
    assert STEP_FILTERS.parse("after").matches(view)
    assert not STEP_FILTERS.parse('"x\ud800"').matches(view)


def test_what_needs_a_result_is_known() -> None:
    assert STEP_FILTERS.parse("~tool x & !~err").late
    assert not STEP_FILTERS.parse("~tool x & ~who agent").late


def test_completion() -> None:
    names = [each.text for each in STEP_FILTERS.complete("~p")]
    assert names == ["~policy"]
    assert "~tool" in [each.text for each in STEP_FILTERS.complete("~err & ")]
    tools = STEP_FILTERS.complete("~tool get", VIEWS)
    assert [(each.text, each.replaces) for each in tools] == [("get_data", 3), ("get_team_wins", 3)]
    assert [each.text for each in STEP_FILTERS.complete("~who h")] == ["human"]
    assert STEP_FILTERS.complete('~tool "open') == []


def test_higher_floors_register_their_own() -> None:
    language = STEP_FILTERS.extended(Predicate("even", "has an even number", lambda view, _: view.index % 2 == 1))
    assert [view.index for view in VIEWS if language.parse("~even").matches(view)] == [1, 3, 5]
    with pytest.raises(FilterError):
        STEP_FILTERS.parse("~even")
    with pytest.raises(ValueError, match="~tool"):
        STEP_FILTERS.register(Predicate("tool", "", lambda view, _: True))


def test_other_subjects_have_their_own_language() -> None:
    numbers: Language[int] = Language(
        [
            Predicate("text", "is written", lambda number, matches: bool(matches(str(number))), "pattern"),
            Predicate("size", "is this large", lambda number, matches: bool(matches(number)), "number"),
        ],
        text_predicate="text",
    )
    assert [n for n in range(20) if numbers.parse("1 & ~size >10").matches(n)] == list(range(11, 20))


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = STEP_FILTERS.parse(text)
    except FilterError as error:
        assert 0 <= error.position <= len(text)
    else:
        for view in VIEWS:
            assert found.matches(view) in (True, False)


@given(
    st.recursive(
        st.sampled_from(["~err", "~tool get", "wins"]),
        lambda part: st.one_of(
            st.builds("!({})".format, part),
            st.builds("({}) & ({})".format, part, part),
            st.builds("({}) | ({})".format, part, part),
        ),
        max_leaves=8,
    )
)
def test_negation_is_the_complement(expression: str) -> None:
    assert sorted(matched(expression) + matched(f"!({expression})")) == [1, 2, 3, 4, 5, 6]
