"""What a stepper tells its listeners, and where it keeps steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from sessions.trajectory import Actor, Check, Decision, Step
from toolenv.model import Value

State = Literal["idle", "proposed", "checked", "running", "observed", "finished"]
"""Where a stepper is: nothing under way, a decision taken, its checks made, its call running, its step kept."""

Moment = Literal["proposed", "checked", "running", "observed", "paused", "cancelled", "failed", "unsaved", "finished"]

Commit = Literal["step", "instance"]
"""When steps are kept: each one before it is shown, or all of an instance at once at its end."""


class StepEvent(Value, frozen=True):
    """One moment in the life of a step.

    ``number`` is the step's place in its trajectory, from 1. ``step`` is set from ``observed`` on; ``detail`` is a
    sentence for ``paused``, ``cancelled``, ``failed`` and ``unsaved`` (the step happened, but the store refused it).
    """

    moment: Moment
    number: int
    actor: Actor
    decision: Decision | None = None
    checks: tuple[Check, ...] = ()
    step: Step | None = None
    detail: str = ""


Listener = Callable[[StepEvent], None]
"""Told of every moment, in order, on the event loop; must be quick and must not raise."""


class StepSink(Protocol):
    """Where a stepper keeps the steps of one branch."""

    async def append(self, start: int, steps: Sequence[Step]) -> None:
        """Keep ``steps`` as the steps ``start``, ``start + 1`` ... (from 0) of the branch.

        Durable when it returns. Saying the same again changes nothing. Raises ``StoreError`` when it cannot.
        """
        ...
