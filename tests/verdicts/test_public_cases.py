"""Public reports about evaluators, each as its whole kind of fault: what ``paper`` makes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eval.judge import JudgeFailure
from eval.model import Gate, Ruling
from eval.offline import consistent_ruling


def said(truth: Any, answer: str) -> str:
    return consistent_ruling(answer, truth, ["q"]).outcome


class Scripted:
    """A judge that says what it was given, and remembers what it was asked."""

    kind = "recorded"

    def __init__(self, **outcomes: Any) -> None:
        self.outcomes = outcomes
        self.asked: list[str] = []

    async def rule(self, gate: Gate, case: Any) -> Ruling:
        self.asked.append(gate)
        outcome = self.outcomes.get(gate, "undecided")
        if outcome == "error":
            raise JudgeFailure("The judge's reply cannot be read.")
        return Ruling(outcome=outcome, decided_by="recorded", reason="scripted")


# --- EVL-01 normalisation wider than its purpose ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("truth", "answer", "outcome"),
    [
        ([1234], "1,234", "pass"),
        (["1,234"], "1234", "pass"),
        (["2,9"], "(2,9)", "pass"),
        (["2,9"], "29", "fail"),
        (["4,8,16"], "4, 8, 16", "pass"),
        (["4,8,16"], "4816", "fail"),
        (["56,78"], "5678", "fail"),
        ([-1234567.5], "-1,234,567.50", "pass"),
        ([1234], "The total is 1,234 games.", "pass"),
        ([12345], "12,34,5", "undecided"),
    ],
)
def test_evl_01_only_true_groups_of_digits_are_one_number(truth, answer, outcome):
    assert said(truth, answer) == outcome


# --- EVL-02 a list flattened to text and split again -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("truth", "answer", "outcome"),
    [
        ([[2000000], [750000], [120000]], "2,000,000, 750,000, 120,000", "pass"),
        ([["Smith, John"], ["Lee, Ann"]], "Smith, John, Lee, Ann", "pass"),
        ([["Smith, John"], ["Lee, Ann"]], "Smith, John; Brown, Ann", "undecided"),
        ([["Smith, John"], ["Lee, Ann"]], "Smith, John; Brown, Bob", "fail"),
        ([["a1"], ["b2"]], "b2, a1", "pass"),
        ([["a"]], "a", "pass"),
        (["a"], '["a"]', "pass"),
        (["a"], "['a']", "pass"),
    ],
)
def test_evl_02_items_are_compared_as_items(truth, answer, outcome):
    assert said(truth, answer) == outcome


# --- EVL-03 representation compared instead of value -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "given", "same"),
    [
        ('{"count": 12}', '{"count": 12.0}', True),
        ("[1, 2]", "[1.0, 2.0]", True),
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', True),
        ('{"v": 0.1}', '{"v": 0.10000000000000001}', True),
        ('{"v": "12"}', '{"v": 12}', True),
        ('{"v": true}', '{"v": 1}', False),
        ('{"v": "caf\\u00e9"}', '{\n  "v": "CAFE\u0301"\n}', True),
        ('{"v": 16.0000000001}', '{"v": 16.0000000002}', True),
        ('{"v": 16.0001}', '{"v": 16.0002}', False),
        ('{"v": null}', '{"v": "null"}', False),
        ('{"v": []}', '{"other": []}', True),
        ('{"v": []}', '{"v": null}', False),
        ('{"v": []}', '{"v": 0}', False),
    ],
)
def test_evl_03_responses_are_compared_by_value(bench, expected, given, same):
    case = bench.case([bench.made("get", expected)], ["x"], [bench.made("other", given)], "x")
    stage = bench.judged(case).stages[1]
    assert (stage.outcome, stage.decided_by) == (("pass", "program") if same else ("fail", "offline"))


# --- EVL-04 percent signs: the contract's rule -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("truth", "answer", "outcome"),
    [
        ([60], "60%", "pass"),
        ([0.6], "60%", "undecided"),
        (["60%"], "0.6", "undecided"),
        ([20], "20% (was 100)", "pass"),
        ([100], "20% (was 100)", "pass"),
        ([0.5], "50 percent", "undecided"),
        ([0.5], "50", "fail"),
    ],
)
def test_evl_04_a_percentage_is_a_number_and_never_a_fraction(truth, answer, outcome):
    assert said(truth, answer) == outcome


# --- EVL-06 sets where multisets are meant ---------------------------------------------------------------------------


def test_evl_06_the_multiset_of_a_column_counts(bench):
    truth = bench.made("filter_data", bench.rows(("colour",), (("red",), ("blue",))))
    doubled = bench.made("filter_data", bench.rows(("colour",), (("red",), ("red",), ("blue",))))
    turned = bench.made("filter_data", bench.rows(("farbe",), (("blue",), ("red",))))
    assert bench.judged(bench.case([truth], ["red"], [doubled], "red", capability=1)).failed_stage == "tool_sequence"
    assert bench.judged(bench.case([truth], ["red", "blue"], [turned], "red, blue", capability=1)).passed is True


def test_evl_06_asking_twice_or_once_says_the_same(bench):
    one, two = bench.made("a", ["A"]), bench.made("b", ["B"])
    assert bench.judged(bench.case([one, one, two], ["A"], [one, two], "A")).stages[1].outcome == "pass"


# --- EVL-15 canonical equivalence ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("truth", "answer", "outcome"),
    [
        ("Café Zürich", "Cafe\u0301 Zu\u0308rich", "pass"),
        ("phở bò", "pho\u031b\u0309 bo\u0300", "pass"),
        ("10 km", "10\u00a0km", "pass"),
        ("O'Brien", "O\u2019Brien", "undecided"),
        ("\uff21\uff11", "A1", "pass"),
        ("\u0130stanbul", "i\u0307stanbul", "pass"),
        ("straße", "STRASSE", "pass"),
    ],
)
def test_evl_15_equal_text_is_equal_however_it_is_composed(truth, answer, outcome):
    assert said([truth], answer) == outcome


# --- EVL-19 an empty expectation passes everything -------------------------------------------------------------------


def test_evl_19_without_expected_responses_the_answer_is_judged_and_the_verdict_marked(bench):
    case = bench.case([], ["Ann Lee"], [bench.made("list_teams", ["x"])], "nonsense")
    verdict = bench.judged(case)
    assert verdict.passed is None and "vacuous" in verdict.marks
    assert bench.judged(bench.case([], ["Ann Lee"], [], "Ann Lee")).stages[2].rulings["consistent"].outcome == "pass"


def test_evl_19_equal_error_texts_are_no_match(bench):
    broken = bench.made("list_teams", "Error calling API: 500", failed=True)
    verdict = bench.judged(bench.case([broken], ["5"], [broken], "nonsense"))
    assert (verdict.status, verdict.reason) == ("unscored", "ground truth failed")
    fine = bench.made("list_teams", ["5"])
    verdict = bench.judged(bench.case([fine], ["5"], [broken], "5"))
    assert verdict.passed is False and verdict.stages[1].reason == "the only call failed"


# --- EVL-20 a silent window ------------------------------------------------------------------------------------------


def test_evl_20_the_first_of_many_calls_is_seen(bench):
    wanted, other = bench.made("list_teams", "WANTED"), bench.made("list_teams", "other")
    case = bench.case([wanted], ["WANTED"], [wanted, *[other] * 200], "WANTED")
    verdict = bench.judged(case)
    assert verdict.passed is True
    assert verdict.stages[1].evidence == ({"hop": 1, "step": 1},)


# --- EVL-21 shapes flattened lossily ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("truth", "right", "wrong"),
    [
        ([["Ann", "Lee"], ["Bo", "Kim"]], "Ann Lee; Bo Kim", "Ann, Bo"),
        ([[None]], "null", "None of this is about 7"),
        ([0], "0", "1"),
        ([1234567.0], "1234567", "1234568"),
        ([{"k": "v"}], "v", "k"),
        (None, "unknown", "7"),
    ],
)
def test_evl_21_no_part_of_an_answer_is_lost(truth, right, wrong):
    assert said(truth, right) == "pass"
    assert said(truth, wrong) in ("fail", "undecided")


# --- JDG-06 not asked, failed and wrong are different things ---------------------------------------------------------


def stage_of(bench: Any, judge: Scripted) -> Any:
    made = bench.made("count", {"count": 5})
    return bench.judged(bench.case([made], [5], [made], "5"), judge)


def test_jdg_06_a_gate_that_was_not_asked_is_null(bench):
    judge = Scripted(consistent="fail")
    verdict = stage_of(bench, judge)
    rulings = verdict.stages[2].rulings
    assert verdict.passed is False and rulings["consistent"].outcome == "fail" and rulings["grounded"] is None
    assert judge.asked == ["consistent"]


def test_jdg_06_a_judge_that_failed_is_no_zero(bench):
    with pytest.raises(JudgeFailure):
        stage_of(bench, Scripted(consistent="pass", grounded="error"))


def test_jdg_06_both_rulings_are_needed(bench):
    assert stage_of(bench, Scripted(consistent="pass", grounded="pass")).passed is True
    assert stage_of(bench, Scripted(consistent="pass", grounded="fail")).passed is False
    assert stage_of(bench, Scripted(consistent="undecided", grounded="fail")).passed is False
    verdict = stage_of(bench, Scripted(consistent="pass", grounded="undecided"))
    assert verdict.passed is None and verdict.sieve == "undecided" and verdict.failed_stage == "final_response"


def test_a_judge_is_asked_only_where_the_program_cannot_rule(bench):
    made, other = bench.made("count", {"count": 5}), bench.made("count", {"count": 6})
    exact, inexact, empty = Scripted(), Scripted(tool_sequence="fail"), Scripted()
    bench.judged(bench.case([made], [5], [made], "5"), exact)
    bench.judged(bench.case([made], [5], [other], "6"), inexact)
    bench.judged(bench.case([made], [5], [], "5"), empty)
    assert "tool_sequence" not in exact.asked
    assert inexact.asked == ["tool_sequence"]
    assert empty.asked == []


def test_an_undecided_tool_sequence_stops_the_waterfall(bench):
    made, other = bench.made("count", {"count": 5}), bench.made("count", {"count": 6})
    verdict = bench.judged(bench.case([made], [5], [other], "5"), Scripted())
    assert (verdict.passed, verdict.failed_stage, verdict.sieve) == (None, "tool_sequence", "undecided")
    assert verdict.stages[2].outcome == "skipped"


def test_verdicts_write_as_strict_json(bench):
    from eval.scored import Scored, encode

    made = bench.made("count", '{"count": NaN, "more": Infinity}')
    verdict = bench.judged(bench.case([made], [5], [bench.made("count", {"count": 1})], "5"))
    json.loads(encode(Scored(verdict=verdict)), parse_constant=lambda word: pytest.fail(f"{word} in JSON"))
