"""The small rules of the released evaluator: replies, coercion, answers, windows, pairing, summaries."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.vakra.coercion import released_arguments
from eval.vakra.dialogues import paired
from eval.vakra.matching import answer_text, flattened, missing_responses
from eval.vakra.records import MalformedRecord, ground_truth_turns, opened, predicted_turn
from eval.vakra.replies import JUDGE_ERROR, correctness, groundedness
from eval.vakra.summary import summary_of
from toolenv.model import ToolCall, ToolSpec


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ('{"explanation": "ok", "score": 1}', 1),
        ('{"explanation": "ok", "score": "1"}', 1),
        ('{"score": true}', 1),
        ('{"score": "yes"}', 1),
        ('{"score": 1.0}', 1),
        ('{"score": "score: 1"}', 1),
        ('{"score": "1 or 0"}', 1),
        ('{"score": 0}', 0),
        ('{"score": "no"}', 0),
        ('{"score": 2}', 0),
    ],
)
def test_a_correctness_reply_that_the_release_reads(reply: str, score: int) -> None:
    found, explanation = correctness(reply)
    assert found == score
    assert not explanation.startswith(JUDGE_ERROR)


@pytest.mark.parametrize(
    "reply",
    [
        '```json\n{"explanation": "ok", "score": 1}\n```',
        'Sure! {"score": 1}',
        '{"score": 1} trailing',
        "{'score': 1}",
        '{"score": 1,}',
        '{"Score": 1}',
        '{"score": "2"}',
        '{"score": "10"}',
        '{"score": null}',
        '{"explanation": "x"}',
        "[1]",
        "1",
        "not json",
        "",
        "[" * 100_000,
    ],
)
def test_e1_a_correctness_reply_that_is_not_bare_scores_0_as_an_error(reply: str) -> None:
    found, explanation = correctness(reply)
    assert found == 0
    assert explanation.startswith(JUDGE_ERROR)


@pytest.mark.parametrize(
    ("reply", "score", "explanation"),
    [
        ("yes\nbecause", 1, "because"),
        ("Yes - all good", 1, "all good"),
        ("partial\nx", 0, "x"),
        ("unsure\nx", 0, "x"),
        ("<conclusion>\nyes\nfine\n</conclusion>", 1, "fine"),
        ("<conclusion>yes</conclusion>\nno", 1, ""),
        ("1. yes\n2. because", 1, "2. because"),
        ("The response has no unsupported claims.\nyes", 0, "unsupported claims."),
        ("choose a label from [yes, partial, no, unsure]\nno", 1, ", partial, no, unsure]"),
        ("\n".join("abcdefghij") + "\nyes", 1, ""),
    ],
)
def test_e17_a_groundedness_reply_is_read_by_its_first_label_word(reply: str, score: int, explanation: str) -> None:
    assert groundedness(reply) == (score, explanation)


@pytest.mark.parametrize("reply", ["", "  ", "grounded", "yesterday"])
def test_a_groundedness_reply_without_a_label_scores_0_as_an_error(reply: str) -> None:
    found, explanation = groundedness(reply)
    assert found == 0
    assert explanation.startswith(JUDGE_ERROR)


def spec(**types: Any) -> ToolSpec:
    properties = {name: {"type": kind} if isinstance(kind, str) else kind for name, kind in types.items()}
    return ToolSpec(name="t", input_schema={"type": "object", "properties": properties})


def test_e16_coercion_loses_what_it_likes() -> None:
    tool = spec(s="string", i="integer", n="number", b="boolean", u={"anyOf": [{"type": "string"}, {"type": "null"}]})
    given = {"s": None, "i": "0100", "n": "1.5", "b": "yes", "u": None, "unknown": None}
    assert released_arguments(tool, given) == {
        "s": "None",
        "i": 100,
        "n": 1.5,
        "b": True,
        "u": None,
        "unknown": None,
    }
    assert released_arguments(tool, {"s": ["a"], "i": "abc", "n": "", "b": "off"}) == {
        "s": "['a']",
        "i": "abc",
        "n": "",
        "b": False,
    }
    assert released_arguments(None, {"s": None}) == {"s": None}
    assert released_arguments(ToolSpec(name="t", input_schema={"properties": []}), {"s": None}) == {"s": None}


def test_e15_answers_are_flattened() -> None:
    assert answer_text([["Marvel", 1], ["DC", 2]]) == "marvel, dc"
    assert answer_text(["Ann  Lee", 5]) == "ann lee, 5"
    assert answer_text([[10]]) == "10"
    assert answer_text(None) == answer_text([]) == answer_text("") == ""
    assert flattened("A  b") == ["a b"]


@given(st.lists(st.text(max_size=3)), st.lists(st.text(max_size=3)))
def test_matching_is_reflexive_and_monotone_within_the_window(expected: list[str], more: list[str]) -> None:
    assert missing_responses(expected[:20], expected[:20]) == []
    together = [*expected, *more]
    if len(together) <= 20:
        assert missing_responses(expected, together) == []
    assert missing_responses([], more) == []


def test_e8_only_the_last_twenty_responses_count() -> None:
    assert missing_responses(["wanted"], ["wanted", *["other"] * 19]) == []
    assert missing_responses(["wanted"], ["wanted", *["other"] * 20]) == ["wanted"]


def test_records_are_paired_by_uuid_as_text_and_the_last_counts() -> None:
    truths = [{"uuid": 7}, {"uuid": "a", "n": 1}, {"uuid": "a", "n": 2}, {"output": []}, "odd", {"uuid": ""}]
    predictions = [{"uuid": "a", "n": 1}, {"uuid": "zz"}, {"uuid": "7"}, {"uuid": "a", "n": 2}, {"output": []}]
    found = paired(truths, predictions)
    assert [dialogue.uuid for dialogue in found] == ["a", "7"]
    assert (found[0].truth["n"], found[0].prediction["n"]) == (2, 2)


def test_e13_samples_count_every_entry_and_the_mean_only_pairs() -> None:
    domain = summary_of(2, [1.0])
    assert (domain.num_samples, domain.num_correct, domain.mean_dialogue_score) == (2, 1.0, 1.0)
    assert summary_of(1, []).max_dialogue_score == 0.0
    assert summary_of(2, []).mean_dialogue_score == 0.0


def names(turns: Any) -> list[list[str] | None]:
    return [None if turn.calls is None else [call.name for call in turn.calls] for turn in turns]


def sequence(*tools: str) -> dict[str, Any]:
    return {"turn_id": 0, "sequence": {"tool_call": [{"name": tool, "arguments": {}} for tool in tools]}}


def test_the_opening_goes_before_the_first_turn_that_has_calls() -> None:
    bare = {"turn_id": 0, "sequence": {}}
    turns = ground_truth_turns({"output": [bare, sequence("a"), sequence("b")]})
    assert names(opened(turns, "u", is_truth=True)) == [None, ["get_data", "a"], ["b"]]
    (turn,) = opened((predicted_turn({"output": [bare]}),), "u", is_truth=False)
    assert turn.calls is None


def test_an_older_opening_is_taken_out_only_where_it_is_the_very_first_call() -> None:
    older, second = sequence("initialize_active_data", "a"), sequence("a", "initialize_active_data")
    assert names(opened(ground_truth_turns({"output": [older]}), "u", is_truth=True)) == [["get_data", "a"]]
    assert names(opened(ground_truth_turns({"output": [second]}), "u", is_truth=True)) == [
        ["get_data", "a", "initialize_active_data"]
    ]
    (turn,) = opened((predicted_turn({"output": [older]}),), "u", is_truth=False)
    assert names([turn]) == [["get_data", "initialize_active_data", "a"]]


def test_a_ground_truth_that_holds_its_opening_gets_no_second_one() -> None:
    opening = {"name": "get_data", "arguments": {"tool_universe_id": "u"}}
    own = {"turn_id": 0, "sequence": {"tool_call": [opening, {"name": "a"}]}}
    assert names(opened(ground_truth_turns({"output": [own]}), "u", is_truth=True)) == [["get_data", "a"]]
    assert names(opened((predicted_turn({"output": [own]}),), "u", is_truth=False)) == [["get_data", "get_data", "a"]]
    other = {"turn_id": 0, "sequence": {"tool_call": [{"name": "get_data", "arguments": {}}]}}
    assert names(opened(ground_truth_turns({"output": [other]}), "u", is_truth=True)) == [["get_data", "get_data"]]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["output", "turn_id", "sequence", "tool_call", "tool_response", "name", "arguments", "answer"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_record_is_read_or_called_malformed(record: Any) -> None:
    for reader in (predicted_turn, ground_truth_turns):
        try:
            found = reader(record)
        except MalformedRecord:
            continue
        turns = found if isinstance(found, tuple) else (found,)
        for turn in opened(turns, "u", is_truth=True):
            assert all(isinstance(call, ToolCall) for call in turn.calls or ())
            answer_text(turn.answer)
