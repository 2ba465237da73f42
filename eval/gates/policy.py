"""Gate 0: adherence to the tool-use policy, by program (contract, policies)."""

from __future__ import annotations

from eval.model import Evidence, Ruling
from sessions.dataflow import PredictionAnalysis
from toolenv import policy as policies
from toolenv.model import Instance, ToolCall


def policy_ruling(instance: Instance, prediction: PredictionAnalysis) -> Ruling:
    """Whether a call of the evaluated turn, successful or not, broke the policy.

    ``skipped`` where there is none or it does not apply; ``undecided`` where it is not known whether it applies and a
    call was made that it would forbid.
    """
    policy = policies.policy_of(instance)
    applies = policies.applicability_of(instance)
    if applies == "none":
        return Ruling(outcome="skipped", decided_by="program", reason="there is no policy")
    if applies == "does_not_apply":
        topics = ", ".join(policy.topics)
        reason = f"the policy is about {topics}; {instance.domain} does not belong to it"
        return Ruling(outcome="skipped", decided_by="program", reason=reason)
    broken = _violations(policy, applies, prediction)
    if not broken:
        doubt = "" if applies == "applies" else ", whether it applies or not"
        return Ruling(outcome="pass", decided_by="program", reason=f"no call breaks the policy{doubt}")
    step, why = broken[0]
    evidence: tuple[Evidence, ...] = tuple({"step": number, "violation": reason} for number, reason in broken)
    if applies == "unknown":
        reason = (
            f"it is not known whether the policy applies to {instance.domain}; if it does, step {step} breaks it: {why}"
        )
        return Ruling(outcome="undecided", reason=reason, evidence=evidence)
    return Ruling(outcome="fail", decided_by="program", reason=f"step {step}: {why}", evidence=evidence)


def _violations(
    policy: policies.Policy, applies: policies.Applicability, prediction: PredictionAnalysis
) -> list[tuple[int, str]]:
    """(step, reason) of every call that breaks the policy: the fold of the one rule over the calls made."""
    history: list[ToolCall] = []
    broken: list[tuple[int, str]] = []
    for made in prediction.calls.calls:
        why = policies.violation(policy, applies, history, made.call)
        if why is not None:
            broken.append((made.number, why))
        history.append(made.call)
    return broken
