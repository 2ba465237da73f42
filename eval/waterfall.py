"""The waterfall of ``--profile paper``: policy, tool sequence, final response, and the verdict they make.

A judge is asked only where a program cannot rule. A later gate runs when the one before it passed or does not
apply; an undecided policy lets the later gates run, because one of them may fail.
"""

from __future__ import annotations

from collections.abc import Iterator

from eval.case import Case, analysed, analyses
from eval.gates.final_response import final_stage
from eval.gates.policy import policy_ruling
from eval.gates.tool_sequence import is_vacuous, sequence_ruling
from eval.judge import Judge
from eval.judges.human import over_program
from eval.model import Ruling, SieveClass, StageName, StageResult, Status, UnscoredReason, Verdict
from eval.sieve import sieve_class
from sessions.dataflow import GroundTruthAnalysis, PredictionAnalysis
from sessions.trajectory import ExecutedTrajectory
from toolenv.values import shortened

STAGES: tuple[StageName, ...] = ("policy", "tool_sequence", "final_response")

VACUOUS = "vacuous"
COERCED = "coerced"
QUIRK = "quirk"
BEYOND_PEEK = "answer longer than its peek"
CONTEXT_CUT = "context cut"
MARKS = (VACUOUS, COERCED, "duplicate", BEYOND_PEEK, CONTEXT_CUT, QUIRK)
"""What a verdict can be marked with, in the report's order."""

_UNANSWERED: dict[str, UnscoredReason] = {
    "not_recorded": "not recorded",
    "environment": "environment",
    "timed_out": "environment",
    "cancelled": "environment",
}


async def evaluate(case: Case, *, judge: Judge) -> Verdict:
    """The verdict on one executed case. Raises ``JudgeFailure`` where the judge cannot be reached.

    An instance without ground truth, one whose ground truth fails, and a trajectory with a call that its environment
    could not answer are unscored.
    """
    instance = case.instance
    place = (instance.uuid, instance.capability, instance.domain)
    for side, executed in (("ground truth", case.truth), ("prediction", case.prediction)):
        unanswered = executed and _unanswered(executed)
        if unanswered:
            return unscored(*place, unanswered[0], f"{side}: {unanswered[1]}")
    if case.truth is None and case.truth_analysis is None:
        return unscored(*place, "no ground truth", "the dataset has no ground truth for this instance")
    case = analysed(case)
    truth, prediction = analyses(case)

    policy = await _policy(case, prediction, judge)
    stages = [_stage("policy", policy)]
    if policy.outcome != "fail":
        if truth.failed is not None and not is_vacuous(truth):
            made = truth.failed
            where = "the opening" if made.number == 0 else f"hop {made.number}"
            where = f"{where} ({shortened(made.call.name)})"
            detail = f"the ground truth's own call fails: {where} answers {shortened(made.text, 300)!r}"
            return unscored(*place, "ground truth failed", detail)
        decided = sequence_ruling(truth, prediction)
        if decided is not None:
            sequence = over_program(judge, "tool_sequence", case, decided)
        else:
            sequence = await judge.rule("tool_sequence", case)
        stages.append(_stage("tool_sequence", sequence))
        if sequence.outcome == "pass":
            stages.append(await _final_response(case, judge))
    failed = next((stage.stage for stage in stages if stage.outcome == "fail"), None)
    doubtful = next((stage.stage for stage in stages if stage.outcome == "undecided"), None)
    passed = False if failed else None if doubtful else True
    stages.extend(_skipped(stages, failed or doubtful))
    return Verdict(
        uuid=instance.uuid,
        capability=instance.capability,
        domain=instance.domain,
        status="scored",
        passed=passed,
        failed_stage=failed or doubtful,
        sieve=sieve_class(passed, failed, truth, prediction, case.tools),
        stages=tuple(stages),
        marks=tuple(_marks(truth, prediction, stages)),
    )


