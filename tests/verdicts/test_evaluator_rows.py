"""Every row of the contract's list of evaluator bugs that ends in a verdict: the right value under ``paper``.

Each test is the row's minimal input as files on disk, executed and scored as a batch would.
"""

from __future__ import annotations

from typing import Any

import pytest

from eval.judge import JudgeFailure
from eval.model import Gate, Ruling


def filter_by(value: Any, key: str = "publisher", condition: str = "equal_to", label: str = "retrieved_data_1") -> Any:
    return "filter_data", {"data_label": label, "key_name": key, "value": value, "condition": condition}


def count(label: str, **more: Any) -> Any:
    return "aggregate_data", {"data_label": label, "aggregation_operation": "count", **more}


DC = [filter_by("DC Comics"), count("filtered_data_1")]


class Failing:
    """A judge that cannot be reached."""

    kind = "openai"

    async def rule(self, gate: Gate, case: Any) -> Ruling:
        raise JudgeFailure("The judge at localhost does not answer.")


def test_e2_an_identical_trajectory_matches_whatever_the_handles(world):
    world.instance("u1", [5], DC)
    world.predict("u1", "5", DC)
    verdict = world.verdict()
    assert verdict.passed is True and verdict.stages[1].decided_by == "program"


def test_e3_a_dialogue_never_sees_what_another_one_did(world):
    world.instance("u1", [5], DC)
    world.instance("u2", [5], DC)
    world.predict("u1", "5", [*DC, ("get_data", {"tool_universe_id": "u2"}), filter_by("x")])
    world.predict("u2", "5", DC)
    assert {uuid: verdict.passed for uuid, verdict in world.score().items()} == {"u1": True, "u2": True}


def test_e4_exploration_that_shifts_handle_numbers_changes_nothing(world):
    world.instance("u1", [5], DC)
    world.predict("u1", "5", [filter_by("Image Comics"), filter_by("DC Comics"), count("filtered_data_2")])
    assert world.verdict().passed is True


def test_e5_a_number_computed_from_nothing_is_no_fact(world):
    world.instance("u1", ["5"], DC)
    world.predict(
        "u1",
        "there are 5",
        [
            ("Calculator", {"input_1": 4, "input_2": 3, "operation": "subtract"}),
            ("Calculator", {"input_1": 45, "input_2": 40, "operation": "subtract"}),
        ],
    )
    verdict = world.verdict()
    assert verdict.passed is False and verdict.failed_stage == "tool_sequence"


def test_e5_what_the_ground_truth_computes_itself_is_never_from_nothing(world):
    calls = [("Calculator", {"input_1": 45, "input_2": 40, "operation": "subtract"})]
    world.instance("u1", ["5"], calls)
    world.predict("u1", "5", calls)
    assert world.verdict().passed is True


def test_e5_a_number_computed_from_what_was_seen_is_one(world):
    calls = [
        *DC,
        filter_by("Marvel Comics"),
        count("filtered_data_2"),
        ("Calculator", {"input_1": 5, "input_2": 3, "operation": "add"}),
    ]
    world.instance("u1", [8], calls)
    world.predict("u1", "8", calls)
    assert world.verdict().passed is True


def test_e6_tables_with_one_peek_and_other_rows_differ(world):
    world.instance("u1", ["Vixen"], [filter_by(9, "id", "not_equal_to")])
    world.predict("u1", "zzz", [filter_by(8, "id", "not_equal_to")])
    verdict = world.verdict()
    assert verdict.passed is False and verdict.failed_stage == "tool_sequence"
    assert "column" in verdict.stages[1].reason


def test_e7_a_ground_truth_that_fails_is_reported_and_not_matched(world):
    broken = [filter_by("x", "no_such_key")]
    world.instance("u1", [5], broken)
    world.predict("u1", "5", broken)
    verdict = world.verdict()
    assert (verdict.status, verdict.reason) == ("unscored", "ground truth failed")
    assert "filter_data" in verdict.detail


