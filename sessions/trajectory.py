"""The immutable trajectory of one branch and the steps it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from toolenv.environment import TableView
from toolenv.model import Instance, Json, ToolCall, ToolResult, Value

Actor = Literal["agent", "human", "recording", "ground_truth", "stepper"]
"""Who decided a step; ``stepper`` is the opening that every side gets."""


class CallTool(Value, frozen=True, tag="call"):
    """Decision: run this tool."""

    call: ToolCall


class Answer(Value, frozen=True, tag="answer"):
    """Decision: give the final answer."""

    text: str


class GiveUp(Value, frozen=True, tag="give_up"):
    """Decision: end without an answer."""

    reason: str = ""


class Message(Value, frozen=True, tag="message"):
    """Words that are neither a call nor the final answer."""

    role: str
    text: str


Decision = CallTool | Answer | GiveUp | Message


class Check(Value, frozen=True):
    """What the stepper found out about a proposed call before it ran; never blocking by itself.

    ``name`` is ``policy``, ``schema`` or ``provenance``; ``outcome`` is ``ok``, ``violation`` or ``unknown``.
    """

    name: str
    outcome: Literal["ok", "violation", "unknown"]
    reason: str = ""


class Step(Value, frozen=True):
    """One decision and what came of it.

    ``executed_arguments`` is set when the written arguments were coerced to the schema's scalar types before
    running; ``opening`` marks the ``get_data`` that opens a capability-1 instance and that nobody proposed.
    """

    actor: Actor
    decision: Decision
    result: ToolResult | None = None
    executed_arguments: Mapping[str, Json] | None = None
    opening: bool = False
    checks: tuple[Check, ...] = ()


class Trajectory(Value, frozen=True):
    """Instance and ordered steps of one branch; append-only, a new value for every step."""

    instance: Instance
    steps: tuple[Step, ...] = ()

    def appended(self, step: Step) -> Trajectory:
        return Trajectory(instance=self.instance, steps=(*self.steps, step))

    @property
    def finished(self) -> bool:
        return bool(self.steps) and isinstance(self.steps[-1].decision, Answer | GiveUp)

    @property
    def answer(self) -> str | None:
        """The final answer, or None when none was given."""
        for step in reversed(self.steps):
            if isinstance(step.decision, Answer):
                return step.decision.text
        return None


class ExecutedTrajectory(Value, frozen=True):
    """A trajectory together with the tables behind the handles that its steps made; what every gate sees.

    ``tables[i]`` belongs to ``trajectory.steps[i]``; None where a step made no table or it cannot be shown.
    """

    trajectory: Trajectory
    tables: tuple[TableView | None, ...]
