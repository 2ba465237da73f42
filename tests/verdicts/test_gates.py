"""The policy gate, the order of the waterfall, marks, and verdicts without a trajectory."""

from __future__ import annotations

import pytest

from eval.case import Case
from eval.judges.none import NoJudge
from eval.model import Gate, Ruling
from eval.waterfall import extra, missing, unscored

TOPIC = "Movies, TV & Entertainment, Social Media"
ONLY_DOCUMENTS = (
    f"If a user's query pertains to {TOPIC}, which is/are about films, make sure you try answering it by only using "
    "document retrievers. Do not use other types of tools."
)
NO_DOCUMENTS = (
    f"Whenever something the user asks pertains to {TOPIC}, which is/are about films, make sure you do not use "
    "document retrievers to try answering it. Use other types of tools."
)
ELSEWHERE = ONLY_DOCUMENTS.replace(TOPIC, "Transportation & Mobility")
UNHEARD = ONLY_DOCUMENTS.replace(TOPIC, "Knitting")
DOCUMENTS_FIRST = "To answer, first try using document retrievers. Use other types of tools otherwise."


class Ruler:
    kind = "recorded"

    def __init__(self, outcome: str) -> None:
        self.outcome = outcome

    async def rule(self, gate: Gate, case: Case) -> Ruling:
        outcome = self.outcome if gate == "policy" else "pass"
        return Ruling(outcome=outcome, decided_by="recorded", reason="scripted")


def case(bench, policy, predicted=None, said="5", domain="disney"):
    made = bench.made("count", {"count": 5})
    return bench.case(
        [made], [5], [made] if predicted is None else predicted, said, capability=4, policy=policy, domain=domain
    )


def query(bench, text="There are 5.", domain="disney", failed=False):
    return bench.made(f"query_{domain}", {"results": [{"text": text}]}, {"question": "How many?"}, failed=failed)


@pytest.mark.parametrize(("policy", "outcome"), [("", "skipped"), (ELSEWHERE, "skipped"), (NO_DOCUMENTS, "pass")])
def test_a_policy_that_is_kept_or_does_not_apply_stops_nothing(bench, policy, outcome):
    verdict = bench.judged(case(bench, policy))
    assert (verdict.stages[0].outcome, verdict.stages[0].decided_by, verdict.passed) == (outcome, "program", True)


def test_a_forbidden_call_ends_the_waterfall_however_right_the_rest_is(bench):
    verdict = bench.judged(case(bench, ONLY_DOCUMENTS))
    assert (verdict.passed, verdict.failed_stage, verdict.sieve) == (False, "policy", "tool_selection")
    assert [stage.outcome for stage in verdict.stages] == ["fail", "skipped", "skipped"]
    assert verdict.stages[0].evidence[0]["step"] == 1 and "count" in verdict.stages[0].reason


def test_a_forbidden_call_that_failed_is_a_violation_too(bench):
    made = bench.made("count", {"count": 5})
    verdict = bench.judged(case(bench, NO_DOCUMENTS, [made, query(bench, failed=True)]))
    assert verdict.failed_stage == "policy" and verdict.stages[0].evidence[0]["step"] == 2


def test_what_must_be_tried_first_must_come_first(bench):
    made = bench.made("count", {"count": 5})
    assert bench.judged(case(bench, DOCUMENTS_FIRST, [query(bench), made])).passed is True
    assert bench.judged(case(bench, DOCUMENTS_FIRST, [made, query(bench)])).failed_stage == "policy"


def test_neutral_calls_are_of_no_source(bench):
    neutral, made = bench.made("get_data", {"domain": "disney"}), bench.made("count", {"count": 5})
    assert bench.judged(case(bench, NO_DOCUMENTS, [neutral, made])).passed is True
    assert bench.judged(case(bench, DOCUMENTS_FIRST, [neutral, query(bench), made])).passed is True


def test_an_unknown_topic_is_undecided_only_where_a_call_depends_on_it(bench):
    made = bench.made("count", {"count": 5})
    harmless = bench.judged(
        bench.case([query(bench)], [5], [query(bench)], "5", capability=4, policy=UNHEARD, domain="disney")
    )
    assert harmless.passed is True and harmless.stages[0].outcome == "pass"
    verdict = bench.judged(case(bench, UNHEARD, [made]))
    assert (verdict.passed, verdict.failed_stage, verdict.sieve) == (None, "policy", "undecided")
    assert verdict.stages[1].outcome == verdict.stages[2].outcome == "pass"


