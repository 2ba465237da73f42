"""What a model judge would be asked, and about how much that is, before anything is executed or sent."""

from __future__ import annotations

from eval.case import Case
from eval.judges.questions import answer_text, question
from eval.judges.settings import JudgeSettings
from eval.model import Gate
from sessions.trajectory import Answer, CallTool, ExecutedTrajectory, Step, Trajectory
from toolenv.model import Instance, Json, Prediction, ToolCall, ToolResult, Value
from toolenv.openai_compat.ledger import CHARACTERS_PER_TOKEN, estimate_tokens

USUAL_GATES: tuple[Gate, ...] = ("consistent", "grounded")
"""Asked of an instance whose tool sequence a program can decide."""

_UNKNOWN_RESPONSE = "?" * 800
"""Stands for a response that no file holds: as long as a common peek."""

_USUAL_REPLY = 120
"""Tokens of a common reply."""


class Estimate(Value, frozen=True):
    """Expected calls of a model and their tokens (estimates); ``most_calls`` if every gate needs the judge."""

    calls: int = 0
    most_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(
            calls=self.calls + other.calls,
            most_calls=self.most_calls + other.most_calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


def expected(instance: Instance, prediction: Prediction | None, settings: JudgeSettings | None = None) -> Estimate:
    """What one instance would ask; nothing where there is no prediction or no ground truth to compare with."""
    if prediction is None or instance.ground_truth is None:
        return Estimate()
    characters = (settings.context_tokens if settings is not None else 24_000) * CHARACTERS_PER_TOKEN
    truth = instance.ground_truth.evaluated
    case = Case(
        run="",
        instance=instance,
        truth=_unexecuted(instance, truth.calls, truth.responses, None),
        prediction=_unexecuted(instance, prediction.calls, prediction.responses, prediction.answer),
        tools=(),
    )
    asked = [question(gate, case, characters) for gate in USUAL_GATES]
    return Estimate(
        calls=len(asked),
        most_calls=len(asked) + (2 if instance.policy else 1),
        input_tokens=sum(estimate_tokens(message["content"]) for one in asked for message in one.messages),
        output_tokens=_USUAL_REPLY * len(asked),
    )


def _unexecuted(
    instance: Instance, calls: tuple[ToolCall, ...], responses: tuple[Json, ...] | None, answer: str | None
) -> ExecutedTrajectory:
    """A trajectory with the file's own responses: good enough to measure, never to judge."""
    steps = []
    for position, call in enumerate(calls):
        known = responses is not None and position < len(responses)
        text = answer_text(responses[position]) if known and responses is not None else _UNKNOWN_RESPONSE
        steps.append(Step(actor="recording", decision=CallTool(call=call), result=ToolResult(text=text)))
    if answer is not None:
        steps.append(Step(actor="recording", decision=Answer(text=answer)))
    trajectory = Trajectory(instance=instance, steps=tuple(steps))
    return ExecutedTrajectory(trajectory=trajectory, tables=(None,) * len(steps))
