"""Two trajectories of one instance beside each other: rows of aligned steps, of hops and of gates, and what differs.

Pure; made in the engine thread from two scenes. Signs and words say what differs, colours only repeat it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from eval.model import Ruling, Verdict
from eval.scored import GATES, gate_rulings
from sessions.comparison import Handles, Pair, aligned, argument_differences, handles, responses
from sessions.trajectory import CallTool, Step
from vakra_tui.state.cells import cell
from vakra_tui.state.lines import Line, Role, Span, line
from vakra_tui.state.panes.steps import name_of
from vakra_tui.state.panes.truth import short_json
from vakra_tui.state.panes.waterfall import outcome_span
from vakra_tui.state.scene import HopRow, Scene, StepRow
from vakra_tui.text import one_line

Where = Literal["left", "right"]
State = Literal["same", "arguments", "answer", "response", "only_left", "only_right", "differs", "unknown"]

SIGNS: dict[State, tuple[str, str, Role]] = {
    "same": ("=", "same", "dim"),
    "arguments": ("\u2260", "other arguments", "warn"),
    "answer": ("\u2260", "other answer", "warn"),
    "response": ("~", "other response", "warn"),
    "only_left": ("<", "only left", "removed"),
    "only_right": (">", "only right", "added"),
    "differs": ("\u2260", "differs", "warn"),
    "unknown": ("?", "not known", "dim"),
}
"""State of a row -> sign, word, role."""

GATE_WORDS = {
    "policy": "policy",
    "tool_sequence": "tool sequence",
    "consistent": "answer agrees",
    "grounded": "answer grounded",
}

PAPER = "paper"
"""The profile by which the debugger itself judges."""

WIDE = 100
"""Cells from which on both sides have a column of their own."""

SIDES: tuple[Where, Where] = ("left", "right")

STATE_CELLS = 18
"""Cells of sign and word."""


@dataclass(frozen=True)
class Side:
    """One side: a run's prediction or a branch. ``target`` is the run's name or the branch's number."""

    name: str
    kind: Literal["run", "branch"]
    target: str
    scene: Scene

    @property
    def steps(self) -> tuple[Step, ...]:
        """Its executed steps; ``scene.rows`` begins with one row for each."""
        return tuple(row.step for row in self.scene.rows if row.step is not None)

    @property
    def listed(self) -> Verdict | None:
        """What the list knows of this side by the profile that is in use: of a run's prediction as it was recorded."""
        recorded = self.kind == "run" or (self.target == "0" and self.scene.prediction is not None)
        return self.scene.listed if recorded else None


class Item(NamedTuple):
    """One row. ``left`` and ``right`` are indexes into the rows of the sides' scenes, None where there is no step.

    ``place`` is the index of a hop in the reference path: hops may be numbered with gaps.
    """

    kind: Literal["step", "hop", "gate", "heading"]
    state: State
    left: int | None = None
    right: int | None = None
    name: str = ""
    note: str = ""
    pair: Pair | None = None
    place: int = 0

    @property
    def differs(self) -> bool:
        return self.kind != "heading" and self.state not in ("same", "unknown")


@dataclass(frozen=True)
class Compared:
    """Everything that the comparison shows. Verdicts are those of ``profile``; ``wanted`` is the one in use.

    They are not the same where the one in use did not score both sides: two profiles are never set against each other.
    """

    left: Side
    right: Side
    items: tuple[Item, ...]
    handles: Handles
    profile: str = PAPER
    wanted: str = PAPER

    def side(self, where: Where) -> Side:
        return self.left if where == "left" else self.right

    def verdict_of(self, side: Side) -> Verdict | None:
        """The verdict of a side that is shown."""
        return verdict_by(side, self.profile)

    def count(self, state: State) -> int:
        """How many steps are in a state."""
        return sum(item.kind == "step" and item.state == state for item in self.items)

    @property
    def differing(self) -> int:
        """How many rows differ, hops and gates included."""
        return sum(item.differs for item in self.items)


def compared(left: Side, right: Side) -> Compared:
    """Align two sides and find what differs. Reads responses, so for long ones it belongs into the engine thread."""
    domain = left.scene.instance.domain
    known = handles(left.steps, right.steps, domain)
    steps = [_step_item(pair, left, right, known) for pair in aligned(left.steps, right.steps, domain)]
    items = [*steps]
    wanted = left.scene.profile
    profile = wanted if left.listed is not None and right.listed is not None else PAPER
    gates = _gates(verdict_by(left, profile), verdict_by(right, profile))
    for heading, rows in (("hops of the reference path", _hops(left, right)), (f"gates, profile {profile}", gates)):
        if rows:
            items += [Item("heading", "same", name=heading), *rows]
    return Compared(left, right, tuple(items), known, profile, wanted)