async def _policy(case: Case, prediction: PredictionAnalysis, judge: Judge) -> Ruling:
    """The policy's ruling; a judge is asked whether a policy applies only where a call depends on it."""
    ruling = policy_ruling(case.instance, prediction)
    if ruling.outcome != "undecided":
        return over_program(judge, "policy", case, ruling)
    judged = await judge.rule("policy", case)
    return judged if judged.outcome != "undecided" else ruling


async def _final_response(case: Case, judge: Judge) -> StageResult:
    consistent = await judge.rule("consistent", case)
    grounded = None if consistent.outcome == "fail" else await judge.rule("grounded", case)
    return final_stage(consistent, grounded)


def _stage(name: StageName, ruling: Ruling) -> StageResult:
    return StageResult(
        stage=name,
        outcome=ruling.outcome,
        decided_by=ruling.decided_by,
        reason=ruling.reason,
        evidence=ruling.evidence,
    )


def _skipped(stages: list[StageResult], stopped_by: StageName | None) -> list[StageResult]:
    """The stages that did not run, in order."""
    done = {stage.stage for stage in stages}
    reason = f"not reached: {stopped_by} did not pass" if stopped_by else ""
    return [skipped_stage(name, reason) for name in STAGES if name not in done]


def skipped_stage(name: StageName, reason: str) -> StageResult:
    """A stage that did not run."""
    rulings = {"consistent": None, "grounded": None} if name == "final_response" else None
    return StageResult(stage=name, outcome="skipped", decided_by=None, reason=reason, rulings=rulings)


def _unanswered(executed: ExecutedTrajectory) -> tuple[UnscoredReason, str] | None:
    """The first call that its environment could not answer: why, and a sentence."""
    for number, step in enumerate(executed.trajectory.steps, start=1):
        kind = step.result.error_kind if step.result is not None else None
        if kind in _UNANSWERED:
            text = step.result.text if step.result is not None else ""
            return _UNANSWERED[kind], f"step {number} was not answered: {shortened(text, 300)}"
    return None


def _marks(truth: GroundTruthAnalysis, prediction: PredictionAnalysis, stages: list[StageResult]) -> Iterator[str]:
    if is_vacuous(truth):
        yield VACUOUS
    if any(made.step.executed_arguments is not None for made in prediction.calls.calls):
        yield COERCED
    if truth.answer_beyond_peek:
        yield BEYOND_PEEK
    if any(CONTEXT_CUT in item for stage in stages for item in stage.evidence):
        yield CONTEXT_CUT
    if any(made.result is not None and made.result.notes for made in prediction.calls.calls):
        yield QUIRK


def missing(uuid: str, capability: int, domain: str) -> Verdict:
    """No prediction for an instance: wrong, and counted."""
    reason = "there is no prediction for this instance"
    return _without_trajectory(uuid, capability, domain, "missing", reason, passed=False, sieve="tool_selection")


def unscored(uuid: str, capability: int, domain: str, reason: UnscoredReason, detail: str) -> Verdict:
    """An instance that cannot be scored: listed with its reason, not counted."""
    return _without_trajectory(uuid, capability, domain, "unscored", detail, unscored_reason=reason)


def extra(uuid: str, capability: int, domain: str) -> Verdict:
    """A prediction for no instance: listed, not counted."""
    return _without_trajectory(uuid, capability, domain, "extra", "no instance of the dataset has this uuid")


def _without_trajectory(
    uuid: str,
    capability: int,
    domain: str,
    status: Status,
    detail: str,
    *,
    passed: bool | None = None,
    sieve: SieveClass | None = None,
    unscored_reason: UnscoredReason | None = None,
) -> Verdict:
    return Verdict(
        uuid=uuid,
        capability=capability,
        domain=domain,
        status=status,
        passed=passed,
        failed_stage=None,
        sieve=sieve,
        stages=tuple(skipped_stage(name, detail) for name in STAGES),
        reason=unscored_reason,
        detail=detail,
    )
