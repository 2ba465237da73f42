"""The driver that plays back one prediction of a run."""

from __future__ import annotations

from collections.abc import Sequence

from sessions.trajectory import Actor, Answer, CallTool, Decision, GiveUp, Step, Trajectory
from toolenv.model import Prediction, ToolCall, ToolSpec, Value


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


class Recording(Value, frozen=True):
    """A prediction that is played back; ``left_out`` is how many of its calls those stand for that others made last.

    None: each stands for one, as an edited call does. 0: none does, as where a missing call was put in.
    """

    prediction: Prediction
    left_out: int | None = None


class Standing:
    """Where a trajectory stands in the calls of a recording; of one that went on only what is new is looked at.

    The place follows from the trajectory: behind the last call that the recording made. Which of the recording's calls
    those stood for that others made before that is seen from the one that followed them; where that could be several
    that are alike, ``left_out`` counts (``Recording``).
    """

    def __init__(self, calls: Sequence[ToolCall], left_out: int | None = None) -> None:
        self._calls = calls
        self._left_out = left_out
        self._seen: tuple[Step, ...] = ()
        self._following = 0
        self._since = 0

    def of(self, steps: tuple[Step, ...]) -> tuple[int, int]:
        """(the call behind the last that the recording made, from 0; how many calls others have made since)."""
        seen = len(self._seen)
        if steps[:seen] != self._seen:
            seen, self._following, self._since = 0, 0, 0
        for step in steps[seen:]:
            if isinstance(step.decision, CallTool):
                self._take(step, step.decision.call)
        self._seen = steps
        return self._following, self._since

    def next(self, steps: tuple[Step, ...]) -> int:
        """Which call of the recording comes next, from 0; as many as it has, or more, where none does."""
        self.of(steps)
        return self._next

    @property
    def _next(self) -> int:
        return self._following + (self._since if self._left_out is None else min(self._left_out, self._since))

    def _take(self, step: Step, call: ToolCall) -> None:
        if step.opening:
            if self._calls and self._following == 0 and same_call(call, self._calls[0]):
                self._following = 1
            return
        place = self._place(call) if step.actor == "recording" else None
        if place is None:
            self._since += 1
        else:
            self._following, self._since = place + 1, 0

    def _place(self, call: ToolCall) -> int | None:
        """Which of the calls to come this one is: the one behind those that are left out, or the first alike."""
        usual = self._next
        if usual < len(self._calls) and same_call(call, self._calls[usual]):
            return usual
        ahead = range(self._following, len(self._calls))
        return next((place for place in ahead if same_call(call, self._calls[place])), None)


class RecordingDriver:
    """Decides what a prediction decided: its calls in order, then its answer.

    A prediction that its runner reported as failed and that has no answer gives up after its calls, with the runner's
    error. ``left_out``: see ``Recording``.
    """

    actor: Actor = "recording"

    def __init__(self, prediction: Prediction, left_out: int | None = None) -> None:
        self.prediction = prediction
        self._standing = Standing(prediction.calls, left_out)

    @property
    def first_call(self) -> ToolCall | None:
        """The call it is going to make first, known beforehand."""
        return self.prediction.calls[0] if self.prediction.calls else None

    async def next(self, trajectory: Trajectory, tools: Sequence[ToolSpec]) -> Decision:
        done = self._standing.next(trajectory.steps)
        if done < len(self.prediction.calls):
            return CallTool(call=self.prediction.calls[done])
        if self.prediction.status != "success" and not self.prediction.answer:
            return GiveUp(reason=self.prediction.error)
        return Answer(text=self.prediction.answer)
