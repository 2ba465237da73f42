"""A decision that has not been carried out yet, with what was found out about it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sessions.trajectory import Actor, Check, Decision, Step
from toolenv.model import Json, ToolResult, Value


class Proposal(Value, frozen=True):
    """What the next step is going to be; ``arguments`` are what will be executed where that is not what was written."""

    actor: Actor
    decision: Decision
    checks: tuple[Check, ...] = ()
    arguments: Mapping[str, Json] | None = None

    def as_step(self, *, opening: bool, result: ToolResult | None = None) -> Step:
        return Step(
            actor=self.actor,
            decision=self.decision,
            result=result,
            executed_arguments=self.arguments,
            opening=opening,
            checks=self.checks,
        )

    def blocked_by(self, names: Collection[str]) -> str | None:
        """Why one of the named checks stops it, or None."""
        for check in self.checks:
            if check.name in names and check.outcome == "violation":
                return check.reason
        return None
