"""Scores, counts, sieve, slices and agreement over verdicts."""

from __future__ import annotations

import random

import pytest
from batch_lines import extra, line, missing, stages, unscored

from eval.model import Ruling
from eval.scores import tally


def test_one_denominator_everywhere() -> None:
    """Four right, one environment error, five without a prediction, and a second domain without a prediction file."""
    lines = [
        *(line(f"u{i}") for i in range(4)),
        unscored("u4"),
        *(missing(f"u{i}") for i in range(5, 10)),
        missing("e1"),
        extra("nobody"),
    ]
    total = tally(lines)
    assert total.counts(2) == {
        "instances": 11,
        "scored": 4,
        "missing": 6,
        "extra": 1,
        "duplicate": 2,
        "unscored": 1,
        "undecided": 0,
    }
    score = total.capabilities()["1"]
    assert (score["n"], score["correct"], score["score"]) == (10, 4, 0.4)
    assert total.leaderboard()["score"] == 0.4
    assert sum(total.sieve()["1"].values()) == 10
    assert total.sieve()["1"]["tool_selection"] == 6


def test_multi_source_instances_of_capability_4_count_double() -> None:
    lines = [
        line("a", weight=2, capability=4),
        line("b", False, capability=4),
        line("c", False, weight=2, capability=4),
    ]
    score = tally(lines).capabilities()["4"]
    assert (score["weighted_correct"], score["weighted_total"], score["correct"], score["n"]) == (2, 5, 1, 3)
    assert score["score"] == pytest.approx(2 / 5)
    assert score["range"] == [2 / 5, 2 / 5]


def test_undecided_widens_the_range_and_is_not_a_pass() -> None:
    total = tally([line("a"), line("b", None, weight=2, capability=4), line("c", False, capability=4), line("d", None)])
    one, four = total.capabilities()["1"], total.capabilities()["4"]
    assert one["range"] == [0.5, 1.0] and one["undecided"] == 1
    assert four["range"] == [0.0, pytest.approx(2 / 3)]
    assert total.leaderboard()["range"] == [0.25, pytest.approx((1 + 2 / 3) / 2)]
    assert total.decided()["consistent"]["undecided"] == 2
    assert total.sieve()["1"]["undecided"] == 1


def test_cumulative_sieve_is_the_published_form() -> None:
    kinds = ["tool_selection"] * 20 + ["argument_names"] * 4 + ["argument_values"] * 18 + ["answer"] * 11
    lines = [line(f"f{i}", False, sieve=kind) for i, kind in enumerate(kinds)]
    lines += [line(f"p{i}") for i in range(64)] + [line(f"q{i}", None) for i in range(3)]
    assert tally(lines).sieve_cumulative()["1"] == pytest.approx(
        {"tool": 100 / 120, "argument_names": 96 / 120, "argument_values": 78 / 120, "answer": 64 / 120}
    )


def test_nothing_counted_has_no_score_and_no_zero() -> None:
    total = tally([unscored("a"), extra("b")])
    assert total.capabilities() == {}
    assert total.leaderboard() == {"score": None, "range": None, "ci95": None}
    assert total.left_out() == [1, 2, 3, 4]


def test_not_asked_and_undecided_are_different_from_failed() -> None:
    lines = [
        line("a", stages=stages(decided="judge")),
        line("b", False, stages=stages(sequence="fail", final="skipped", decided="judge")),
        unscored("c", "judge"),
    ]
    decided = tally(lines).decided()
    assert decided["tool_sequence"] == {
        "program": 0,
        "offline": 0,
        "judge": 2,
        "recorded": 0,
        "human": 0,
        "undecided": 0,
    }
    assert sum(decided["grounded"].values()) == 1


def test_slices_count_groups_plainly() -> None:
    lines = [
        line("a", capability=4, weight=2, slices={"hop_pattern": "API-RAG", "domain": "x"}),
        line("b", False, capability=4, weight=2, slices={"hop_pattern": "API-RAG", "domain": "y"}),
        unscored("c"),
    ]
    slices = tally(lines).slices()
    assert slices["hop_pattern"]["API-RAG"]["n"] == 2
    assert slices["hop_pattern"]["API-RAG"]["correct"] == 1
    assert list(slices["domain"]) == ["x", "y"]
    assert slices["effect"] == {}


def test_agreement_of_a_person_with_the_judge() -> None:
    def ruled(person: str, judge: str) -> Ruling:
        kept = {"outcome": judge, "decided_by": "judge", "reason": "r"}
        return Ruling(outcome=person, decided_by="human", reason="p", evidence=({"judge": kept},))  # type: ignore[arg-type]

    pairs = [("pass", "pass"), ("pass", "fail"), ("fail", "fail"), ("fail", "fail")]
    lines = [line(str(i), stages=stages(consistent=ruled(*pair))) for i, pair in enumerate(pairs)]
    entry = tally(lines).agreement()["consistent"]
    assert (entry["n"], entry["agreement"]) == (4, 0.75)
    assert entry["kappa"] == pytest.approx(0.5)
    assert entry["confusion"] == {"pass/pass": 1, "pass/fail": 1, "fail/pass": 0, "fail/fail": 2}
    assert tally(lines).agreement()["grounded"]["n"] == 0


def test_order_of_lines_changes_nothing() -> None:
    lines = [
        line(str(i), [True, False, None][i % 3], capability=1 + i % 4, weight=2 if i % 4 == 3 and i % 8 == 3 else 1)
        for i in range(60)
    ] + [missing("m"), unscored("x"), extra("e")]
    first = tally(lines)
    random.Random(3).shuffle(lines)
    second = tally(lines)
    for part in ("capabilities", "leaderboard", "decided", "sieve", "sieve_cumulative", "slices", "agreement"):
        assert getattr(first, part)() == getattr(second, part)()
