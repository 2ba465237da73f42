"""What every reader gives: a trajectory as another program wrote it down, and what was odd about it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from sessions.trajectory import Actor, Answer, CallTool, GiveUp, Message, Step, Trajectory
from toolenv.decoding import decoded
from toolenv.failures import result_of
from toolenv.model import Instance, Json, Prediction, ToolCall, ToolResult, Turn, Value


class Imported(Value, frozen=True):
    """A trajectory that was read from a file.

    ``name`` says which record it was (``file: sample 3``). ``extra`` are keys of the record that this program does not
    know: they are kept and written out again. ``problems`` are sentences that name the record and what was odd in it.
    """

    name: str
    form: str
    trajectory: Trajectory
    extra: Mapping[str, Json] = {}
    problems: tuple[str, ...] = ()


class Exchange(Value, frozen=True):
    """A call with what came back; ``text`` is None where no response stands in the file."""

    call: ToolCall
    text: str | None = None
    is_error: bool = False
    duration_s: float = 0.0

    @property
    def result(self) -> ToolResult | None:
        if self.text is None:
            return None
        return msgspec.structs.replace(result_of(self.text, self.is_error), duration_s=self.duration_s)


Entry = Exchange | Message
"""One thing that happened, in order."""


def step_of(entry: Entry, actor: Actor = "agent") -> Step:
    if isinstance(entry, Message):
        return Step(actor=actor, decision=entry)
    return Step(actor=actor, decision=CallTool(call=entry.call), result=entry.result)


def trajectory_of(
    instance: Instance, entries: Sequence[Entry], answer: str | None, *, gave_up: str | None = None
) -> Trajectory:
    """The steps of an agent: what happened, then its answer, or that it gave up."""
    steps = [step_of(entry) for entry in entries]
    if answer is not None:
        steps.append(Step(actor="agent", decision=Answer(text=answer)))
    elif gave_up is not None:
        steps.append(Step(actor="agent", decision=GiveUp(reason=gave_up)))
    return Trajectory(instance=instance, steps=tuple(steps))


def instance_of(
    uuid: str, domain: str, query: str, *, context: Sequence[Turn] = (), capability: int | None = None, policy: str = ""
) -> Instance:
    """The instance that a trajectory itself tells of; a dataset's own takes its place where there is one."""
    turn_id = context[-1].turn_id + 1 if context else 0
    return Instance(
        uuid=uuid,
        capability=capability or 0,
        domain=domain,
        turns=(*context, Turn(turn_id=turn_id, query=query)),
        policy=policy,
        universe_id=uuid if capability == 1 else None,
    )


def from_prediction(prediction: Prediction, instance: Instance | None = None) -> Trajectory:
    """A record of a run as a trajectory, with the responses that stand in the file."""
    if instance is None:
        instance = instance_of(prediction.uuid, prediction.domain, prediction.query, capability=prediction.capability)
    responses: Sequence[Any] = prediction.responses or (None,) * len(prediction.calls)
    entries = [
        Exchange(call=call, text=text_of(response)) for call, response in zip(prediction.calls, responses, strict=False)
    ]
    given_up = prediction.status != "success" and not prediction.answer
    return trajectory_of(
        instance,
        entries,
        None if given_up else prediction.answer,
        gave_up=prediction.error if given_up else None,
    )


def finite(value: Json) -> Json:
    """A value without the numbers that JSON does not have: NaN and infinities become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, list | tuple) else value


def text_of(value: Json) -> str | None:
    """What a tool said, as text: JSON values as JSON, parts of a message joined."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(part, Mapping) and "type" in part for part in value):
        texts = list(_texts(value))
        if texts:
            return "\n".join(texts)
    return json.dumps(value, ensure_ascii=False)


def _texts(parts: Sequence[Mapping[str, Json]]) -> Iterator[str]:
    for part in parts:
        text = part.get("text", part.get("content"))
        if part.get("type") in ("text", "input_text", "output_text", "refusal") and isinstance(text, str):
            yield text


def call_of(name: Json, arguments: Json, call_id: Json = None) -> ToolCall:
    """A call in any spelling: arguments as an object or as JSON text; text that is no object is kept as it is."""
    raw: str | None = None
    found: Mapping[str, Json] = {}
    if isinstance(arguments, Mapping):
        found = arguments
    elif isinstance(arguments, str) and arguments.strip():
        try:
            value = decoded(arguments)
        except ValueError:
            value = None
        if isinstance(value, dict):
            found = value
        else:
            raw = arguments
    elif arguments is not None and not isinstance(arguments, str):
        raw = json.dumps(arguments)
    return ToolCall(
        name=name if isinstance(name, str) else "",
        arguments=dict(found),
        raw_arguments=raw,
        id=call_id if isinstance(call_id, str) else None,
    )
