"""Each row of the contract's evaluator list that ends in a verdict: the released value under ``vakra``, the right one
under ``paper``.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.vakra_profile.conftest import DOMAIN, FIRST, SECOND, ScriptedJudge, World, call, record, turn

COUNT_RED = [
    call("filter_data", data_label="retrieved_data_1", key_name="team", value="red", condition="equal_to"),
    call("aggregate_data", data_label="filtered_data_1", key_name="id", aggregation_operation="count"),
]
COUNT_FLIGHT = [
    call("filter_data", data_label="retrieved_hero_1", key_name="power_title", value="flight", condition="equal_to"),
    call("aggregate_data", data_label="filtered_hero_1", key_name="hero_id", aggregation_operation="count"),
]
COUNT_ALL = [call("aggregate_data", data_label="retrieved_data_1", key_name="id", aggregation_operation="count")]
SECOND_TRUTH = record(SECOND, turn(["20"], COUNT_FLIGHT))
SECOND_RIGHT = record(SECOND, turn("20", COUNT_FLIGHT))


async def both(world: World, truth: Any, prediction: Any, **more: Any) -> tuple[Any, Any]:
    """Verdicts on the first dialogue by vakra and by paper, with a second, plain dialogue beside it in capability 1."""
    alone = more.pop("alone", more.get("capability", 1) != 1)
    truths = [truth] if alone else [truth, SECOND_TRUTH]
    predictions = [prediction] if alone else [prediction, SECOND_RIGHT]
    uuid = truth["uuid"]
    released = await world.score("vakra", truths, predictions, **more)
    more.pop("judge", None)
    right = await world.score("paper", truths, predictions, **more)
    return released[uuid], right[uuid]


def exact(verdict: Any) -> bool:
    return bool(verdict.stages[1].outcome == "pass")


async def test_a_plain_dialogue_passes_by_both(world: World) -> None:
    released, right = await both(
        world, record(FIRST, turn(["27"], COUNT_RED)), record(FIRST, turn("there are 27", COUNT_RED))
    )
    assert released.passed and exact(released)
    assert released.stages[2].rulings["consistent"] is None, "after an exact match the answer is not compared"
    assert right.passed
    assert [stage.outcome for stage in released.stages] == ["skipped", "pass", "pass"]


async def test_e2_a_single_dialogue_loses_its_exact_match(world: World) -> None:
    truth, prediction = record(FIRST, turn(["27"], COUNT_RED)), record(FIRST, turn("wrong", COUNT_RED))
    released, _ = await both(world, truth, prediction, alone=True)
    assert not exact(released) and released.passed is False
    assert "retrieved_data_2" in released.stages[1].evidence[0]["missing"][0]
    released, right = await both(world, truth, record(FIRST, turn("27", COUNT_RED)), alone=True)
    assert not exact(released) and released.passed
    assert right.passed and right.stages[1].outcome == "pass"


async def test_e3_a_dialogue_leaks_into_the_next(world: World) -> None:
    truths = [record(FIRST, turn(["27"], COUNT_RED)), SECOND_TRUTH]
    leaking = record(FIRST, turn("27", [*COUNT_RED, call("get_data", tool_universe_id=SECOND)]))
    predictions = [leaking, record(SECOND, turn("It is 20.", COUNT_FLIGHT))]
    released = await world.score("vakra", truths, predictions)
    assert exact(released[FIRST]) and not exact(released[SECOND]) and released[SECOND].passed is False
    right = await world.score("paper", truths, predictions)
    assert right[SECOND].passed


async def test_e4_exploration_shifts_handle_numbers(world: World) -> None:
    explored = [
        call("filter_data", data_label="retrieved_data_1", key_name="team", value="blue", condition="equal_to"),
        COUNT_RED[0],
        call("aggregate_data", data_label="filtered_data_2", key_name="id", aggregation_operation="count"),
    ]
    released, right = await both(world, record(FIRST, turn(["27"], COUNT_RED)), record(FIRST, turn("27", explored)))
    assert not exact(released) and released.passed
    assert right.stages[1].outcome == "pass" and right.passed


async def test_e5_a_calculator_matches_by_accident(world: World) -> None:
    typed = [call("Calculator", input_1=30, input_2=10, operation="add")]
    released, right = await both(world, record(FIRST, turn(["40"], COUNT_ALL)), record(FIRST, turn("any text", typed)))
    assert exact(released) and released.passed
    assert right.passed is False
    _, right = await both(world, record(FIRST, turn(["40"], COUNT_ALL)), record(FIRST, turn("It is 40.", typed)))
    assert right.passed is False


async def test_e6_two_filters_with_one_peek(world: World) -> None:
    def without(number: int) -> list[Any]:
        return [
            call("filter_data", data_label="retrieved_data_1", key_name="id", value=number, condition="not_equal_to")
        ]

    released, right = await both(
        world, record(FIRST, turn(["39"], without(30))), record(FIRST, turn("zzz", without(31)))
    )
    assert exact(released) and released.passed
    assert right.passed is False


async def test_e7_two_errors_are_equal(world: World) -> None:
    truth = record(FIRST, turn(["x"], [call("retrieve_data", data_label="retrieved_data_1", key_name="nope")]))
    failing = call("filter_data", data_label="retrieved_data_1", key_name="nope", value="q", condition="equal_to")
    released, right = await both(world, truth, record(FIRST, turn("made up", [failing])))
    assert exact(released) and released.passed
    assert "match on error text" in released.marks
    assert (right.status, right.reason) == ("unscored", "ground truth failed")


async def test_a_handle_where_a_list_is_due_is_refused_as_by_the_release(world: World) -> None:
    names = call("retrieve_data", data_label="retrieved_data_1", key_name="team")
    distinct = call("select_unique_values", unique_array="retrieved_data_2")
    truth = record(FIRST, turn(["2"], [names, call("select_unique_values", unique_array=["red", "blue"])]))
    released, right = await both(world, truth, record(FIRST, turn("2", [names, distinct])))
    assert not exact(released)
    assert right.stages[1].outcome == "pass"


@pytest.mark.parametrize(("own_calls", "passes"), [(19, True), (20, False)])
async def test_e8_the_window_of_twenty(world: World, own_calls: int, passes: bool) -> None:
    released, right = await both(
        world, record(FIRST, turn(["40"], COUNT_ALL)), record(FIRST, turn("not 40 but", COUNT_ALL * own_calls))
    )
    assert exact(released) is passes and released.passed is passes
    assert ("outside the 20-response window" in released.marks) is not passes
    assert right.stages[1].outcome == "pass"


@pytest.mark.parametrize(
    "sequence",
    [{"tool_call": []}, {"tool_call": [call("initialize_active_data")]}, [{"tool_call": COUNT_RED}]],
)
async def test_e9_no_calls_match_anything(world: World, sequence: Any) -> None:
    truth = record(FIRST, {**turn(["42"]), "sequence": sequence})
    released, _ = await both(world, truth, record(FIRST, turn("anything at all")))
    assert exact(released) and released.passed
    assert "vacuous" in released.marks


async def test_e9_without_calls_the_answer_is_judged_by_paper(world: World) -> None:
    truth = record("a", turn(["42"], []))
    released, right = await both(world, truth, record("a", turn("the count is 7", [])), capability=2)
    assert released.passed and "vacuous" in released.marks
    assert right.passed is False and right.stages[1].outcome == "pass"


RED = {"name": "count_heroes", "arguments": {"team": "red"}, "response_text": '{\n  "count": 27\n}', "is_error": False}
NONE = {"name": "count_heroes", "arguments": {"team": "None"}, "response_text": '{\n  "count": 0\n}', "is_error": False}
ASK_RED = [call("count_heroes", team="red")]

ODD_PREDICTIONS = {
    "two turns": record("a", turn("27", ASK_RED), turn("27", ASK_RED, turn_id=1)),
    "no turn": record("a"),
    "another turn": record("a", turn("27", ASK_RED, turn_id=1)),
    "sequence null": record("a", {**turn("27"), "sequence": None}),
    "arguments list": record("a", turn("27", [{"name": "count_heroes", "arguments": ["red"]}])),
    "arguments text": record("a", turn("27", [{"name": "count_heroes", "arguments": "{bad"}])),
    "turn is a text": record("a", "27"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", ODD_PREDICTIONS)
async def test_e10_a_malformed_prediction_is_wrong_and_stops_nothing(world: World, name: str) -> None:
    truths = [record("a", turn(["27"], ASK_RED)), record("b", turn(["27"], ASK_RED))]
    predictions = [ODD_PREDICTIONS[name], record("b", turn("27", ASK_RED))]
    for profile in ("vakra", "paper"):
        verdicts = await world.score(profile, truths, predictions, capability=2, recorded=[RED])
        assert (verdicts["a"].status, verdicts["a"].passed) == ("scored", False), profile
        assert verdicts["b"].passed, profile


async def test_e10_a_malformed_ground_truth_is_unscored(world: World) -> None:
    truths = [record("a"), record("b", turn(["27"], ASK_RED))]
    predictions = [record("a", turn("27", ASK_RED)), record("b", turn("27", ASK_RED))]
    verdicts = await world.score("vakra", truths, predictions, capability=2, recorded=[RED])
    assert verdicts["a"].status == "unscored"
    assert verdicts["b"].passed


async def test_arguments_as_json_text_are_well_formed(world: World) -> None:
    prediction = record("a", turn("any", [{"name": "count_heroes", "arguments": '{"team": "red"}'}]))
    released, _ = await both(world, record("a", turn(["27"], ASK_RED)), prediction, capability=2, recorded=[RED])
    assert exact(released)


async def test_e12_a_judge_that_is_down_scores_nothing(world: World) -> None:
    truths, predictions = [record("a", turn(["27"], ASK_RED))], [record("a", turn("27", ASK_RED))]
    for profile in ("vakra", "paper"):
        verdicts = await world.score(
            profile, truths, predictions, capability=2, recorded=[RED], judge=ScriptedJudge(down=True)
        )
        assert (verdicts["a"].status, verdicts["a"].reason) == ("unscored", "judge")
    assert (
        "0.0"
        in (
            await world.score(
                "vakra", truths, predictions, capability=2, recorded=[RED], judge=ScriptedJudge(down=True)
            )
        )["a"].detail
    )


async def test_e15_nested_answers_lose_their_numbers(world: World) -> None:
    truth = record("a", turn([["Marvel", 1], ["DC", 2]], ASK_RED))
    prediction = record("a", turn("Marvel, DC", []))
    released, right = await both(world, truth, prediction, capability=2, recorded=[RED])
    assert released.passed
    assert right.passed is False


async def test_e15_two_empty_answers_agree_without_a_judge(world: World) -> None:
    judge = ScriptedJudge()
    verdicts = await world.score(
        "vakra",
        [record("a", turn(None, ASK_RED))],
        [record("a", turn("", []))],
        capability=2,
        recorded=[RED],
        judge=judge,
    )
    assert verdicts["a"].passed
    assert [gate for gate, _ in judge.asked] == ["grounded"]


async def test_e16_null_becomes_a_text(world: World) -> None:
    truth = record("a", turn(["0"], [call("count_heroes", team="None")]))
    prediction = record("a", turn("0", [call("count_heroes", team=None)]))
    released, right = await both(world, truth, prediction, capability=2, recorded=[NONE])
    assert exact(released) and "coerced" in released.marks
    assert right.passed is False


async def test_e16_a_call_without_a_name_is_skipped_and_kept(world: World) -> None:
    truth = record("a", turn(["27"], ASK_RED))
    prediction = record("a", turn("27", [{"arguments": {}}, *ASK_RED]))
    released, _ = await both(world, truth, prediction, capability=2, recorded=[RED])
    assert exact(released)
    assert "steps 2 of 1" in released.detail


async def test_e20_without_an_environment_nothing_is_trusted(world: World) -> None:
    truth = record("a", turn(["1"], ASK_RED, responses=["R1"]))
    prediction = record("a", turn("zzz", [call("nothing")], responses=["R1"]))
    for verdict in await both(world, truth, prediction, capability=2, environment=False):
        assert (verdict.status, verdict.reason) == ("unscored", "environment")


# Capability 4 (row E11) -------------------------------------------------------------------------------------------

PASSAGES = [{"id": "p1", "text": "Red has 27 heroes.", "distance": 0.1}, {"id": "p2", "text": "Blue is small."}]
ASK = call(f"query_{DOMAIN}", question="red heroes", n_results=2)
ANSWERED = {
    "name": f"query_{DOMAIN}",
    "arguments": {"question": "red heroes", "n_results": 2},
    "response_text": json.dumps({"results": PASSAGES}, indent=2),
    "is_error": False,
}


async def capability_4(world: World, truth: Any, prediction: Any) -> tuple[Any, Any]:
    return await both(world, truth, prediction, capability=4, recorded=[RED, ANSWERED])


async def test_e11_retriever_responses_are_taken_from_the_file(world: World) -> None:
    truth = record("a", turn(["27"], [ASK, *ASK_RED], responses=[PASSAGES, "stale"]))
    prediction = record("a", turn("other", [*ASK_RED, ASK]))
    released, _ = await capability_4(world, truth, prediction)
    assert exact(released), "passages as a list of texts, the other response re-executed"
    other = [{"text": "Something else."}]
    truth = record("a", turn(["27"], [ASK, *ASK_RED], responses=[other, "stale"]))
    released, right = await capability_4(world, truth, record("a", turn("27", [*ASK_RED, ASK])))
    assert not exact(released) and released.passed
    assert right.passed


async def test_e11_a_failed_retriever_call_gives_no_text(world: World) -> None:
    truth = record("a", turn(["27"], [ASK], responses=[[]]))
    released, _ = await capability_4(world, truth, record("a", turn("no", [call(f"query_{DOMAIN}", query="x")])))
    assert exact(released)


@pytest.mark.parametrize(
    "turns",
    [
        (turn(["27"], [ASK]),),
        (turn(["27"], [ASK, *ASK_RED], responses=[PASSAGES]),),
        (turn(["27"], [ASK], responses=[PASSAGES]), turn(["27"], ASK_RED, turn_id=1)),
    ],
)
async def test_e11_records_that_the_release_fails_on_get_a_status(world: World, turns: Any) -> None:
    last = turns[-1]
    prediction = record("a", turn("27", last["sequence"]["tool_call"], turn_id=last["turn_id"]))
    released, right = await capability_4(world, record("a", *turns), prediction)
    assert (released.status, released.reason) == ("unscored", "ground truth failed")
    assert "retriever" in released.detail
    assert right.passed


async def test_e11_a_turn_without_calls_shifts_the_responses(world: World) -> None:
    truth = record("a", turn("x", None), turn(["27"], ASK_RED, turn_id=1))
    prediction = record("a", turn("zz 27", ASK_RED, turn_id=1))
    released, right = await capability_4(world, truth, prediction)
    assert not exact(released) and released.passed is False
    assert right.passed


async def test_only_the_last_turn_is_scored(world: World) -> None:
    truth = record("a", turn(["1"], ASK_RED), turn(["27"], ASK_RED, turn_id=1))
    released, _ = await capability_4(world, truth, record("a", turn("zz", ASK_RED, turn_id=1)))
    assert exact(released)