def test_e7_equal_failures_are_no_facts(world):
    world.instance("u1", [5], DC)
    world.predict("u1", "5", [filter_by("x", "no_such_key"), count("nope")])
    verdict = world.verdict()
    assert verdict.passed is False and verdict.stages[1].reason == "no call succeeded"


@pytest.mark.parametrize("calls", [19, 20, 40])
def test_e8_there_is_no_window(world, calls):
    world.instance("u1", [5], DC)
    world.predict("u1", "5", [*DC, *[filter_by("Image Comics")] * calls])
    assert world.verdict().passed is True


@pytest.mark.parametrize(("said", "passed"), [("I know it is 5", True), ("nonsense", None), ("7", False)])
def test_e9_a_ground_truth_without_calls_leaves_the_answer_to_be_judged(world, said, passed):
    world.instance("u1", [5], [])
    world.predict("u1", said, DC)
    verdict = world.verdict()
    assert verdict.passed is passed and "vacuous" in verdict.marks
    assert verdict.stages[1].outcome == "pass" and verdict.stages[2].outcome != "skipped"


def test_e9_a_sequence_given_as_a_list_keeps_its_calls(world):
    world.instance("u1", [5], DC)
    turn = world.outputs[1][0]["output"][-1]
    turn["sequence"] = [{"tool_call": [call]} for call in turn["sequence"]["tool_call"]]
    world.predict("u1", "5", [filter_by("Image Comics")])
    verdict = world.verdict()
    assert verdict.passed is False and "vacuous" not in verdict.marks


@pytest.mark.parametrize("arguments", [["a"], "{broken", None, 7])
def test_e10_an_item_with_malformed_arguments_is_wrong_and_the_rest_is_scored(world, arguments):
    world.instance("u1", [5], DC)
    world.instance("u2", [5], DC)
    world.predict("u1", "5", [("filter_data", arguments)])
    world.predict("u2", "5", DC)
    verdicts = world.score()
    assert verdicts["u1"].passed is False and verdicts["u2"].passed is True


def test_e11_a_ground_truth_without_recorded_responses_is_executed(world):
    world.tool("query_superhero", 4, question="string")
    passage = {"results": [{"id": "d1", "text": "Hellboy is the creation of Mike Mignola.", "score": 1.0}]}
    for question in ("Who made Hellboy?", "Hellboy creator"):
        world.answered("query_superhero", {"question": question}, passage, 4)
    world.instance("u1", ["Mike Mignola"], [("query_superhero", {"question": "Who made Hellboy?"})], capability=4)
    world.predict("u1", "Mike Mignola", [("query_superhero", {"question": "Hellboy creator"})], capability=4)
    assert world.verdict().passed is True


def test_e12_a_judge_that_fails_leaves_the_instance_unscored(world):
    world.instance("u1", [5], DC)
    world.predict("u1", "5", DC)
    verdict = world.verdict(Failing())
    assert (verdict.status, verdict.reason, verdict.passed) == ("unscored", "judge", None)


def test_e13_a_duplicate_uuid_is_scored_once_and_the_last_counts(world):
    world.instance("u1", [5], DC)
    world.predict("u1", "7", DC)
    world.predict("u1", "5", DC)
    verdict = world.verdict()
    assert verdict.passed is True and "duplicate" in verdict.marks


def test_e15_every_column_of_a_nested_answer_counts(world):
    calls = [filter_by("Marvel Comics"), count("filtered_data_1"), filter_by("DC Comics"), count("filtered_data_2")]
    world.instance("u1", [["Marvel Comics", 3], ["DC Comics", 5]], calls)
    world.instance("u2", [["Marvel Comics", 3], ["DC Comics", 5]], calls)
    world.predict("u1", "Marvel Comics, 3; DC Comics, 5", calls)
    world.predict("u2", "Marvel Comics, 4; DC Comics, 6", calls)
    assert {uuid: verdict.passed for uuid, verdict in world.score().items()} == {"u1": True, "u2": False}


