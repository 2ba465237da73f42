"""The driver that walks the reference path of an instance."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sessions.drivers.recording import calls_done
from sessions.trajectory import Actor, Answer, CallTool, Decision, Trajectory
from toolenv.errors import DataError
from toolenv.model import Instance, Json, ToolCall, ToolResult, ToolSpec

OLDER_OPENING = "initialize_active_data"
"""The first call of the older label style; it opens the instance's universe and its path is ignored."""


def answer_text(answer: Json) -> str:
    """A reference answer as a sentence would carry it: its scalar values in order, joined by commas."""
    if answer is None:
        return ""
    if isinstance(answer, str):
        return answer
    if isinstance(answer, dict):
        return ", ".join(answer_text(item) for item in answer.values())
    if isinstance(answer, list | tuple):
        return ", ".join(answer_text(item) for item in answer)
    return json.dumps(answer)


class GroundTruthDriver:
    """Decides what the ground truth of the evaluated turn says: its calls, then its answer.

    In the older label style later calls name the results of earlier ones (``$FILTERED_DF_0.data_path$``); such names
    are replaced by what the steps of this very trajectory gave. Raises ``DataError`` without ground truth.
    """

    actor: Actor = "ground_truth"

    def __init__(self, instance: Instance) -> None:
        if instance.ground_truth is None:
            raise DataError(f"Instance {instance.uuid} has no ground truth to follow.")
        turn = instance.ground_truth.evaluated
        calls = turn.calls
        self.answer = answer_text(turn.answer)
        self.opening_label: str | None = None
        if instance.capability == 1 and calls and calls[0].name == OLDER_OPENING:
            self.opening_label = calls[0].label or ""
            calls = calls[1:]
        self.calls = calls
        self.labelled = self.opening_label is not None or any(call.label for call in calls)

    @property
    def first_call(self) -> ToolCall | None:
        """The call it is going to make first, known beforehand; an older opening is left to the stepper."""
        return self.calls[0] if self.calls and self.opening_label is None else None

    async def next(self, trajectory: Trajectory, tools: Sequence[ToolSpec]) -> Decision:
        done = calls_done(trajectory, self.calls)
        if done >= len(self.calls):
            return Answer(text=self.answer)
        call = self.calls[done]
        if self.labelled:
            from toolenv.dataset.labels import resolve

            spec = next((tool for tool in tools if tool.name == call.name), None)
            call = resolve(call, self.results(trajectory), spec)
        return CallTool(call=call)

    def results(self, trajectory: Trajectory) -> dict[str, ToolResult]:
        """Label -> the result of the step that carries it."""
        found: dict[str, ToolResult] = {}
        for step in trajectory.steps:
            if not isinstance(step.decision, CallTool) or step.result is None:
                continue
            if step.opening and self.opening_label:
                found.setdefault(self.opening_label, step.result)
            if step.decision.call.label:
                found[step.decision.call.label] = step.result
        return found
