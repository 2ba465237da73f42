"""ATIF, the trajectory JSON of the harbor framework, version 1.7.

A document has ``schema_version``, ``agent`` and ``steps``, numbered from 1 without gaps. A step's ``source`` is
``user``, ``agent`` or ``system``; an agent's step may have ``tool_calls`` (arguments are always an object), the
``observation`` with their results, and ``metrics``. What a step has no place for stands in ``extra``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sessions.formats.chat import prompt
from sessions.trajectory import Answer, CallTool, GiveUp, Message, Step, Trajectory
from toolenv.model import Json, ToolSpec

SCHEMA_VERSION = "ATIF-v1.7"

_SOURCES = {"user": "user", "system": "system", "developer": "system"}


def document(
    trajectory: Trajectory,
    *,
    session_id: str | None = None,
    agent: str = "agent",
    version: str = "unknown",
    model: str | None = None,
    tools: Sequence[ToolSpec] = (),
    passed: bool | None = None,
) -> dict[str, Any]:
    """One trajectory. ``agent``, ``version`` and ``model`` say who made it, where that is known."""
    instance = trajectory.instance
    steps: list[dict[str, Json]] = []
    for message in prompt(instance):
        source = _SOURCES.get(str(message["role"]), "agent")
        steps.append({"step_id": len(steps) + 1, "source": source, "message": message["content"]})
    calls = 0
    for step in trajectory.steps:
        if isinstance(step.decision, CallTool):
            calls += 1
        steps.append({"step_id": len(steps) + 1, **_step(step, calls)})
    who: dict[str, Json] = {"name": agent, "version": version}
    if model is not None:
        who["model_name"] = model
    if tools:
        who["tool_definitions"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.input_schema)},
            }
            for tool in tools
        ]
    written: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "session_id": session_id or instance.uuid,
        "trajectory_id": instance.uuid,
        "agent": who,
        "steps": steps,
        "final_metrics": {"total_steps": len(steps)},
        "extra": {"uuid": instance.uuid, "domain": instance.domain, "capability": instance.capability},
    }
    if passed is not None:
        written["extra"]["passed"] = passed
    return written


def _step(step: Step, number: int) -> dict[str, Json]:
    decision = step.decision
    if isinstance(decision, Message):
        return {"source": _SOURCES.get(decision.role, "agent"), "message": decision.text}
    if isinstance(decision, Answer):
        return {"source": "agent", "message": decision.text, "extra": {"final_answer": True, "decided_by": step.actor}}
    if isinstance(decision, GiveUp):
        return {"source": "agent", "message": "", "extra": {"gave_up": decision.reason, "decided_by": step.actor}}
    call = decision.call
    call_id = f"call_{number}"
    extra: dict[str, Json] = {"decided_by": step.actor}
    if step.opening:
        extra["opening"] = True
    if call.raw_arguments is not None:
        extra["raw_arguments"] = call.raw_arguments
    if call.id is not None:
        extra["written_id"] = call.id
    form: dict[str, Json] = {
        "source": "agent",
        "message": "",
        "tool_calls": [
            {"tool_call_id": call_id, "function_name": call.name, "arguments": dict(call.arguments)},
        ],
    }
    if step.result is not None:
        form["observation"] = {"results": [{"source_call_id": call_id, "content": step.result.text}]}
        form["metrics"] = {"extra": {"duration_s": step.result.duration_s}}
        extra["failed"] = step.result.failed
    form["extra"] = extra
    return form
