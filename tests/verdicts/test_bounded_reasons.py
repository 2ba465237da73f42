"""What a verdict quotes from data is of a bounded length, and what was cut says so."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from eval.gates.evidence import LONGEST_VALUE, capped
from eval.model import LONGEST_REASON, Ruling, StageResult
from eval.offline import consistent_ruling
from eval.waterfall import unscored

HUGE: list[Any] = [int("7" * 4000), -int("7" * 4000), "w" * 100_000, "\u6f22" * 50_000, [int("9" * 3000)] * 400]
SAID = [
    "no",
    "I cannot answer.",
    "12",
    "yes, 3 and 4",
    "8" * 4000,
    "v" * 100_000,
    "1, 2, " + "x" * 5000,
    "-" + "8" * 4000,
]


@pytest.mark.parametrize("truth", HUGE, ids=["integer", "negative", "text", "wide", "list"])
@pytest.mark.parametrize("said", SAID, ids=range(len(SAID)))
def test_an_offline_reason_quotes_the_beginning_of_a_value(truth: Any, said: str) -> None:
    for due, answer in ((truth, said), ([truth, 5], said), ([said], str(truth))):
        ruling = consistent_ruling(answer, due, ["How much?"])
        assert 0 < len(ruling.reason) < 1200, ruling.reason
        assert len(msgspec.json.encode(ruling.evidence)) < 60 * LONGEST_VALUE * 3


def test_a_cut_value_ends_in_dots() -> None:
    ruling = consistent_ruling("12", [int("7" * 400)], ["How much?"])
    assert ruling.outcome == "fail" and "77..." in ruling.reason
    assert capped("given", ["a" * 900, 10**900, 3, None])["given"] == [
        "a" * (LONGEST_VALUE - 3) + "...",
        "1" + "0" * (LONGEST_VALUE - 4) + "...",
        3,
        None,
    ]


def test_no_sentence_of_a_verdict_is_longer_than_its_bound_whoever_wrote_it() -> None:
    long = "r" * 50_000
    ruling = Ruling(outcome="fail", decided_by="human", reason=long)
    stage = StageResult(stage="policy", outcome="fail", decided_by="judge", reason=long)
    told = (ruling.reason, stage.reason, unscored("u", 1, "d", "environment", long).detail)
    assert {len(text) for text in told} == {LONGEST_REASON}
    assert all(text.endswith("r...") for text in told)
    assert msgspec.structs.replace(stage, reason="short").reason == "short"
    assert msgspec.json.decode(msgspec.json.encode(ruling), type=Ruling) == ruling


def test_the_names_of_tools_and_columns_are_cut_too(bench: Any) -> None:
    made = bench.made("t" * 9000, {"c" * 9000: 5})
    verdict = bench.judged(bench.case([made], [5], [bench.made("other", {"n": 6})], "5"))
    assert verdict.failed_stage == "tool_sequence"
    assert "ttt..." in verdict.stages[1].reason and len(verdict.stages[1].reason) < 600