def verdict_by(side: Side, profile: str) -> Verdict | None:
    """The verdict of a side by a profile, None where it has none."""
    return side.scene.verdict if profile == PAPER else side.listed


def _step_item(pair: Pair, left: Side, right: Side, known: Handles) -> Item:
    one = left.scene.rows[pair.left] if pair.left is not None else None
    other = right.scene.rows[pair.right] if pair.right is not None else None
    row = one if one is not None else other
    assert row is not None, "a pair has a step"
    state: State
    note = ""
    if one is None or other is None or one.step is None or other.step is None:
        state = "only_left" if other is None else "only_right"
        if pair.elsewhere is not None:
            there = (right if other is None else left).scene.rows[pair.elsewhere]
            note = f"same call as step {there.number}" if pair.likewise else f"other arguments in step {there.number}"
    elif pair.relation == "changed":
        call = isinstance(one.step.decision, CallTool)
        state = "arguments" if call else "answer"
        paths = [each.path for each in argument_differences(one.step, other.step, known).listed] if call else []
        note = ", ".join(path or "all" for path in paths[:4]) + (", \u2026" if len(paths) > 4 else "")
    else:
        state = "response" if responses(one.step, other.step, known) == "differs" else "same"
    return Item("step", state, pair.left, pair.right, name_of(row), note, pair)


def _hops(left: Side, right: Side) -> list[Item]:
    """The hops of the reference path by who recovered them; none where it is hidden or could not be executed."""
    lefts, rights = left.scene.truth.hops, right.scene.truth.hops
    if not (left.scene.reference_shown and right.scene.reference_shown) or len(lefts) != len(rights):
        return []
    found = []
    for place, (one, other) in enumerate(zip(lefts, rights, strict=True)):
        state: State = "unknown"
        if one.known and other.known:
            state = "same" if _counts(one) == _counts(other) else "differs"
        steps = _recovering(left.scene, one), _recovering(right.scene, other)
        name = f"hop {one.number} {one.source} {one.call.name}"
        found.append(Item("hop", state, *steps, name=name, place=place))
    return found


def _counts(hop: HopRow) -> bool:
    """Whether a hop was recovered by a step that the policy allows."""
    return hop.recovered_at is not None and not hop.forbidden


def _recovering(scene: Scene, hop: HopRow) -> int | None:
    """Index of the row that recovered a hop."""
    return next((index for index, row in enumerate(scene.rows) if row.number == hop.recovered_at), None)


def _gates(left: Verdict | None, right: Verdict | None) -> list[Item]:
    """The gates of both verdicts, the end of the waterfall last."""
    if left is None or right is None:
        return []
    ruled = gate_rulings(left), gate_rulings(right)
    found = []
    for gate in GATES:
        one, other = (rulings.get(gate) for rulings in ruled)
        if one is None and other is None:
            continue
        same = (one.outcome if one else None) == (other.outcome if other else None)
        found.append(Item("gate", "same" if same else "differs", name=gate))
    same = outcome_words(left) == outcome_words(right)
    found.append(Item("gate", "same" if same else "differs", name="verdict"))
    return found


def outcome_words(verdict: Verdict) -> str:
    """``passed``, or what stopped it."""
    if verdict.status != "scored":
        return f"{verdict.status}{f': {verdict.reason}' if verdict.reason else ''}"
    if verdict.passed is None:
        return "undecided"
    if verdict.passed:
        return "passed"
    return f"failed: {GATE_WORDS.get(verdict.failed_stage or '', (verdict.failed_stage or '').replace('_', ' '))}"


# --- rows as lines ---------------------------------------------------------------------------------------------------


class ComparedRows:
    """The rows of a comparison as a line source; ``only`` leaves out what is the same."""

    def __init__(self, found: Compared, *, only: bool = False) -> None:
        self.found = found
        self.items: Sequence[Item] = [item for item in found.items if item.differs] if only else found.items
        self._width = 80

    def layout(self, width: int) -> int:
        self._width = width
        return len(self.items)

    def line(self, index: int) -> Line:
        return item_line(self.items[index], self.found, self._width)

    @property
    def cells(self) -> int:
        return 0

    def difference_after(self, index: int, step: int) -> int | None:
        """Index of the next (``step`` 1) or previous (-1) row that differs, None where there is none."""
        place = index + step
        while 0 <= place < len(self.items):
            if self.items[place].differs:
                return place
            place += step
        return None


