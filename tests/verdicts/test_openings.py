"""The opening of a capability-1 session takes no part in a verdict, whoever makes it and however it is written."""

from __future__ import annotations

from typing import Any

DC: list[Any] = [
    (
        "filter_data",
        {"data_label": "retrieved_data_1", "key_name": "publisher", "value": "DC Comics", "condition": "equal_to"},
    ),
    ("aggregate_data", {"data_label": "filtered_data_1", "aggregation_operation": "count"}),
]


def opens(uuid: str) -> Any:
    return "get_data", {"tool_universe_id": uuid}


def test_an_opening_that_the_prediction_makes_itself_counts_for_nothing(world):
    world.instance("u1", [5], DC)
    world.predict("u1", "5", [opens("u1"), *DC])
    verdict = world.verdict()
    assert verdict.passed is True
    assert [item["hop"] for item in verdict.stages[1].evidence] == [1, 2]
    assert {item["step"] for item in verdict.stages[1].evidence} == {1}, "the peek of step 1 shows the count already"


def test_an_opening_made_twice_is_played_once_each(world):
    world.instance("u1", [5], DC)
    world.predict("u1", "5", [opens("u1"), opens("u1"), opens("u1"), *DC])
    verdict = world.verdict()
    assert verdict.passed is True and verdict.stages[1].evidence[0] == {"hop": 1, "step": 3}


def test_the_opening_alone_is_no_call(world):
    world.instance(
        "u1", [10], [("aggregate_data", {"data_label": "retrieved_data_1", "aggregation_operation": "count"})]
    )
    world.predict("u1", "10", [opens("u1")])
    verdict = world.verdict()
    assert verdict.failed_stage == "tool_sequence" and verdict.stages[1].reason == "no call was made"


def test_the_opening_gives_no_facts(world):
    world.instance(
        "u1", [10], [("aggregate_data", {"data_label": "retrieved_data_1", "aggregation_operation": "count"})]
    )
    world.predict("u1", "10", [("retrieve_data", {"data_label": "retrieved_data_1", "key_name": "name", "limit": 2})])
    verdict = world.verdict()
    assert verdict.failed_stage == "tool_sequence" and "needs 10" in verdict.stages[1].reason


def test_a_later_get_data_is_a_call_like_any_other(world):
    world.instance(
        "u1", [10], [("aggregate_data", {"data_label": "retrieved_data_1", "aggregation_operation": "count"})]
    )
    world.instance("u2", ["x"], DC)
    world.predict("u1", "10", [opens("u2")])
    verdict = world.score()["u1"]
    assert verdict.passed is True
    assert verdict.stages[1].evidence == ({"hop": 1, "step": 1},)


def test_an_unknown_universe_is_a_call_that_failed(world):
    world.instance("u1", [5], DC)
    world.predict("u1", "5", [opens("nowhere")])
    verdict = world.verdict()
    assert verdict.failed_stage == "tool_sequence" and verdict.stages[1].reason == "the only call failed"


def older(world: Any) -> None:
    """Rewrite the ground truth in the older style: labels, and a path that nobody may open."""
    tables = {"": {"original_table_name": "heroes", "modified_table_name": "heroes"}}
    start = {"alias_to_table_dict": tables, "condition_sequence": [], "database_path": "/etc/passwd"}
    world.outputs[1][0]["output"][-1]["sequence"]["tool_call"] = [
        {"name": "initialize_active_data", "arguments": start, "label": "starting_table_var"},
        {
            "name": "filter_data",
            "arguments": {**DC[0][1], "data_label": "$starting_table_var.data_path$"},
            "label": "FILTERED_DF_0",
        },
        {"name": "aggregate_data", "arguments": {**DC[1][1], "data_label": "$FILTERED_DF_0.data_path$"}},
    ]


def test_a_ground_truth_in_the_older_style_is_scored_like_any_other(world):
    world.instance("u1", [5], DC)
    older(world)
    world.predict("u1", "5", DC)
    assert world.verdict().passed is True


def test_the_sieve_knows_handles_behind_labels(world):
    world.instance("u1", [5], DC)
    older(world)
    world.predict("u1", "6", DC)
    verdict = world.verdict()
    assert (verdict.failed_stage, verdict.sieve) == ("final_response", "answer")


def test_a_ground_truth_of_an_opening_alone_is_vacuous(world):
    world.instance("u1", [5], [])
    older(world)
    del world.outputs[1][0]["output"][-1]["sequence"]["tool_call"][1:]
    world.predict("u1", "7", DC)
    verdict = world.verdict()
    assert verdict.passed is False and "vacuous" in verdict.marks and verdict.failed_stage == "final_response"


def test_handles_that_restart_after_another_universe_are_told_apart(world):
    """The same handle names mean other tables after a switch: the sieve goes by what is behind them."""
    world.instance("u1", [5], DC)
    world.instance("u2", ["x"], DC)
    world.predict("u1", "6", [*DC, opens("u2"), *DC])
    world.predict("u2", "x", DC)
    verdict = world.score()["u1"]
    assert (verdict.failed_stage, verdict.sieve) == ("final_response", "answer")
