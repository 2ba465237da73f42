"""A person's breakpoints in words, and what completes and checks them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sessions.breakpoints import Breakpoint, BreakpointKind, checked
from sessions.filters import STEP_FILTERS, Completion, FilterError, StepView
from vakra_tui.state.lines import Line, line
from vakra_tui.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS: dict[BreakpointKind, tuple[str, str]] = {
    "tool": ("tool", "before a tool of this name is called"),
    "error": ("error", "after a call that failed"),
    "policy": ("policy", "before a call that the policy forbids"),
    "divergence": ("divergence", "before the first step that differs from the ground truth"),
    "ungrounded": ("ungrounded", "before a call with an argument that was seen nowhere"),
    "unknown_tool": ("unknown tool", "before a call of a tool that does not exist"),
    "slow": ("slow", "after a call that took more than so many seconds"),
    "filter": ("filter", "at a step that matches an expression"),
}
"""Name and meaning of every kind."""

ASKS: dict[BreakpointKind, str] = {
    "tool": "Stop before which tool?",
    "slow": "Stop after a call of more than how many seconds?",
    "filter": "Stop at a step that matches",
}
"""The kinds that need a value, with what is asked."""


def line_of(breakpoint_: Breakpoint) -> Line:
    """One breakpoint in the list."""
    name, meaning = KINDS[breakpoint_.kind]
    sign = ("\u25a0 ", "warn") if breakpoint_.enabled else ("\u25a1 ", "dim")
    value = one_line(breakpoint_.value, 200)
    return line(sign, (f"{name:<13}", "strong" if breakpoint_.enabled else "dim"), (value or meaning, ""))  # type: ignore[arg-type]


def problem_of(kind: BreakpointKind, value: str) -> str:
    """Why a value cannot be used, empty where it can."""
    if not value.strip():
        return "Something must be written."
    try:
        checked(Breakpoint(kind=kind, value=value))
    except FilterError as error:
        return str(error)
    except ValueError:
        return "A number of seconds is needed, 0.5 say."
    return ""


def completer(
    kind: BreakpointKind, names: Sequence[str], views: Sequence[StepView]
) -> Callable[[str], Sequence[Completion]]:
    """What can follow a begun value: names of tools, or parts of a filter expression."""
    if kind == "tool":
        return lambda text: [
            Completion(text=name, meaning="", replaces=len(text))
            for name in names
            if text.strip().casefold() in name.casefold()
        ]
    if kind == "filter":
        return lambda text: STEP_FILTERS.complete(text, views)
    return lambda text: ()