def test_an_undecided_policy_lets_a_later_gate_fail(bench):
    verdict = bench.judged(case(bench, UNHEARD, said="6"))
    assert (verdict.passed, verdict.failed_stage) == (False, "final_response")


@pytest.mark.parametrize(("outcome", "passed"), [("pass", True), ("fail", False), ("undecided", None)])
def test_a_judge_decides_whether_an_unknown_policy_applies(bench, outcome, passed):
    verdict = bench.judged(case(bench, UNHEARD), Ruler(outcome))
    assert verdict.passed is passed
    assert verdict.stages[0].decided_by == (None if outcome == "undecided" else "recorded")


def test_an_unknown_domain_never_silently_applies(bench):
    verdict = bench.judged(case(bench, ONLY_DOCUMENTS, domain="no_such_domain"))
    assert verdict.passed is None and verdict.failed_stage == "policy"


REFUSAL = "If you don't have enough information to complete the task, respond with 'Computer says no'"


@pytest.mark.parametrize(
    ("said", "passed"), [("Computer says no", True), ("I cannot answer.", True), ("42", False), ("", False)]
)
def test_the_refusal_that_a_policy_asks_for_is_a_refusal(bench, said, passed):
    verdict = bench.judged(bench.case([], ["Computer says no"], [], said, capability=4, policy=REFUSAL))
    assert verdict.passed is passed


@pytest.mark.parametrize(
    ("said", "passed"),
    [("I don't know what the fuss is about.", True), ("I cannot answer that.", False), ("It is fine.", None)],
)
def test_a_text_that_was_shown_is_no_refusal_however_it_sounds(bench, said, passed):
    review = bench.made("review", {"review": "I don't know what the fuss is about."})
    case = bench.case([review], ["I don't know what the fuss is about."], [review], said)
    assert bench.judged(case).passed is passed


def test_context_turns_are_not_judged_but_ground_an_answer(bench):
    made = bench.made("eyes", {"eyes": "blue"})
    verdict = bench.judged(
        bench.case(
            [made],
            ["Thor", "blue"],
            [made],
            "Thor, blue",
            context=[("Who is strongest?", ["Thor"])],
            query="Thor's eyes?",
        )
    )
    assert verdict.passed is True


def test_what_the_dialogue_said_before_grounds_an_answer(bench):
    context = [("Who publishes Hellboy?", ["Dark Horse Comics"])]
    made = bench.made("founder", {"founder": "Mike Richardson"})
    case = bench.case(
        [made],
        ["Dark Horse Comics", "Mike Richardson"],
        [made],
        "Mike Richardson of Dark Horse Comics",
        context=context,
    )
    assert bench.judged(case).passed is True
    alone = bench.case([], ["Dark Horse Comics"], [], "Dark Horse Comics", context=context)
    assert bench.judged(alone).stages[2].rulings["grounded"].outcome == "pass"
    without = bench.case([], ["Dark Horse Comics"], [], "Dark Horse Comics")
    assert bench.judged(without).stages[2].rulings["grounded"].outcome == "undecided"


def test_an_earlier_turn_without_an_answer_grounds_nothing(bench):
    made = bench.made("founder", {"founder": "Mike Richardson"})
    unanswered = bench.case([made], [None], [made], "None", context=[("Who publishes Hellboy?", None)])
    assert bench.judged(unanswered).stages[2].rulings["grounded"].outcome == "undecided"


def test_without_a_judge_what_a_program_cannot_rule_is_undecided(bench):
    verdict = bench.judged(case(bench, ""), NoJudge())
    assert (verdict.passed, verdict.failed_stage, verdict.sieve) == (None, "final_response", "undecided")


# --- grounded --------------------------------------------------------------------------------------------------------


def grounded(bench, response, answer, said, **more):
    made = response if not isinstance(response, dict | list | str) else bench.made("get", response)
    verdict = bench.judged(bench.case([made], answer, [made], said, **more))
    return verdict.stages[2].rulings["grounded"]


@pytest.mark.parametrize(
    ("response", "answer", "said", "outcome"),
    [
        ({"n": 5}, [5], "5", "pass"),
        ({"rows": ["a", "b", "c"]}, [3], "3", "pass"),
        ({"rows": [1, 2, 6]}, [9], "9", "pass"),
        ({"rows": [1, 2, 6]}, [3], "3", "pass"),
        ({"rows": [{"h": 10}, {"h": 30}]}, [20], "20", "pass"),
        ({"a": 100, "b": 351}, [251], "251", "pass"),
        ({"a": 3.8461538461538463}, [3.84615], "3.84615%", "pass"),
        ({"a": 3.8461538461538463}, [3.9], "3.9", "undecided"),
        ({"n": 5}, [7], "7", "undecided"),
        ({"name": "Ann"}, ["Bo"], "Bo", "undecided"),
        ({"name": None}, [None], "none", "pass"),
        ({"rows": []}, [None], "unknown", "pass"),
    ],
)
def test_a_value_is_grounded_when_it_was_shown_or_follows_from_one_response(bench, response, answer, said, outcome):
    assert grounded(bench, response, answer, said).outcome == outcome


