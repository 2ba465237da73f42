"""The timeline: one row a step."""

from __future__ import annotations

from vakra_tui.state.cells import cell
from vakra_tui.state.lines import Line, Role, Span
from vakra_tui.state.scene import Scene, StepRow

_OUTCOMES: dict[str, tuple[str, str, Role]] = {
    # outcome: glyph, word, role
    "ok": (">", "ok", "ok"),
    "failed": ("x", "err", "fail"),
    "refused": ("x", "refused", "fail"),
    "no answer": ("?", "no answer", "warn"),
    "answer": ("=", "", ""),
    "gave up": ("=", "gave up", "warn"),
    "message": ('"', "", "dim"),
    "pending": (".", "", "dim"),
}

_ACTORS = {"agent": "A", "human": "H", "recording": "R", "ground_truth": "G", "stepper": "\u00b7"}
"""One letter for who decided a step; the help screen spells them out."""


def step_line(row: StepRow, width: int) -> Line:
    """A row of the timeline: number, actor, glyph, tool, flags and outcome at the right edge."""
    glyph, word, role = _OUTCOMES[row.outcome]
    actor = _ACTORS.get(row.actor, "?")
    number = f"{row.number:>3}" if row.number else "  \u00b7"
    flags = step_flags(row)
    tail: list[Span] = []
    for text, flag_role in flags:
        tail += [Span(" "), Span(text, flag_role)]
    if word and not row.policy:
        tail += [Span(" "), Span(word, role)]
    tail_width = sum(len(span.text) for span in tail)
    name = name_of(row)
    room = max(width - 9 - tail_width, 4)
    shown = cell(name, room)
    pending = row.outcome == "pending"
    head: list[Span] = [
        Span(f"{number} ", "dim"),
        Span(f"{actor} ", "dim"),
        Span(f"{'!' if row.policy else glyph} ", "fail" if row.policy else role),
        Span(shown, "dim" if pending or row.number == 0 else ("strong" if row.outcome == "answer" else "")),
    ]
    return (*head, *tail)


def name_of(row: StepRow) -> str:
    """What the row is called: the tool, or what the step did."""
    if row.outcome == "answer":
        return "final answer"
    if row.outcome == "gave up":
        return "final answer"
    return row.tool


def step_flags(row: StepRow) -> list[tuple[str, Role]]:
    """Short marks of a row: policy, hops recovered, provenance, coercion, a response that differs from the file."""
    flags: list[tuple[str, Role]] = []
    if row.policy:
        flags.append(("POL", "fail"))
    if row.recovers:
        flags.append(("\u2713" + ",".join(str(hop) for hop in row.recovers), "ok"))
    if row.ungrounded:
        flags.append(("src?", "warn"))
    if row.coerced:
        flags.append(("~", "dim"))
    if row.response_differs:
        flags.append(("\u2260", "warn"))
    return flags


class StepsSource:
    """The rows of a scene as the timeline shows them."""

    def __init__(self, scene: Scene) -> None:
        self._rows = scene.rows
        self._width = 30

    def layout(self, width: int) -> int:
        self._width = width
        return len(self._rows)

    def line(self, index: int) -> Line:
        return step_line(self._rows[index], self._width)

    @property
    def cells(self) -> int:
        return 0
