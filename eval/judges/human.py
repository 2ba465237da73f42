"""A person's rulings laid over a judge's: they override, are marked, and both are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from eval.case import Case
from eval.judge import Judge, JudgeFailure
from eval.model import Evidence, Gate, Ruling
from toolenv.model import Value

JUDGE_EVIDENCE = "judge"
"""Key of the evidence entry that keeps the judge's ruling beside a person's."""

PROGRAM_EVIDENCE = "program"
"""Key of the evidence entry that keeps a program's ruling beside a person's; no judge was asked there."""


class HumanRuling(Value, frozen=True):
    """What a person said about one gate of one instance of a run."""

    outcome: Literal["pass", "fail"]
    reason: str = ""


QuestionKey = tuple[str, str, Gate]
"""(run name, uuid, gate)."""


class HumanRulings:
    """A judge that asks ``inner`` and lets a person's ruling override it.

    ``rulings`` is read at every question, so rulings that are entered while the program runs count at once. The
    judge is asked even where a person has ruled, so that their agreement can be computed; what it said (or why it
    could not be asked) stands in the ruling's evidence under ``JUDGE_EVIDENCE``.
    """

    def __init__(self, inner: Judge, rulings: Mapping[QuestionKey, HumanRuling]) -> None:
        self._inner = inner
        self._rulings = rulings

    @property
    def kind(self) -> str:
        return self._inner.kind

    @property
    def inner(self) -> Judge:
        return self._inner

    def over(self, inner: Judge) -> HumanRulings:
        """The same rulings laid over another judge."""
        return HumanRulings(inner, self._rulings)

    def of_person(self, gate: Gate, case: Case) -> HumanRuling | None:
        """What a person said about a gate."""
        return self._rulings.get((case.run, case.instance.uuid, gate))

    async def rule(self, gate: Gate, case: Case) -> Ruling:
        human = self.of_person(gate, case)
        if human is None:
            return await self._inner.rule(gate, case)
        try:
            evidence: Evidence = {JUDGE_EVIDENCE: _kept(await self._inner.rule(gate, case))}
        except JudgeFailure as error:
            evidence = {JUDGE_EVIDENCE: {"outcome": None, "decided_by": None, "reason": str(error)}}
        return Ruling(outcome=human.outcome, decided_by="human", reason=human.reason, evidence=(evidence,))


def overridden(ruling: Ruling) -> Ruling | None:
    """The judge's ruling that a person's ruling overrides, or None where there is none to compare with."""
    if ruling.decided_by != "human":
        return None
    for entry in ruling.evidence:
        kept = entry.get(JUDGE_EVIDENCE)
        if isinstance(kept, Mapping) and kept.get("outcome") is not None:
            return msgspec.convert({k: kept[k] for k in ("outcome", "decided_by", "reason")}, Ruling)
    return None


def over_program(judge: Judge, gate: Gate, case: Case, ruling: Ruling) -> Ruling:
    """A program's ruling, or that of a person who ruled the same gate; the program's is then kept in the evidence."""
    human = judge.of_person(gate, case) if isinstance(judge, HumanRulings) else None
    if human is None:
        return ruling
    evidence: Evidence = {PROGRAM_EVIDENCE: _kept(ruling)}
    return Ruling(outcome=human.outcome, decided_by="human", reason=human.reason, evidence=(evidence,))


def _kept(ruling: Ruling) -> dict[str, str | None]:
    return {"outcome": ruling.outcome, "decided_by": ruling.decided_by, "reason": ruling.reason}
