"""Recorded rulings, no judge, a person's rulings, and their agreement."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval.case import Case
from eval.judge import JudgeFailure
from eval.judges.agreement import agreement
from eval.judges.human import HumanRuling, HumanRulings, overridden
from eval.judges.none import NoJudge
from eval.judges.recorded import RecordedJudge
from eval.model import Gate, Ruling
from sessions.trajectory import ExecutedTrajectory, Trajectory
from toolenv.errors import DataError
from toolenv.model import Instance, Turn


def case(uuid: str = "u1", run: str = "r1") -> Case:
    instance = Instance(uuid=uuid, capability=2, domain="d", turns=(Turn(turn_id=0, query="q"),))
    executed = ExecutedTrajectory(trajectory=Trajectory(instance=instance), tables=())
    return Case(run=run, instance=instance, truth=None, prediction=executed, tools=())


def write(path: Path, *lines: object) -> Path:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return path


def line(**values: object) -> dict[str, object]:
    return {"uuid": "u1", "gate": "consistent", "ruling": "pass", "reason": "same", **values}


async def test_a_recorded_ruling_is_given_back_and_marked(tmp_path: Path) -> None:
    judge = RecordedJudge(write(tmp_path / "r.jsonl", line(run="r1")), "r1")
    ruling = await judge.rule("consistent", case())
    assert (ruling.outcome, ruling.decided_by, ruling.reason) == ("pass", "recorded", "same")


async def test_the_run_that_a_line_names_decides_and_a_line_without_one_holds_for_all(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", line(ruling="fail"), line(run="r1"))
    judge = RecordedJudge(path)
    assert (await judge.rule("consistent", case(run="r1"))).outcome == "pass"
    assert (await judge.rule("consistent", case(run="r2"))).outcome == "fail"


async def test_what_is_not_recorded_is_undecided(tmp_path: Path) -> None:
    judge = RecordedJudge(write(tmp_path / "r.jsonl", line(run="other")), "r1")
    for gate in ("policy", "tool_sequence", "consistent", "grounded"):
        ruling = await judge.rule(gate, case())
        assert (ruling.outcome, ruling.decided_by) == ("undecided", None)


async def test_the_last_of_several_lines_counts(tmp_path: Path) -> None:
    judge = RecordedJudge(write(tmp_path / "r.jsonl", line(), line(ruling="fail")))
    assert (await judge.rule("consistent", case())).outcome == "fail"


def test_each_bad_line_is_named_and_the_rest_is_used(tmp_path: Path) -> None:
    bad = [
        "{",
        "[]",
        line(uuid=None),
        line(gate="final"),
        line(ruling="maybe"),
        line(run=3),
        line(reason=[1]),
        "\udcff",
    ]
    path = tmp_path / "r.jsonl"
    text = "\n".join(b if isinstance(b, str) else json.dumps(b) for b in [*bad, "", line()])
    path.write_bytes(b"\xef\xbb\xbf" + text.encode("utf-8", "surrogateescape"))
    judge = RecordedJudge(path)
    assert len(judge) == 1
    assert [problem.split("line ")[1].split(":")[0] for problem in judge.problems] == [str(n) for n in range(1, 9)]


def test_a_file_without_one_usable_line_or_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 1"):
        RecordedJudge(write(tmp_path / "r.jsonl", "nonsense"))
    with pytest.raises(DataError, match="cannot be read"):
        RecordedJudge(tmp_path / "absent.jsonl")
    with pytest.raises(DataError, match="cannot be read"):
        RecordedJudge(tmp_path)


def test_hundreds_of_bad_lines_do_not_flood(tmp_path: Path) -> None:
    judge = RecordedJudge(write(tmp_path / "r.jsonl", *(["x"] * 300), line()))
    assert len(judge.problems) == 21
    assert not any(str(tmp_path) in problem for problem in judge.problems)
    assert "280 more" in judge.problems[-1]


async def test_no_judge_decides_nothing() -> None:
    ruling = await NoJudge().rule("grounded", case())
    assert (ruling.outcome, ruling.decided_by) == ("undecided", None)


class Fixed:
    """A judge that always says the same."""

    kind = "offline"

    def __init__(self, ruling: Ruling | None) -> None:
        self._ruling = ruling

    async def rule(self, gate: Gate, case: Case) -> Ruling:
        if self._ruling is None:
            raise JudgeFailure("The judge is down.")
        return self._ruling


async def test_a_person_overrides_and_both_rulings_are_kept() -> None:
    said = Ruling(outcome="pass", decided_by="offline", reason="same value")
    judge = HumanRulings(Fixed(said), {("r1", "u1", "consistent"): HumanRuling(outcome="fail", reason="wrong unit")})
    ruling = await judge.rule("consistent", case())
    assert (ruling.outcome, ruling.decided_by, ruling.reason) == ("fail", "human", "wrong unit")
    assert overridden(ruling) == said
    assert await judge.rule("grounded", case()) == said
    assert overridden(said) is None


async def test_a_persons_ruling_stands_where_the_judge_cannot_be_reached() -> None:
    rulings = {("r1", "u1", "consistent"): HumanRuling(outcome="pass")}
    judge = HumanRulings(Fixed(None), rulings)  # type: ignore[arg-type]
    ruling = await judge.rule("consistent", case())
    assert (ruling.outcome, ruling.decided_by) == ("pass", "human")
    assert overridden(ruling) is None
    with pytest.raises(JudgeFailure):
        await judge.rule("grounded", case())


async def pair(person: str, judged: str) -> Ruling:
    inner = Fixed(Ruling(outcome=judged, decided_by="judge"))  # type: ignore[arg-type]
    return await HumanRulings(
        inner,
        {("r1", "u1", "consistent"): HumanRuling(outcome=person)},  # type: ignore[arg-type, dict-item]
    ).rule("consistent", case())


async def test_agreement_kappa_and_confusion() -> None:
    rulings = [await pair("pass", "pass")] * 20 + [await pair("pass", "fail")] * 5
    rulings += [await pair("fail", "pass")] * 10 + [await pair("fail", "fail")] * 15 + [await pair("pass", "undecided")]
    found = agreement([*rulings, Ruling(outcome="pass", decided_by="judge")])
    assert (found.n, found.not_compared) == (50, 1)
    assert found.agreement == pytest.approx(0.7)
    assert found.kappa == pytest.approx(0.4)
    assert found.confusion == {"pass/pass": 20, "pass/fail": 5, "fail/pass": 10, "fail/fail": 15}


async def test_agreement_is_not_a_number_where_it_cannot_be_one() -> None:
    assert agreement([]).agreement is None
    always = agreement([await pair("pass", "pass")] * 3)
    assert (always.agreement, always.kappa) == (1.0, None)
