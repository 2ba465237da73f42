"""Lines made by hand for the tests of the batch."""

from __future__ import annotations

from typing import Any

from eval.model import Ruling, StageResult, Verdict
from eval.scored import Scored


def stages(
    sequence: Any = "pass", final: Any = "pass", *, decided: Any = "program", consistent: Ruling | None = None
) -> tuple[StageResult, ...]:
    ruling = Ruling(outcome=final, decided_by=None if final in ("skipped", "undecided") else decided, reason="so")
    return (
        StageResult(stage="policy", outcome="skipped", decided_by="program", reason="no policy"),
        StageResult(stage="tool_sequence", outcome=sequence, decided_by=decided, reason="so"),
        StageResult(
            stage="final_response",
            outcome=final,
            decided_by=ruling.decided_by,
            reason="so",
            rulings={"consistent": consistent or ruling, "grounded": ruling},
        ),
    )


def line(uuid: str = "u", passed: bool | None = True, *, capability: int = 1, **keys: Any) -> Scored:
    """A scored line; keys of ``Verdict`` replace what follows from ``passed``, ``weight`` and ``slices`` are kept."""
    outcome = "pass" if passed else "undecided" if passed is None else "fail"
    weight, slices = keys.pop("weight", 1), keys.pop("slices", {"domain": "d"})
    values: dict[str, Any] = {
        "uuid": uuid,
        "capability": capability,
        "domain": "d",
        "status": "scored",
        "passed": passed,
        "failed_stage": None if passed else "final_response",
        "sieve": "none" if passed else "undecided" if passed is None else "answer",
        "stages": stages(final=outcome),
        **keys,
    }
    return Scored(verdict=Verdict(**values), weight=weight, slices=slices)


def no_scorer(payload: bytes, cache: object) -> Any:
    """A factory of scorers whose worker process ends at once."""
    raise SystemExit(payload.decode())


def missing(uuid: str = "m", capability: int = 1) -> Scored:
    return line(
        uuid, False, capability=capability, status="missing", failed_stage=None, sieve="tool_selection", stages=()
    )


def unscored(uuid: str = "x", reason: str = "environment", capability: int = 1) -> Scored:
    return line(
        uuid, None, capability=capability, status="unscored", failed_stage=None, sieve=None, reason=reason, stages=()
    )


def extra(uuid: str = "e", capability: int = 1) -> Scored:
    return line(uuid, None, capability=capability, status="extra", failed_stage=None, sieve=None, stages=())
