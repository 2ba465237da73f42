"""The driver that plays back one prediction of a run."""

from __future__ import annotations

from collections.abc import Sequence

from sessions.trajectory import Actor, Answer, CallTool, Decision, GiveUp, Trajectory
from toolenv.model import Prediction, ToolCall, ToolSpec


def same_call(one: ToolCall, other: ToolCall) -> bool:
    """Whether two calls are written alike; ids and labels do not count."""
    return one.name == other.name and one.arguments == other.arguments and one.raw_arguments == other.raw_arguments


def calls_done(trajectory: Trajectory, calls: Sequence[ToolCall]) -> int:
    """How many of ``calls`` a trajectory has behind it, whoever decided them.

    The count follows the trajectory and not the driver's own past, so that a driver can take the wheel over at any
    step and goes on there. Openings count once, and only where the first of ``calls`` is the opening.
    """
    opening = 0
    others = 0
    for step in trajectory.steps:
        if not isinstance(step.decision, CallTool):
            continue
        if not step.opening:
            others += 1
        elif calls and same_call(step.decision.call, calls[0]):
            opening = 1
    return opening + others


class RecordingDriver:
    """Decides what a prediction decided: its calls in order, then its answer.

    A prediction that its runner reported as failed and that has no answer gives up after its calls, with the runner's
    error.
    """

    actor: Actor = "recording"

    def __init__(self, prediction: Prediction) -> None:
        self.prediction = prediction

    @property
    def first_call(self) -> ToolCall | None:
        """The call it is going to make first, known beforehand."""
        return self.prediction.calls[0] if self.prediction.calls else None

    async def next(self, trajectory: Trajectory, tools: Sequence[ToolSpec]) -> Decision:
        done = calls_done(trajectory, self.prediction.calls)
        if done < len(self.prediction.calls):
            return CallTool(call=self.prediction.calls[done])
        if self.prediction.status != "success" and not self.prediction.answer:
            return GiveUp(reason=self.prediction.error)
        return Answer(text=self.prediction.answer)
