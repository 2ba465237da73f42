"""The driver that plays back one prediction of a run."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sessions.trajectory import Actor, Answer, CallTool, Decision, GiveUp, Step, Trajectory
from toolenv.model import Prediction, ToolCall, ToolSpec


def same_call(one: ToolCall, other: ToolCall) -> bool:
    """Whether two calls are written alike; ids and labels do not count."""
    return one.name == other.name and one.arguments == other.arguments and one.raw_arguments == other.raw_arguments


def calls_done(trajectory: Trajectory, calls: Sequence[ToolCall]) -> int:
    """How many of ``calls`` a trajectory has behind it, whoever decided them.

    The count follows the trajectory and not the driver's own past, so that a driver can take the wheel over at any
    step and goes on there. Openings count once, and only where the first of ``calls`` is the opening.
    """
    return CallsDone(calls).of(trajectory)


class CallsDone:
    """Counts as ``calls_done`` does; of a trajectory that went on only what is new is looked at."""

    def __init__(self, calls: Sequence[ToolCall]) -> None:
        self.calls = calls
        self._seen: tuple[Step, ...] = ()
        self._opening = 0
        self._others = 0

    def of(self, trajectory: Trajectory) -> int:
        """How many of the calls a trajectory has behind it."""
        steps, seen = trajectory.steps, len(self._seen)
        if steps[:seen] != self._seen:
            seen, self._opening, self._others = 0, 0, 0
        for step in steps[seen:]:
            if not isinstance(step.decision, CallTool):
                continue
            if not step.opening:
                self._others += 1
            elif self.calls and same_call(step.decision.call, self.calls[0]):
                self._opening = 1
        self._seen = steps
        return self._opening + self._others


def going_on(prediction: Prediction, trajectory: Trajectory, following: int) -> Prediction:
    """A recording that goes on with its call ``following`` (from 0) behind a trajectory, whatever was called there.

    The calls of the trajectory stand for those before it, so that the count of ``calls_done`` leads there.
    """
    made = [(step.opening, step.decision.call) for step in trajectory.steps if isinstance(step.decision, CallTool)]
    first = prediction.calls[0] if prediction.calls else None
    opening = [call for opens, call in made if opens and first is not None and same_call(call, first)][:1]
    others = [call for opens, call in made if not opens]
    return msgspec.structs.replace(prediction, calls=(*opening, *others, *prediction.calls[following:]), responses=None)


class RecordingDriver:
    """Decides what a prediction decided: its calls in order, then its answer.

    A prediction that its runner reported as failed and that has no answer gives up after its calls, with the runner's
    error.
    """

    actor: Actor = "recording"

    def __init__(self, prediction: Prediction) -> None:
        self.prediction = prediction
        self._done = CallsDone(prediction.calls)

    @property
    def first_call(self) -> ToolCall | None:
        """The call it is going to make first, known beforehand."""
        return self.prediction.calls[0] if self.prediction.calls else None

    async def next(self, trajectory: Trajectory, tools: Sequence[ToolSpec]) -> Decision:
        done = self._done.of(trajectory)
        if done < len(self.prediction.calls):
            return CallTool(call=self.prediction.calls[done])
        if self.prediction.status != "success" and not self.prediction.answer:
            return GiveUp(reason=self.prediction.error)
        return Answer(text=self.prediction.answer)
