"""What the form of a call says before it is made: the policy, and what was wrong with the call that it replaces."""

from __future__ import annotations

from collections.abc import Mapping

from toolenv import policy as policies
from toolenv.model import Json, ToolCall, ToolSpec
from toolenv.schema import arguments_of
from vakra_tui.state.diagnosis import gap_words, value_words
from vakra_tui.state.lines import HANG, Line, Span
from vakra_tui.state.scene import Gap, Scene, StepRow
from vakra_tui.text import one_line


def policy_warning(scene: Scene, behind: int, name: str) -> str:
    """Why a call of the tool ``name`` after the first ``behind`` steps breaks the policy; empty where it does not.

    Where it is not known whether the policy applies, what the call would break says so.
    """
    applies = scene.policy.applicability
    if not scene.policy.text.strip() or applies not in ("applies", "unknown"):
        return ""
    history = [row.call for row in scene.rows[:behind] if row.call is not None and row.number > 0]
    broken = policies.violation(
        policies.policy_of(scene.instance),
        "applies" if applies == "applies" else "unknown",
        history,
        ToolCall(name=name, arguments={}),
    )
    if broken is None:
        return ""
    return broken if applies == "applies" else f"if the policy applies, which is not known: {broken}"


def form_lines(scene: Scene, behind: int, spec: ToolSpec, values: Mapping[str, Json]) -> list[Line]:
    """The lines above the fields: a policy that the call breaks, given arguments that the tool does not have."""
    lines: list[Line] = []
    broken = policy_warning(scene, behind, spec.name)
    if broken:
        lines.append((Span(" ! POLICY  ", "fail"), HANG, Span(broken)))
    known = arguments_of(spec).known
    for name, value in values.items():
        if name not in known:
            told = f"{one_line(name, 80)} = {value_words(value)}: the tool has no such argument"
            lines.append((Span(" \u2717 left out  ", "warn"), HANG, Span(told)))
    return lines


def field_notes(scene: Scene, row: StepRow | None) -> dict[str, str]:
    """Argument -> what is wrong with it in the step that is edited; without the reference where that is hidden."""
    if row is None:
        return {}
    notes = {
        argument.name: f"{value_words(argument.value)} was seen nowhere before"
        for argument in row.arguments
        if argument.grounded is False
    }
    if scene.reference_shown:
        notes |= {gap.argument: _note(gap) for gap in row.gaps}
    return notes


def _note(gap: Gap) -> str:
    """A difference from the reference; the schema may well accept a call that leaves an argument out."""
    if gap.kind != "missing" or gap.unset:
        return gap_words(gap)
    return f"the call leaves it out; the reference gives {value_words(gap.expected)}"


def due_arguments(scene: Scene, row: StepRow | None) -> tuple[str, ...]:
    """Arguments that the reference gives and the edited step does not; none where the reference is hidden."""
    if row is None or not scene.reference_shown:
        return ()
    return tuple(gap.argument for gap in row.gaps if gap.kind == "missing" and not gap.unset)


def first_field(row: StepRow | None, led: str, notes: Mapping[str, str], spec: ToolSpec) -> str:
    """The argument on which the form begins: the one that was led to, else the first with something wrong."""
    known = arguments_of(spec).known
    if led in known:
        return led
    flagged = [gap.argument for gap in row.gaps] if row is not None else []
    return next((name for name in (*flagged, *notes) if name in known and name in notes), "")
