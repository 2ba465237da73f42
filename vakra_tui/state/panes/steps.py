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


def step_line(row: StepRow, width: int, *, paused: bool = False) -> Line:
    """A row of the timeline: number, actor, glyph, tool, flags and outcome at the right edge."""
    glyph, word, role = _OUTCOMES[row.outcome]
    actor = _ACTORS.get(row.actor, "?")
    number = f"{row.number:>3}" if row.number else "  \u00b7"
    number = f"\u25a0{number[1:]}" if paused else number
    name = name_of(row)
    tail = _tail(row, word, role, width - NUMBER_CELLS - min(len(name), NAME_CELLS))
    room = max(width - NUMBER_CELLS - sum(len(span.text) for span in tail), 4)
    quiet = row.outcome == "pending" or row.number == 0
    head: list[Span] = [
        Span(f"{number} ", "warn" if paused else "dim"),
        Span(f"{actor} ", "dim"),
        Span(f"{'!' if row.policy else glyph} ", "fail" if row.policy else role),
        Span(cell(name, room), "dim" if quiet else "strong" if row.outcome == "answer" else ""),
    ]
    return (*head, *tail)


NUMBER_CELLS = 8
"""Cells before the name: number, actor and outcome."""

NAME_CELLS = 18
"""Cells of a name that are more telling than the least of its flags."""

_DISPENSABLE = ("ok", "~", "\u2260", "src?")
"""Flags that give way to the name, the first ones first: the outcome also has its own sign."""


def _tail(row: StepRow, word: str, role: Role, room: int) -> list[Span]:
    """The flags at the right edge, as many as leave the name readable."""
    flags = step_flags(row)
    if word and not row.policy:
        flags.append((word, role))
    for least in _DISPENSABLE:
        if sum(len(text) + 1 for text, _ in flags) <= room:
            break
        flags = [flag for flag in flags if flag[0] != least]
    tail: list[Span] = []
    for text, flag_role in flags:
        tail += [Span(" "), Span(text, flag_role)]
    return tail


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
    if row.drifted:
        flags.append(("drift", "warn"))
    if row.forks:
        flags.append((f"\u2442{len(row.forks)}", "accent"))
    return flags


class StepsSource:
    """The rows of a scene as the timeline shows them."""

    def __init__(self, scene: Scene) -> None:
        self._rows = scene.rows
        self._paused = scene.pause.number - 1 if scene.pause is not None else None
        self._width = 30

    def layout(self, width: int) -> int:
        self._width = width
        return len(self._rows)

    def line(self, index: int) -> Line:
        return step_line(self._rows[index], self._width, paused=index == self._paused)

    @property
    def cells(self) -> int:
        return 0
