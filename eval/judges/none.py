"""No judge at all: ``--judge none``."""

from __future__ import annotations

from eval.case import Case
from eval.model import Gate, Ruling


class NoJudge:
    """Leaves every gate that a program cannot decide undecided."""

    kind = "none"

    async def rule(self, gate: Gate, case: Case) -> Ruling:
        return Ruling(outcome="undecided", reason="no judge was asked (--judge none)")
