"""A replay that says something else than the live run: told apart, named field by field, never a broken run."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from eval.model import StageResult, Verdict
from eval.reproducible import NOT_REPRODUCIBLE, WHOLE, differences, differing_fields, marked
from sessions.drivers import RecordingDriver
from sessions.execution import execute
from toolenv.model import Instance, Json, Prediction, ToolCall, ToolResult, ToolSpec, Turn


class Chancy:
    """An environment with one tool that depends on clock and chance, and one that does not."""

    kind = "config"
    name = "chancy"

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    async def list_tools(self) -> Sequence[ToolSpec]:
        return [ToolSpec(name=name, input_schema={"type": "object"}) for name in ("draw", "fixed")]

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        if name == "fixed":
            return ToolResult(text='{"value": 1}')
        now, ticket = self._random.random(), self._random.randint(1000, 9999)
        rows = self._random.sample(["a", "b", "c"], 3)
        return ToolResult(text=json.dumps({"now": now, "rows": rows, "ticket": ticket, "kept": [1]}))

    async def table(self, handle: str) -> None:
        return None

    async def close(self) -> None:
        return None

    def on_tools_changed(self, listener: Callable[[], None]) -> None:
        return None


def verdict() -> Verdict:
    stage = StageResult(stage="tool_sequence", outcome="pass", decided_by="program", reason="all there")
    return Verdict(
        uuid="u",
        capability=2,
        domain="d",
        status="scored",
        passed=True,
        failed_stage=None,
        sieve="none",
        stages=(stage,),
    )


async def run(seed: int, tools: Sequence[str], responses: Any = None) -> Any:
    calls = tuple(ToolCall(name=tool, arguments={}) for tool in tools)
    instance = Instance(uuid="u", capability=2, domain="d", turns=(Turn(turn_id=0, query="q"),))
    prediction = Prediction(uuid="u", domain="d", query="q", answer="x", calls=calls, responses=responses)
    return await execute(instance, RecordingDriver(prediction), Chancy(seed))  # type: ignore[arg-type]


def texts(executed: Any) -> list[str]:
    return [step.result.text for step in executed.trajectory.steps if step.result is not None]


async def test_what_depends_on_chance_is_named_and_the_rest_is_not() -> None:
    live, replayed = await run(1, ["fixed", "draw"]), await run(4, ["fixed", "draw"])
    found = marked(verdict(), texts(live), replayed)
    assert found.marks == (NOT_REPRODUCIBLE,)
    assert found.stages[0].evidence[-1] == {
        NOT_REPRODUCIBLE: [{"call": 2, "fields": ["now", "rows (order)", "ticket"]}]
    }
    assert "call 2: now, rows (order), ticket" in found.stages[0].reason
    assert found.passed, "a mark is no verdict"


async def test_a_tool_that_always_answers_the_same_leaves_no_trace() -> None:
    live, replayed = await run(1, ["fixed", "fixed"]), await run(2, ["fixed", "fixed"])
    assert marked(verdict(), texts(live), replayed) == verdict()
    assert marked(verdict(), None, replayed) == verdict()
    assert marked(verdict(), texts(live)[:1], replayed) == verdict()


def test_fields_are_named_by_their_path() -> None:
    assert differing_fields('{"a": {"b": 1}, "c": 2}', '{"c": 2, "a": {"b": 3}}') == ("a.b",)
    assert differing_fields('{"a": 1}', '{"b": 1}') == ("a", "b")
    assert differing_fields("[" * 900 + "1" + "]" * 900, "[" * 900 + "2" + "]" * 900) == (WHOLE,)
    assert differing_fields('{"rows": [{"n": 1}, {"n": 2}]}', '{"rows": [{"n": 1}, {"n": 3}]}') == ("rows.n",)
    assert differing_fields("[1, 2]", "[2, 1]") == (f"{WHOLE} (order)",)
    assert differing_fields("one text", "another") == (WHOLE,)


def test_handle_numbers_key_order_and_nan_are_no_difference() -> None:
    assert differing_fields('{"handle": "filtered_data_1", "n": NaN}', '{"n": NaN, "handle": "filtered_data_7"}') == ()
    assert differing_fields([{"text": "p"}], '[{"text": "p"}]') == ()


def test_two_failures_are_not_compared_but_a_failure_and_an_answer_are() -> None:
    failed = ToolResult(text="Input validation error: ours", failed=True)
    assert differences(["Input validation error: theirs"], [failed]) == ()
    assert len(differences(["164"], [failed])) == 1
    assert differences([None, "1"], [failed, None]) == ()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=15,
)


@given(values)
def test_a_response_never_differs_from_itself(value: Any) -> None:
    assert differing_fields(json.dumps(value), json.dumps(value, indent=2)) == ()


@given(values, values)
def test_any_two_responses_can_be_compared(before: Any, now: Any) -> None:
    differing_fields(json.dumps(before), json.dumps(now))
    differing_fields(before, str(now))
