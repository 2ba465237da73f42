"""Gate 2: the final response passes when it is consistent with the ground truth and grounded in what was seen."""

from __future__ import annotations

from eval.model import DecidedBy, Evidence, Outcome, Ruling, StageResult


def final_stage(consistent: Ruling, grounded: Ruling | None) -> StageResult:
    """The stage from its two rulings; ``grounded`` is None where it was not asked because ``consistent`` failed.

    It passes when both do, fails when one fails, else is undecided.
    """
    outcome = _both(consistent, grounded)
    telling = [ruling for ruling in (consistent, grounded) if ruling is not None and ruling.outcome == outcome]
    reasons = [
        f"{name}: {ruling.reason}"
        for name, ruling in (("consistent", consistent), ("grounded", grounded))
        if ruling is not None and ruling.outcome == outcome and ruling.reason
    ]
    evidence: list[Evidence] = [item for ruling in telling for item in ruling.evidence]
    return StageResult(
        stage="final_response",
        outcome=outcome,
        decided_by=_decided_by(telling) if outcome != "undecided" else None,
        reason="; ".join(reasons),
        evidence=tuple(evidence),
        rulings={"consistent": consistent, "grounded": grounded},
    )


def _both(consistent: Ruling, grounded: Ruling | None) -> Outcome:
    outcomes = [consistent.outcome] + ([grounded.outcome] if grounded is not None else [])
    if "fail" in outcomes:
        return "fail"
    return "pass" if outcomes == ["pass", "pass"] else "undecided"


def _decided_by(rulings: list[Ruling]) -> DecidedBy | None:
    return next((ruling.decided_by for ruling in rulings if ruling.decided_by is not None), None)
