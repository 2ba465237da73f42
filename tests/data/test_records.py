"""Records in every public spelling (EVL-21, E10) and labels of the older style."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenv.dataset.labels import OPENING_LABEL, opening_labels, resolve
from toolenv.dataset.records import calls_from, instance_from, prediction_from
from toolenv.model import ToolCall, ToolResult, ToolSpec

A = {"name": "a", "arguments": {"x": 1}}
B = {"name": "b", "arguments": {}}


def truth_of(turn: dict[str, Any], **record: Any) -> Any:
    output = [{"turn_id": 0, "query": "q", "answer": ["1"], **turn}]
    return instance_from(2, "hockey", "u", None, {"uuid": "u", "domain": "hockey", "output": output, **record})


@pytest.mark.parametrize(
    ("sequence", "responses"),
    [
        ({"tool_call": [A, B]}, None),
        ({"tool_call": [A, B], "tool_response": ["1", "2"]}, ("1", "2")),
        ({"tool_call": [A, B], "tool_response": ["1"]}, ("1", None)),
        ([{"tool_call": [A, B]}], None),
        ([{"tool_call": [A]}, {"tool_call": [B]}], None),
        ([{"tool_call": A, "tool_response": "1"}, {"tool_call": B, "tool_response": "2"}], ("1", "2")),
        ({"tool_call": [[A, B]], "tool_response": [["1", "2"]]}, ("1", "2")),
        ({"tool_call": [[A], [B]], "tool_response": [["1"], ["2"]]}, ("1", "2")),
        ({"tool_call": [[A], B]}, None),
        ([A, B], None),
    ],
)
def test_calls_in_every_nesting(sequence: Any, responses: Any) -> None:
    calls, found, _ = calls_from(sequence)
    assert [call.name for call in calls] == ["a", "b"]
    assert calls[0].arguments == {"x": 1}
    assert found == responses


def test_retrieved_passages_stay_together() -> None:
    passages = [{"doc_id": "d1", "text": "t"}, {"doc_id": "d2", "text": "u"}]
    _, found, _ = calls_from({"tool_call": [{"name": "query_x", "arguments": {}}], "tool_response": [passages]})
    assert found == (passages,)
    _, found, _ = calls_from([{"tool_call": {"name": "query_x", "arguments": {}}, "tool_response": passages}])
    assert found == (passages,)


def test_older_exports() -> None:
    turn = {"turn_id": 0, "query": "q", "answer": "1", "gold_sequence": [{"tool_call": [A], "tool_response": ["r"]}]}
    instance = instance_from(2, "hockey", "u", None, {"uuid": "u", "domain": "hockey", "ground_truth": [turn]})
    assert instance.ground_truth is not None
    assert [call.name for call in instance.ground_truth.evaluated.calls] == ["a"]
    assert instance.ground_truth.evaluated.responses == ("r",)
    assert instance.problems == ()


@pytest.mark.parametrize(
    "answer",
    [[["Ann", "Lee"], ["Bo", "Kim"]], [[None]], [0], [], [1234567.0], {"a": 1}, None, "1", 5, True, ["Caf\u00e9"]],
)
def test_answers_of_every_shape_are_kept_whole(answer: Any) -> None:
    assert truth_of({"answer": answer, "sequence": {"tool_call": [A]}}).ground_truth.evaluated.answer == answer


@pytest.mark.parametrize(
    ("arguments", "read", "raw"),
    [
        ({"x": 1}, {"x": 1}, None),
        ('{"x": 1}', {"x": 1}, None),
        ("", {}, None),
        (None, {}, None),
        ("{broken", {}, "{broken"),
        ("[1]", {}, "[1]"),
        ([1], {}, "[1]"),
        (5, {}, "5"),
    ],
)
def test_arguments_of_every_shape(arguments: Any, read: Any, raw: str | None) -> None:
    calls, _, problems = calls_from({"tool_call": [{"name": "a", "arguments": arguments}]})
    assert calls[0].arguments == read
    assert calls[0].raw_arguments == raw
    assert (len(problems) == 1) is (raw is not None)


@pytest.mark.parametrize(
    ("sequence", "names"),
    [
        (None, []),
        (5, []),
        ("text", []),
        ([], []),
        ([5, {"tool_call": [A]}], ["a"]),
        ({"tool_call": None}, []),
        ({"tool_call": 5}, []),
        ({"tool_call": [5, {"arguments": {}}, {"name": ""}, {"name": 7}, A]}, ["a"]),
        ({"tool_call": [{"function": {"name": "a", "arguments": '{"x": 1}'}, "id": "c1"}]}, ["a"]),
    ],
)
def test_odd_sequences_lose_only_what_is_odd(sequence: Any, names: list[str]) -> None:
    calls, _, problems = calls_from(sequence)
    assert [call.name for call in calls] == names
    assert problems or sequence is None or sequence in ([], {"tool_call": None}) or names == ["a"]


def test_dialogues_and_what_is_due() -> None:
    record = {
        "uuid": "u",
        "domain": "hockey",
        "dialogue": {
            "turns": [{"turn_id": 3, "query": "one", "answer": ["x"]}, {"turn_id": 4, "query": "two", "answer": "y"}]
        },
        "additional_instructions": "Be brief.",
    }
    instance = instance_from(4, "hockey", "u", record, None)
    assert [(turn.turn_id, turn.query, turn.answer) for turn in instance.turns] == [(3, "one", ["x"]), (4, "two", None)]
    assert instance.query == "two"
    assert instance.policy == "Be brief."
    assert instance.ground_truth is None
    assert instance.universe_id is None
    assert instance_from(1, "hockey", "u", record, None).universe_id == "u"


def test_without_an_input_record_the_answer_due_is_not_given_away() -> None:
    turns = [{"turn_id": 0, "query": "one", "answer": "x"}, {"turn_id": 1, "query": "two", "answer": "y"}]
    instance = instance_from(4, "hockey", "u", None, {"uuid": "u", "domain": "hockey", "output": turns})
    assert [turn.answer for turn in instance.turns] == ["x", None]


def test_author_keys_are_kept_apart() -> None:
    instance = instance_from(
        4,
        "hockey",
        "u",
        {
            "uuid": "u",
            "domain": "hockey",
            "tools": [],
            "num_turns": 1,
            "dialogue": {"turns": [{"turn_id": 0, "query": "q"}]},
        },
        {
            "uuid": "u",
            "domain": "hockey",
            "gold_sql": "SELECT 1",
            "hop_pattern": "API",
            "output": [{"turn_id": 0, "query": "q", "answer": 1, "sequence": {}, "unanswerable": True, "hops": []}],
        },
    )
    assert instance.author_keys == {
        "gold_sql": "SELECT 1",
        "hop_pattern": "API",
        "unanswerable": True,
        "hops": [],
        "turns": [{"unanswerable": True, "hops": []}],
    }


@pytest.mark.parametrize(
    ("output", "turns", "answer"),
    [
        ([], 0, ""),
        (None, 0, ""),
        (5, 0, ""),
        ([{"turn_id": 0, "query": "q", "answer": "1", "sequence": {"tool_call": [A]}}], 1, "1"),
        ([{"turn_id": 0, "answer": "1"}, {"turn_id": 1, "answer": "2"}], 2, "2"),
        ({"turn_id": 0, "answer": "1"}, 1, "1"),
        ([{"answer": ["x", 1]}], 1, '["x", 1]'),
        ([{"answer": None}], 1, ""),
        ([{"turn_id": "0", "answer": "1"}], 1, "1"),
        (["text", {"answer": "1"}], 1, "1"),
    ],
)
def test_predictions_of_every_shape(output: Any, turns: int, answer: str) -> None:
    found = prediction_from(2, "hockey", "u", {"uuid": "u", "domain": "hockey", "output": output, "status": "error"})
    assert found.turns == turns
    assert found.answer == answer
    assert found.status == "error"


def test_another_domain_in_the_record_is_told() -> None:
    found = prediction_from(None, "hockey", "u", {"uuid": "u", "domain": "movie", "output": []})
    assert any("movie" in problem for problem in found.problems)
    assert found.domain == "hockey"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "output",
                    "turn_id",
                    "query",
                    "answer",
                    "sequence",
                    "tool_call",
                    "tool_response",
                    "name",
                    "arguments",
                    "dialogue",
                    "turns",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(
    st.dictionaries(
        st.sampled_from(["output", "ground_truth", "dialogue", "additional_instructions", "domain", "duration_s", "x"]),
        JSON,
    )
)
def test_no_content_can_break_a_load(record: dict[str, Any]) -> None:
    for side in ((record, record), (None, record), (record, None)):
        instance = instance_from(1, "hockey", "u", *side)
        assert instance.turns
    prediction_from(1, "hockey", "u", record)


@given(st.permutations(["turn_id", "query", "answer", "sequence"]))
def test_key_order_does_not_matter(order: list[str]) -> None:
    turn = {"turn_id": 0, "query": "q", "answer": [1], "sequence": {"tool_call": [A]}}
    turned = {name: turn[name] for name in order}
    assert truth_of(turned) == truth_of(turn)
    assert truth_of(json.loads(json.dumps(turn, indent=3))) == truth_of(turn)


# --- labels ----------------------------------------------------------------------------------------------------------


def labelled(name: str, label: str | None = None, **arguments: Any) -> ToolCall:
    return ToolCall(name=name, arguments=arguments, label=label)


def test_a_label_becomes_the_handle_behind_it() -> None:
    written = labelled("filter_data", "F", data_source="$starting_table_var.data_path$", key_name="a", value="$x")
    resolved = resolve(written, {OPENING_LABEL: "retrieved_a_1"})
    assert resolved.arguments == {"data_label": "retrieved_a_1", "key_name": "a", "value": "$x"}
    assert resolved.label == "F"
    assert written.arguments["data_source"] == "$starting_table_var.data_path$", "the call as written is kept"


def test_results_of_any_kind_may_stand_behind_a_label() -> None:
    results = {
        "T": ToolResult(text="{}", handle="filtered_a_2"),
        "N": ToolResult(text="42"),
        "L": ToolResult(text="[1, 2]"),
    }
    written = labelled("Calculator", None, data_source_1="$T.data_path$", input_1="$N$", input_2="$L.result$")
    assert resolve(written, results).arguments == {"data_label_1": "filtered_a_2", "input_1": 42, "input_2": [1, 2]}


def test_what_is_not_of_the_label_style_is_left_alone() -> None:
    for call in (
        labelled("filter_data", None, data_source="x"),
        labelled("filter_data", None, data_label="retrieved_a_1", value="$5.00"),
        labelled("get_data", None),
    ):
        assert resolve(call, {"x": "handle"}) is call


def test_an_unknown_label_stays_for_the_tool_to_refuse() -> None:
    written = labelled("filter_data", None, data_source="$NOWHERE.data_path$")
    assert resolve(written, {}).arguments == {"data_label": "$NOWHERE.data_path$"}


def test_a_tool_that_knows_data_source_keeps_it() -> None:
    spec = ToolSpec(name="f", input_schema={"properties": {"data_source": {}}})
    written = labelled("f", "L", data_source="$A.x$")
    assert resolve(written, {"A": "h"}, spec).arguments == {"data_source": "h"}


def test_the_labels_of_the_opening() -> None:
    assert opening_labels(None) == (OPENING_LABEL,)
    assert opening_labels(labelled("initialize_active_data", "start")) == ("start", OPENING_LABEL)
    assert opening_labels(labelled("filter_data", "F")) == (OPENING_LABEL,)
