"""The timeline: one row a step."""

from __future__ import annotations

from collections.abc import Sequence

from vakra_tui.state.cells import cell
from vakra_tui.state.lines import Line, Role, Span
from vakra_tui.state.panes.branch_tree import ACTORS, Twig, twig_line, twigs
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


def step_line(row: StepRow, width: int, *, paused: bool = False, broken: bool = False) -> Line:
    """A row of the timeline: number, actor, glyph, tool, flags and outcome at the right edge.

    ``broken`` is the step that made the deciding gate fail, whatever came of its call.
    """
    glyph, word, role = _OUTCOMES[row.outcome]
    if broken:
        glyph, word, role = glyph if row.outcome not in ("ok", "answer") else "\u2717", BROKEN, "fail"
    actor = ACTORS.get(row.actor, "?")
    number = f"{row.number:>3}" if row.number else "  \u00b7"
    number = "\u25a0" + (number[1:] if number[0] == " " else number) if paused else number
    name = name_of(row)
    before = len(number) + SIGN_CELLS
    tail = _tail(row, word, role, width - before - min(len(name), NAME_CELLS))
    room = max(width - before - sum(len(span.text) for span in tail), 4)
    quiet = row.outcome == "pending" or row.number == 0
    head: list[Span] = [
        Span(f"{number} ", "warn" if paused else "dim"),
        Span(f"{actor} ", "dim"),
        Span(f"{'!' if row.policy else glyph} ", "fail" if row.policy else role),
        Span(cell(name, room), "dim" if quiet else "strong" if row.outcome == "answer" else ""),
    ]
    return (*head, *tail)


DIFFERS = "\u0394"
BROKEN = "BROKEN"
"""In place of the outcome of the step that the line below the panes calls so."""

MARKED = "\u25c6"
NOTED = "\u270e"
"""Flags of a step: not as in the reference path; marked; with a note."""

SIGN_CELLS = 5
"""Cells between the number and the name: actor and outcome, and a blank around each."""

NAME_CELLS = 9
"""Cells of a name that are more telling than the least of its flags; the step's own title has the name whole."""

_DISPENSABLE = ("ok", "~", "\u2260", "src?", DIFFERS, "err", "refused")
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
    """Short marks of a row: what a person left, policy, hops recovered, how it stands to the reference, provenance,
    coercion, a response that differs from the file, drift, and how many branches leave here.
    """
    flags: list[tuple[str, Role]] = []
    if row.marked:
        flags.append((MARKED, "accent"))
    if row.remarks:
        flags.append((NOTED, "accent"))
    if row.policy:
        flags.append(("POL", "fail"))
    if row.recovers and not row.policy:
        flags.append(("\u2713" + ranges(row.recovers), "ok"))
    if row.gaps or row.beside:
        flags.append((DIFFERS, "warn"))
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


def ranges(numbers: Sequence[int]) -> str:
    """``1-3,5`` for 1, 2, 3, 5; the numbers ascend."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs]
    return ",".join(parts)


class StepsSource:
    """The rows of a scene as the timeline shows them, other branches drawn where they leave this one."""

    def __init__(self, scene: Scene) -> None:
        self._rows = scene.rows
        self._paused = scene.pause.number - 1 if scene.pause is not None else None
        verdict = scene.verdict
        failed = verdict is not None and verdict.status == "scored" and verdict.passed is False and not scene.stale
        self._broken = scene.first_trouble if failed else None
        self._width = 30
        self._entries = _entries(scene)
        self._places = {entry: row for row, entry in enumerate(self._entries or ()) if isinstance(entry, int)}

    def layout(self, width: int) -> int:
        self._width = width
        return len(self._rows) if self._entries is None else len(self._entries)

    def line(self, index: int) -> Line:
        entry = index if self._entries is None else self._entries[index]
        if isinstance(entry, Twig):
            return twig_line(entry)
        return step_line(self._rows[entry], self._width, paused=entry == self._paused, broken=entry == self._broken)

    @property
    def cells(self) -> int:
        return 0

    def step_of(self, index: int) -> int:
        """Index of the step in a row of the list; for a branch that of the step after which it leaves."""
        if self._entries is None or not 0 <= index < len(self._entries):
            return index
        entry = self._entries[index]
        return max(entry.after - 1, 0) if isinstance(entry, Twig) else entry

    def branch_of(self, index: int) -> int | None:
        """Number of the branch in a row of the list; None for a step."""
        if self._entries is None or not 0 <= index < len(self._entries):
            return None
        entry = self._entries[index]
        return entry.branch.number if isinstance(entry, Twig) else None

    def place_of(self, step: int) -> int:
        """The row of the list in which a step stands."""
        return step if self._entries is None else self._places.get(step, 0)


def _entries(scene: Scene) -> list[int | Twig] | None:
    """Steps and branches in the order of the list; None where there is one branch only."""
    if len(scene.tree) < 2:
        return None
    after: dict[int, list[Twig]] = {}
    for twig in twigs(scene.tree, scene.on_branch):
        after.setdefault(min(twig.after, len(scene.rows)), []).append(twig)
    entries: list[int | Twig] = [*after.get(0, ())]
    for index in range(len(scene.rows)):
        entries += [index, *after.get(index + 1, ())]
    return entries