def item_line(item: Item, found: Compared, width: int) -> Line:
    """One row: what differs, then both sides in columns, or in few cells one after the other."""
    if item.kind == "heading":
        return line((item.name, "label"))
    sign, word, role = SIGNS[item.state]
    head = Span(cell(f"{sign} {word}", STATE_CELLS), role)
    wide = width >= WIDE
    left, right = (_side_words(item, found, where, named=wide and where == "left", wide=wide) for where in SIDES)
    room = width - STATE_CELLS
    if wide:
        half = (room - 3) // 2
        return (head, *_padded(left, half), Span(" \u2502 ", "bar"), *_padded(right, half))
    if item.kind == "step":
        return (head, *_padded(_narrow_step(item, found), room))
    name = 12 if item.kind == "hop" else 16
    each = max((room - name - 1) // 2, 6)
    label = " ".join(item.name.split(" ")[:3]) if item.kind == "hop" else gate_words(item.name)
    return (head, Span(cell(label, name), "label"), *_padded(left, each), Span(" "), *_padded(right, each))


def _narrow_step(item: Item, found: Compared) -> Line:
    """``3|2  get_city  name``: numbers on both sides, tool, what differs."""
    numbers = []
    for where, index in (("left", item.left), ("right", item.right)):
        row = found.side(where).scene.rows[index] if index is not None else None  # type: ignore[arg-type]
        numbers.append("-" if row is None else _number(row))
    text = f"{numbers[0]:>3}|{numbers[1]:<3} "
    return line((text, "dim"), (item.name, "strong"), (f"  {item.note}" if item.note else "", "warn"))


def _padded(content: Line, cells: int) -> Line:
    from rich.cells import cell_len

    from vakra_tui.wrap import crop

    cut = crop(content, cells)
    return (*cut, Span(" " * max(cells - sum(cell_len(span.text) for span in cut), 0)))


def _side_words(item: Item, found: Compared, where: Where, *, named: bool, wide: bool) -> Line:
    """What one side has in a row, after the name of the hop or the gate where it is ``named``."""
    side = found.side(where)
    if item.kind == "hop":
        hop = side.scene.truth.hops[item.place]
        words, role = hop_words(hop, brief=not wide)
        return line((f"hop {hop.number} {hop.source} " if named else "", "label"), (words, role))
    if item.kind == "gate":
        return _gate_words(item.name, found.verdict_of(side), named=named)
    index = item.left if where == "left" else item.right
    if index is None:
        return line((item.note, "dim"))
    return step_words(side.scene.rows[index])


def hop_words(hop: HopRow, *, brief: bool = False) -> tuple[str, Role]:
    """Whether and where a hop was recovered; ``brief`` in at most 20 cells."""
    if hop.failed:
        return "! fails itself", "fail"
    if not hop.known:
        return "not reached yet", "dim"
    if hop.forbidden:
        forbidden = f"! @{hop.recovered_at} breaks policy" if brief else ""
        return forbidden or f"! only by step {hop.recovered_at}, which breaks the policy", "fail"
    if hop.recovered_at is None:
        return "\u2717 MISSING", "fail"
    where = f"@{hop.recovered_at}" if hop.recovered_at else "by the opening"
    return f"\u2713 {where}" if brief else f"\u2713 recovered {where}", "ok"


def _gate_words(gate: str, verdict: Verdict | None, *, named: bool) -> Line:
    assert verdict is not None, "gates are compared where both sides have a verdict"
    label = Span(cell(gate_words(gate), 17) if named else "", "label")
    if gate == "verdict":
        role: Role = "ok" if verdict.passed else "warn" if verdict.passed is None else "fail"
        return (label, Span(outcome_words(verdict), role))
    ruling = gate_rulings(verdict).get(gate)
    if ruling is None:
        return (label, outcome_span("skipped"))
    return (label, outcome_span(ruling.outcome), *_by(ruling))


def _by(ruling: Ruling) -> tuple[Span, ...]:
    return (Span(f" by {ruling.decided_by}", "dim"),) if ruling.decided_by else ()


def gate_words(gate: str) -> str:
    """A gate's name, or ``verdict``."""
    return GATE_WORDS.get(gate, gate)


def step_words(row: StepRow) -> Line:
    """One step in one line: number, flags, tool and arguments, or the answer."""
    parts = [Span(f"{_number(row):>3} ", "dim")]
    if row.policy:
        parts.append(Span("! POL ", "fail"))
    elif row.outcome in ("failed", "refused", "no answer"):
        parts.append(Span(f"x {row.outcome} ", "fail"))
    parts.append(Span(name_of(row), "strong"))
    if row.call is not None:
        told = ", ".join(f"{name}={short_json(value, 24)}" for name, value in row.call.arguments.items())
        parts.append(Span(f"({told})", "dim"))
    elif row.answer is not None:
        parts.append(Span(f"  {one_line(row.answer, 200)}", ""))
    if row.recovers and not row.policy:
        parts.append(Span("  \u2713" + ",".join(str(hop) for hop in row.recovers), "ok"))
    return tuple(parts)


def _number(row: StepRow) -> str:
    return str(row.number) if row.number else "\u00b7"
