"""Gate 1: do the predicted responses hold what the ground truth's responses say? By program, as far as that goes."""

from __future__ import annotations

from eval.gates.evidence import capped
from eval.model import Evidence, Ruling
from sessions.dataflow import GroundTruthAnalysis, HopRecovery, Need, PredictionAnalysis, recover
from toolenv.values import Atom, shortened

SHOWN_MISSING = 5
"""How many missing facts a sentence names; the evidence has them all."""


def is_vacuous(truth: GroundTruthAnalysis) -> bool:
    """Whether the ground truth makes no call that counts."""
    return not truth.hops


def sequence_ruling(truth: GroundTruthAnalysis, prediction: PredictionAnalysis) -> Ruling | None:
    """The ruling of those lines of the contract's table that a program decides, or None where a judge is to be asked.

    A ground truth that itself failed is not ruled here: nothing can be scored against it.
    """
    if is_vacuous(truth):
        return Ruling(outcome="pass", decided_by="program", reason="the ground truth makes no call: nothing to find")
    if not prediction.succeeded:
        calls = len(prediction.calls.scored)
        reason = "no call was made" if not calls else "no call succeeded" if calls > 1 else "the only call failed"
        return Ruling(outcome="fail", decided_by="program", reason=reason, evidence=_failed_steps(prediction))
    recoveries = recover(truth, prediction)
    if all(hop.same_response is not None for hop in recoveries):
        # The step is that by which the hop counts as recovered, here and wherever hops and steps are told together.
        evidence: tuple[Evidence, ...] = tuple({"hop": hop.hop, "step": _recovered_by(hop)} for hop in recoveries)
        reason = "the predicted responses hold every fact of the ground truth's responses"
        return Ruling(outcome="pass", decided_by="program", reason=reason, evidence=evidence)
    return None


def recovery_ruling(truth: GroundTruthAnalysis, prediction: PredictionAnalysis) -> Ruling:
    """The offline ruling: were all needed facts recovered?

    ``fail`` names hops and facts; ``undecided`` where a retrieval's needed passage cannot be told, or where nothing is
    needed that could be looked for.
    """
    recoveries = recover(truth, prediction)
    lacking = [hop for hop in recoveries if hop.missing]
    if lacking:
        evidence: tuple[Evidence, ...] = tuple(
            {"hop": hop.hop, "tool": hop.name, **capped("missing", [_plain(need) for need in hop.missing])}
            for hop in lacking
        )
        return Ruling(outcome="fail", decided_by="offline", reason="; ".join(map(_lack, lacking)), evidence=evidence)
    unseen = [hop for hop in recoveries if hop.state == "undecided"]
    if unseen:
        named = ", ".join(f"hop {hop.hop} ({shortened(hop.name)})" for hop in unseen)
        reason = f"no passage of {named} holds a value that is used later, so no rule can tell what had to be found"
        return Ruling(outcome="undecided", reason=reason, evidence=tuple({"hop": hop.hop} for hop in unseen))
    if not truth.needs:
        return Ruling(outcome="undecided", reason="nothing is needed that a rule could look for")
    reason = f"every needed fact was recovered ({', '.join(_found(hop) for hop in recoveries if hop.needs)})"
    recovered: tuple[Evidence, ...] = tuple({"hop": hop.hop, "step": hop.step} for hop in recoveries if hop.needs)
    return Ruling(outcome="pass", decided_by="offline", reason=reason, evidence=recovered)


def _recovered_by(hop: HopRecovery) -> int | None:
    return hop.step if hop.state == "recovered" else hop.same_response


def _plain(need: Need) -> Atom:
    return need.shown if need.kind == "value" else need.text


def _found(hop: HopRecovery) -> str:
    return f"hop {hop.hop} at step {hop.step}"


def _lack(hop: HopRecovery) -> str:
    names = [need.text for need in hop.missing]
    shown = ", ".join(names[:SHOWN_MISSING])
    more = f" and {len(names) - SHOWN_MISSING} more" if len(names) > SHOWN_MISSING else ""
    return f"hop {hop.hop} ({shortened(hop.name)}) needs {shown}{more}, which no predicted response holds"


def _failed_steps(prediction: PredictionAnalysis) -> tuple[Evidence, ...]:
    return tuple({"step": made.number, "failed": shortened(made.text, 200)} for made in prediction.calls.scored)
