"""What makes a stepper pause. A breakpoint never changes what happens, only when."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from sessions.checks import tool_named
from sessions.divergence import first_divergence
from sessions.filters import STEP_FILTERS, Filter, StepView
from sessions.trajectory import CallTool, Step, Trajectory
from toolenv.model import ToolCall, ToolSpec, Value

BreakpointKind = Literal["tool", "error", "policy", "divergence", "ungrounded", "unknown_tool", "slow", "filter"]


class Breakpoint(Value, frozen=True):
    """``value``: the tool's name for ``tool``, the expression for ``filter``, seconds for ``slow``; else empty."""

    kind: BreakpointKind
    value: str = ""
    enabled: bool = True


class Pause(Value, frozen=True):
    """Why a stepper stopped: before step ``number`` (from 1) runs, or after it ran."""

    number: int
    before: bool
    reason: str


@lru_cache(maxsize=64)
def _filter(expression: str) -> Filter[StepView]:
    return STEP_FILTERS.parse(expression)


def checked(breakpoint_: Breakpoint) -> Breakpoint:
    """The breakpoint, if its value can be read. Raises ``FilterError`` or ``ValueError`` otherwise."""
    if breakpoint_.kind == "filter":
        _filter(breakpoint_.value)
    if breakpoint_.kind == "slow" and not float(breakpoint_.value) >= 0:
        raise ValueError("a slow call takes a number of seconds")
    return breakpoint_


def hit_before(
    breakpoints: Sequence[Breakpoint],
    trajectory: Trajectory,
    upcoming: Step,
    reference: Sequence[Step],
    tools: Sequence[ToolSpec],
) -> str | None:
    """Why to stop before ``upcoming`` runs, or None."""
    if upcoming.opening or not breakpoints:
        return None
    ahead = trajectory.appended(upcoming)
    view = StepView(trajectory=ahead, index=len(trajectory.steps), tools=tuple(tools), reference=tuple(reference))
    call = upcoming.decision.call if isinstance(upcoming.decision, CallTool) else None
    for each in breakpoints:
        if not each.enabled:
            continue
        if each.kind == "tool" and call is not None and call.name == each.value:
            return f"The tool {call.name} is about to be called."
        if each.kind == "policy" and (reason := _violated(upcoming, "policy")) is not None:
            return f"The policy forbids this call. {reason}".strip()
        if each.kind == "ungrounded" and (reason := _violated(upcoming, "provenance")) is not None:
            return f"An argument was seen nowhere before. {reason}".strip()
        if each.kind == "unknown_tool" and call is not None and _is_unknown(upcoming, call, tools, trajectory):
            return f"There is no tool named {call.name!r}."
        if (
            each.kind == "divergence"
            and reference
            and first_divergence(ahead.steps, reference, trajectory.instance.domain) == view.index
        ):
            return "This is the first step that differs from the ground truth."
        if each.kind == "filter" and not _filter(each.value).late and _filter(each.value).matches(view):
            return f"The step matches {each.value}."
    return None


def hit_after(
    breakpoints: Sequence[Breakpoint],
    trajectory: Trajectory,
    reference: Sequence[Step],
    tools: Sequence[ToolSpec],
) -> str | None:
    """Why to stop after the last step of ``trajectory`` ran, or None."""
    if not breakpoints:
        return None
    step = trajectory.steps[-1]
    view = StepView(
        trajectory=trajectory, index=len(trajectory.steps) - 1, tools=tuple(tools), reference=tuple(reference)
    )
    for each in breakpoints:
        if not each.enabled:
            continue
        if each.kind == "error" and step.result is not None and step.result.failed:
            return "The call failed."
        if each.kind == "slow" and step.result is not None and step.result.duration_s > float(each.value):
            return f"The call took {step.result.duration_s:.1f} s."
        if each.kind == "filter" and _filter(each.value).late and _filter(each.value).matches(view):
            return f"The step matches {each.value}."
    return None


def _violated(step: Step, name: str) -> str | None:
    return next((check.reason for check in step.checks if check.name == name and check.outcome == "violation"), None)


def _is_unknown(step: Step, call: ToolCall, tools: Sequence[ToolSpec], trajectory: Trajectory) -> bool:
    """A step of history says it itself, whatever is offered now."""
    if step.result is not None:
        return step.result.error_kind == "unknown_tool"
    return tool_named(tools, call.name, trajectory.instance.domain) is None
