"""Verdicts in the report's form from what the released evaluator says."""

from __future__ import annotations

from collections.abc import Iterator

from eval.gates.final_response import final_stage
from eval.model import Evidence, Ruling, SieveClass, StageResult, Verdict
from eval.reproducible import Difference, differences, with_differences
from eval.sieve import sieve_class
from eval.vakra.dialogues import Matched
from eval.vakra.matching import WINDOW, missing_responses
from eval.vakra.replies import JUDGE_ERROR
from eval.vakra.scoring import DialogueScore, executed
from eval.waterfall import COERCED, CONTEXT_CUT, QUIRK, VACUOUS, skipped_stage
from sessions.dataflow import analyse_prediction, analyse_truth
from toolenv.model import Instance

MATCH_ON_ERROR = "match on error text"
OUTSIDE_WINDOW = f"outside the {WINDOW}-response window"
JUDGE_ERROR_MARK = "judge error"

_SHOWN = 300
_NO_POLICY = "the released evaluator checks no policy"


def verdict_of(matched: Matched, scored: DialogueScore, instance: Instance) -> Verdict:
    """The verdict of a dialogue: no policy stage, exact match as tool sequence, the judges as final response.

    Without an exact match the tool sequence is skipped, for the release lets the answer decide then.
    """
    final = _final(scored)
    passed = None if scored.score is None else scored.score == 1.0
    verdict = Verdict(
        uuid=matched.dialogue.uuid,
        capability=instance.capability,
        domain=instance.domain,
        status="scored",
        passed=passed,
        failed_stage=None if passed else "final_response",
        sieve=_sieve(matched, instance, passed),
        stages=(skipped_stage("policy", _NO_POLICY), _sequence(matched), final),
        detail=_in_figures(scored),
        marks=tuple(dict.fromkeys(_marks(matched, scored))),
    )
    return with_differences(verdict, _replay_differences(matched, instance.capability))


def _replay_differences(matched: Matched, capability: int) -> tuple[Difference, ...]:
    """Where the prediction's own responses differ from the replay; the opening added by the release has none."""
    calls = matched.predicted_calls[1:] if capability == 1 else matched.predicted_calls
    return differences(matched.prediction.responses or (), [made.result for made in calls])


def malformed_prediction(uuid: str, capability: int, domain: str, reason: str) -> Verdict:
    """A prediction at which the release stops (row E10): wrong, for there is nothing in it that could be right."""
    sentence = f"the released evaluator cannot read this prediction: {reason}"
    failed = StageResult(stage="tool_sequence", outcome="fail", decided_by="program", reason=sentence)
    return Verdict(
        uuid=uuid,
        capability=capability,
        domain=domain,
        status="scored",
        passed=False,
        failed_stage="tool_sequence",
        sieve="tool_selection",
        stages=(skipped_stage("policy", _NO_POLICY), failed, skipped_stage("final_response", sentence)),
        detail=sentence,
        marks=("malformed",),
    )


def _sequence(matched: Matched) -> StageResult:
    if matched.exact:
        reason = f"every expected response is among the last {WINDOW} of the prediction"
        if not matched.expected:
            reason = "the ground truth expects no response"
        return StageResult(stage="tool_sequence", outcome="pass", decided_by="program", reason=reason)
    evidence: list[Evidence] = [{"missing": [text[:_SHOWN]]} for text in matched.missing]
    reason = f"{len(matched.missing)} of {len(matched.expected)} expected responses are not there; the answer decides"
    if _outside_window(matched):
        reason += f" (some were given earlier, {OUTSIDE_WINDOW})"
    return StageResult(
        stage="tool_sequence", outcome="skipped", decided_by="program", reason=reason, evidence=tuple(evidence)
    )


def _final(scored: DialogueScore) -> StageResult:
    if scored.answer is not None:
        return final_stage(scored.answer, scored.grounded)
    grounded = scored.grounded
    assert grounded is not None, "groundedness is asked whenever the answer is not"
    return StageResult(
        stage="final_response",
        outcome=grounded.outcome,
        decided_by=grounded.decided_by,
        reason=f"grounded: {grounded.reason} (an exact match, so the answer was not compared)",
        evidence=grounded.evidence,
        rulings={"consistent": None, "grounded": grounded},
    )


def _sieve(matched: Matched, instance: Instance, passed: bool | None) -> SieveClass:
    if passed is not False:
        return "none" if passed else "undecided"
    truth = executed(matched.truth_calls, instance, "ground_truth")
    prediction = executed(matched.predicted_calls, instance, "recording")
    return sieve_class(
        passed, "final_response", analyse_truth(instance, truth), analyse_prediction(prediction), matched.tools
    )


def _marks(matched: Matched, scored: DialogueScore) -> Iterator[str]:
    compared = matched.truth_calls[1:] if matched.truth_calls and _opens(matched) else matched.truth_calls
    if not compared:
        yield VACUOUS
    if matched.exact and any(made.result is not None and made.result.failed for made in compared):
        yield MATCH_ON_ERROR
    if any(made.arguments != made.call.arguments for made in matched.predicted_calls):
        yield COERCED
    if _outside_window(matched):
        yield OUTSIDE_WINDOW
    rulings = [ruling for ruling in (scored.answer, scored.grounded) if ruling is not None]
    if any(CONTEXT_CUT in item for ruling in rulings for item in ruling.evidence):
        yield CONTEXT_CUT
    if any(ruling.reason.startswith(JUDGE_ERROR) for ruling in rulings):
        yield JUDGE_ERROR_MARK
    if any(made.result is not None and made.result.notes for made in matched.predicted_calls):
        yield QUIRK


def _opens(matched: Matched) -> bool:
    return matched.truth_calls[0].call.name == "get_data"


def _outside_window(matched: Matched) -> bool:
    whole = len(matched.predicted)
    return bool(matched.missing) and len(missing_responses(matched.expected, matched.predicted, whole)) < len(
        matched.missing
    )


def _in_figures(scored: DialogueScore) -> str:
    def figure(ruling: Ruling | None) -> str:
        return "not asked" if ruling is None else {"pass": "1", "fail": "0"}.get(ruling.outcome, "undecided")

    return (
        f"exact match {int(scored.exact)}, answer {figure(scored.answer)}, groundedness {figure(scored.grounded)}, "
        f"steps {scored.predicted_steps} of {scored.truth_steps}"
    )