def test_passages_ground_whole_tokens(bench):
    passage = query(bench, "The float was invented by Frank Wisner in 1893.")
    assert grounded(bench, passage, ["Frank Wisner"], "Frank Wisner", capability=4).outcome == "pass"
    assert grounded(bench, passage, ["Frank Wisner and 1893"], "Frank Wisner and 1893", capability=4).outcome == "pass"
    assert grounded(bench, passage, ["Frank Wis"], "Frank Wis", capability=4).outcome == "undecided"


def test_rows_that_were_never_shown_ground_nothing(bench):
    table = bench.made("filter_data", bench.rows(("name",), (("a1",), ("b2",), ("c3",), ("d4",))))
    case = bench.case([table], ["a1", "b2", "c3", "d4"], [table], "a1, b2, c3, d4", capability=1)
    verdict = bench.judged(case)
    assert verdict.failed_stage == "final_response" and "answer longer than its peek" in verdict.marks
    assert "'d4'" in verdict.stages[2].reason and "never shown" in verdict.stages[2].reason
    shown = bench.case([table], ["a1", "b2", "c3"], [table], "a1, b2, c3", capability=1)
    assert bench.judged(shown).passed is True


def test_a_number_is_no_difference_of_any_two_of_many(bench):
    rows = {"rows": [{"id": n, "height": 100 + 7 * n} for n in range(20)]}
    assert grounded(bench, rows, [56], "56").outcome == "undecided"


def test_numbers_beyond_all_measure_are_read(bench):
    huge = {"n": 10**400, "rows": [10**400, 1.5, 10**300]}
    assert grounded(bench, huge, [7], "7").outcome == "undecided"


def test_a_refusal_claims_nothing(bench):
    verdict = bench.judged(bench.case([], ["I don't know."], [], "I am unable to answer."))
    assert verdict.passed is True and verdict.stages[2].rulings["grounded"].outcome == "pass"


# --- verdicts without a trajectory -----------------------------------------------------------------------------------


def test_a_missing_prediction_is_wrong_and_counted():
    verdict = missing("u", 1, "superhero")
    assert (verdict.status, verdict.passed, verdict.failed_stage, verdict.sieve) == (
        "missing",
        False,
        None,
        "tool_selection",
    )
    assert {stage.outcome for stage in verdict.stages} == {"skipped"}


def test_what_is_unscored_or_extra_has_no_verdict():
    verdict = unscored("u", 1, "superhero", "environment", "the server does not answer")
    assert (verdict.status, verdict.passed, verdict.sieve, verdict.reason) == ("unscored", None, None, "environment")
    assert {stage.reason for stage in verdict.stages} == {"the server does not answer"}
    verdict = extra("u", 1, "superhero")
    assert (verdict.status, verdict.passed, verdict.sieve) == ("extra", None, None)


def test_an_instance_without_ground_truth_is_unscored(bench):
    import msgspec

    whole = case(bench, "")
    bare = msgspec.structs.replace(
        whole, truth=None, instance=msgspec.structs.replace(whole.instance, ground_truth=None)
    )
    verdict = bench.judged(bare)
    assert (verdict.status, verdict.reason) == ("unscored", "no ground truth")


@pytest.mark.parametrize(("kind", "reason"), [("not_recorded", "not recorded"), ("timed_out", "environment")])
def test_a_trajectory_with_an_unanswered_call_is_unscored(bench, kind, reason):
    import msgspec

    whole = case(bench, "")
    steps = whole.prediction.trajectory.steps
    result = msgspec.structs.replace(steps[0].result, failed=True, error_kind=kind)
    steps = (msgspec.structs.replace(steps[0], result=result), *steps[1:])
    trajectory = msgspec.structs.replace(whole.prediction.trajectory, steps=steps)
    executed = msgspec.structs.replace(whole.prediction, trajectory=trajectory)
    verdict = bench.judged(msgspec.structs.replace(whole, prediction=executed))
    assert (verdict.status, verdict.reason) == ("unscored", reason)
