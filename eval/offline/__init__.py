"""Offline rules in place of a model judge: no key, no network, and what they cannot see is undecided."""

from __future__ import annotations

from eval.case import Case, analyses
from eval.gates.tool_sequence import recovery_ruling
from eval.model import Gate, Ruling
from eval.offline.consistent import consistent_ruling
from eval.offline.grounded import grounded_ruling
from toolenv.policy import is_refusal, policy_of

__all__ = ["OfflineJudge", "consistent_ruling", "grounded_ruling"]


class OfflineJudge:
    """The offline rules as a judge. Whether a policy applies is nothing that a rule can tell."""

    kind = "offline"

    async def rule(self, gate: Gate, case: Case) -> Ruling:
        return self.ruling(gate, case)

    def ruling(self, gate: Gate, case: Case) -> Ruling:
        """The ruling, without waiting. Raises ValueError for a case without ground truth."""
        truth, prediction = analyses(case)
        questions = [turn.query for turn in case.instance.turns]
        wording = policy_of(case.instance).refusal
        quoted = is_refusal(truth.answer) and not truth.refuses
        match gate:
            case "tool_sequence":
                return recovery_ruling(truth, prediction)
            case "consistent":
                return consistent_ruling(prediction.answer, truth.answer, questions, wording, quoted)
            case "grounded":
                told = [turn.answer for turn in case.instance.turns[:-1] if turn.answer is not None]
                return grounded_ruling(prediction.answer, truth.answer, questions, prediction, wording, told, quoted)
            case _:
                return Ruling(outcome="undecided", reason="no rule can tell whether this policy applies")
