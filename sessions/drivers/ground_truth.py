"""The driver that walks the reference path of an instance."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sessions.drivers.recording import CallsDone
from sessions.trajectory import Actor, Answer, CallTool, Decision, Trajectory
from toolenv.errors import DataError
from toolenv.model import Instance, Json, ToolCall, ToolSpec

OLDER_OPENING = "initialize_active_data"
"""The first call of the older label style; it opens the instance's universe and its path is ignored."""


def answer_text(answer: Json) -> str:
    """A reference answer as a sentence would carry it: its scalar values in order, joined by commas."""
    if answer is None:
        return ""
    if isinstance(answer, str):
        return answer
    if isinstance(answer, dict | list | tuple):
        items = answer.values() if isinstance(answer, dict) else answer
        return ", ".join("none" if item is None else answer_text(item) for item in items)
    return json.dumps(answer)


class GroundTruthDriver:
    """Decides what the ground truth of the evaluated turn says: its calls, then its answer.

    In the older label style later calls name the tables of earlier ones (``$FILTERED_DF_0.data_path$``); such names
    are replaced by the handles that the steps of this very trajectory made. Raises ``DataError`` without ground truth.
    """

    actor: Actor = "ground_truth"

    def __init__(self, instance: Instance) -> None:
        if instance.ground_truth is None:
            raise DataError(f"Instance {instance.uuid} has no ground truth to follow.")
        turn = instance.ground_truth.evaluated
        self.answer = answer_text(turn.answer)
        self.written = turn.calls
        older = instance.capability == 1 and bool(turn.calls) and turn.calls[0].name == OLDER_OPENING
        self.calls = turn.calls[1:] if older else turn.calls
        self._older = older
        self._done = CallsDone(self.calls)

    @property
    def first_call(self) -> ToolCall | None:
        """The call it is going to make first, known beforehand; an older opening is left to the stepper."""
        return self.calls[0] if self.calls and not self._older else None

    async def next(self, trajectory: Trajectory, tools: Sequence[ToolSpec]) -> Decision:
        from toolenv.dataset.labels import resolve

        done = self._done.of(trajectory)
        if done >= len(self.calls):
            return Answer(text=self.answer)
        return CallTool(call=resolve(self.calls[done], self.handles(trajectory)))

    def handles(self, trajectory: Trajectory) -> dict[str, str]:
        """Label -> the handle that the step with this label made."""
        from toolenv.dataset.labels import opening_labels

        found: dict[str, str] = {}
        for step in trajectory.steps:
            if not isinstance(step.decision, CallTool) or step.result is None or step.result.handle is None:
                continue
            if step.opening:
                first = self.written[0] if self.written else None
                found.update((label, step.result.handle) for label in opening_labels(first))
            elif step.decision.call.label is not None:
                found[step.decision.call.label] = step.result.handle
        return found
