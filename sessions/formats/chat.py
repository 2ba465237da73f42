"""Trajectories as chat messages: for fine-tuning, and in pairs for preference training."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sessions.formats.model import finite
from sessions.trajectory import Answer, CallTool, Message, Step, Trajectory
from toolenv.model import Instance, Json, ToolCall, ToolSpec


def prompt(instance: Instance) -> list[dict[str, Json]]:
    """What an agent is given: the policy as system message, the dialogue, the question."""
    messages: list[dict[str, Json]] = []
    if instance.policy.strip():
        messages.append({"role": "system", "content": instance.policy})
    for turn in instance.turns[:-1]:
        messages.append({"role": "user", "content": turn.query})
        if turn.answer is not None:
            answer = turn.answer if isinstance(turn.answer, str) else json.dumps(turn.answer, ensure_ascii=False)
            messages.append({"role": "assistant", "content": answer})
    messages.append({"role": "user", "content": instance.query})
    return messages


def replies(steps: Sequence[Step]) -> list[dict[str, Json]]:
    """What an agent said and was told, a call a message; ids of calls are unique. An opening that nobody proposed is
    left out, and so is a trajectory's giving up."""
    messages: list[dict[str, Json]] = []
    number = 0
    words: str | None = None
    for step in steps:
        decision = step.decision
        if isinstance(decision, CallTool):
            if step.actor == "stepper":
                continue
            number += 1
            call_id = f"call_{number}"
            messages.append({"role": "assistant", "content": words, "tool_calls": [_call(decision.call, call_id)]})
            if step.result is not None:
                messages.append({"role": "tool", "tool_call_id": call_id, "content": step.result.text})
            words = None
        elif isinstance(decision, Message):
            if decision.role == "assistant" and words is None:
                words = decision.text
            else:
                messages.append({"role": decision.role, "content": decision.text})
        elif isinstance(decision, Answer):
            if words is not None:
                messages.append({"role": "assistant", "content": words})
                words = None
            messages.append({"role": "assistant", "content": decision.text})
    if words is not None:
        messages.append({"role": "assistant", "content": words})
    return messages


def _call(call: ToolCall, call_id: str) -> dict[str, Json]:
    written = call.raw_arguments
    if written is None:
        written = json.dumps(finite(dict(call.arguments)), ensure_ascii=False)
    return {"id": call_id, "type": "function", "function": {"name": call.name, "arguments": written}}


def conversation(trajectory: Trajectory, tools: Sequence[ToolSpec] = ()) -> dict[str, Any]:
    """One training example; ``uuid`` and ``domain`` say whose it is, and are ignored by trainers."""
    instance = trajectory.instance
    example: dict[str, Any] = {
        "messages": [*prompt(instance), *replies(trajectory.steps)],
        "uuid": instance.uuid,
        "domain": instance.domain,
    }
    if instance.capability:
        example["capability"] = instance.capability
    if tools:
        example["tools"] = [function_of(tool) for tool in tools]
    return example


def function_of(tool: ToolSpec) -> dict[str, Json]:
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.input_schema)},
    }


def preference(chosen: Trajectory, rejected: Trajectory, why: str = "", shared: int = 0) -> dict[str, Any]:
    """A repaired trajectory preferred to the one that failed.

    The steps that both begin with (``shared`` of them) belong to the prompt, so that the pair differs from its first
    message on.
    """
    common = replies(rejected.steps[:shared])
    given = [*prompt(rejected.instance), *common]
    return {
        "prompt": given,
        "chosen": replies(chosen.steps)[len(common) :],
        "rejected": replies(rejected.steps)[len(common) :],
        "uuid": rejected.instance.uuid,
        "domain": rejected.instance.domain,
        "reason": why,
    }