@pytest.mark.parametrize("value", [None, ["None"]])
def test_e16_a_call_that_the_server_would_refuse_is_not_made_valid(world, value):
    world.tool("count_by", publisher="string")
    world.answered("count_by", {"publisher": "None"}, {"count": 0})
    world.answered("count_by", {"publisher": "['None']"}, {"count": 0})
    world.instance("u1", [0], [("count_by", {"publisher": "None"})], capability=2)
    world.predict("u1", "0", [("count_by", {"publisher": value})], capability=2)
    verdict = world.verdict()
    assert verdict.passed is False and verdict.failed_stage == "tool_sequence"


def test_a_number_given_as_text_is_coerced_and_marked(world):
    world.tool("count_above", height="integer")
    world.answered("count_above", {"height": 200}, {"count": 3})
    world.instance("u1", [3], [("count_above", {"height": 200})], capability=2)
    world.predict("u1", "3", [("count_above", {"height": "200"})], capability=2)
    verdict = world.verdict()
    assert verdict.passed is True and "coerced" in verdict.marks


def test_e20_responses_found_in_a_prediction_file_are_never_trusted(world):
    world.instance("u1", [5], DC)
    written = {"tool_call": [{"name": "filter_data", "arguments": {"data_label": "nope"}}], "tool_response": ["5"]}
    world.predict("u1", "5", [], sequence=written)
    assert world.verdict().passed is False


def test_e20_without_an_environment_nothing_is_scored(world):
    world.instance("u1", [5], [("count_dc", {})], capability=2)
    written = {"tool_call": [{"name": "count_dc", "arguments": {}}], "tool_response": ["5"]}
    world.predict("u1", "5", [], capability=2, sequence=written)
    verdict = world.verdict()
    assert (verdict.status, verdict.reason) == ("unscored", "environment")


def test_a_call_that_was_not_recorded_leaves_the_instance_unscored(world):
    world.tool("count_above", height="integer")
    world.answered("count_above", {"height": 200}, {"count": 3})
    world.instance("u1", [3], [("count_above", {"height": 200})], capability=2)
    world.predict("u1", "3", [("count_above", {"height": 201})], capability=2)
    verdict = world.verdict()
    assert (verdict.status, verdict.reason) == ("unscored", "not recorded")


def test_verdicts_of_many_at_once_do_not_mix(world):
    for number in range(6):
        world.instance(f"u{number}", [5], DC)
        world.predict(f"u{number}", "5" if number % 2 else "6", DC)
    assert [verdict.passed for verdict in world.score().values()] == [False, True] * 3


def test_records_of_another_shape_are_wrong_and_the_rest_is_scored(world):
    for number in range(5):
        world.instance(f"u{number}", [5], DC)
        world.predict(f"u{number}", "5", DC)
    records = world.predictions[1]
    records[1]["output"] = []
    records[2]["output"][0]["turn_id"] = 7
    records[3]["output"] *= 2
    records[4].update(output=[], status="error", error="the agent ran out of turns")
    verdicts = world.score()
    assert {uuid: verdict.passed for uuid, verdict in verdicts.items()} == {
        "u0": True,
        "u1": False,
        "u2": False,
        "u3": False,
        "u4": False,
    }
    assert all(verdict.status == "scored" for verdict in verdicts.values())


def test_arguments_nested_as_deep_as_records_may_be_are_compared(world):
    deep: Any = 1
    for _ in range(80):
        deep = [deep]
    world.tool("count_above", height="array")
    world.answered("count_above", {"height": [1]}, {"count": 3})
    world.instance("u1", [3], [("count_above", {"height": [1]})], capability=2)
    world.predict("u1", "4", [("count_above", {"height": [1]}), ("other", {"height": deep})], capability=2)
    verdict = world.verdict()
    assert (verdict.failed_stage, verdict.sieve) == ("final_response", "answer")
