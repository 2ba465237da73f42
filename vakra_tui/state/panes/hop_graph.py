"""Rows of text with the edges of a graph drawn at their left: values leave one row and arrive at later ones.

An edge has a lane of two cells for itself; short edges run next to the text. Where a horizontal piece crosses a lane of
another edge, that lane is drawn through it, so that a crossing is never read as a junction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vakra_tui.state.lines import Line, Span
from vakra_tui.wrap import wrap

LANE_CELLS = 2
NARROW = 40
"""Cells of the pane below which only two lanes are drawn."""

LANES_NARROW, LANES_WIDE = 2, 5


@dataclass(frozen=True)
class GraphRow:
    """One row of text. ``gives``: values of this node leave here; ``takes``: those of these nodes arrive here.

    ``node`` is the number of the node that the row belongs to.
    """

    content: Line
    gives: int = 0
    takes: tuple[int, ...] = ()
    node: int = 0


@dataclass(frozen=True)
class _Edge:
    """The lane of one node's values, from the row that gives them to the last that takes them."""

    start: int
    taps: tuple[int, ...]
    lane: int

    @property
    def end(self) -> int:
        return self.taps[-1]


class HopGraph:
    """Head lines, then rows with their edges; a ``LineSource``.

    ``marked`` is the node that is pointed at: its rows have a bar at their left. ``row_of`` tells where a node begins.
    """

    def __init__(self, head: Sequence[Line], rows: Sequence[GraphRow]) -> None:
        self._head = tuple(head)
        self._rows = tuple(rows)
        self._lines: list[Line] = []
        self._begins: dict[int, int] = {}
        self._nodes: list[int] = []
        self._width = -1
        self._shown_mark = 0
        self.marked = 0

    def layout(self, width: int) -> int:
        if width != self._width or self.marked != self._shown_mark:
            self._width = width
            self._shown_mark = self.marked
            self._lay_out(max(width, 1))
        return len(self._lines)

    def line(self, index: int) -> Line:
        return self._lines[index]

    @property
    def cells(self) -> int:
        return 0

    @property
    def lines(self) -> tuple[Line, ...]:
        """The rows as they would be without edges."""
        return (*self._head, *(row.content for row in self._rows))

    def row_of(self, node: int) -> int | None:
        """The index of the first line of a node, at the width last laid out."""
        return self._begins.get(node)

    def end_of(self, node: int) -> int | None:
        """The index of the last line of a node, at the width last laid out."""
        return next((index for index in reversed(range(len(self._nodes))) if self._nodes[index] == node), None)

    def node_at(self, index: int) -> int:
        """The node to which a line belongs, 0 where it belongs to none."""
        return self._nodes[index] if 0 <= index < len(self._nodes) else 0

    def _lay_out(self, width: int) -> None:
        self._lines = [part for content in self._head for part in wrap(content, width)]
        self._nodes = [0] * len(self._lines)
        self._begins = {}
        edges = _edges(self._rows, LANES_WIDE if width >= NARROW else LANES_NARROW)
        lanes = 1 + max((edge.lane for edge in edges), default=-1)
        gutter = lanes * LANE_CELLS + 1
        for index, row in enumerate(self._rows):
            if row.node:
                self._begins.setdefault(row.node, len(self._lines))
            bar = self.marked and row.node == self.marked
            first, rest = _gutter(edges, lanes, index), _passing(edges, lanes, index)
            for number, part in enumerate(wrap(row.content, max(width - gutter - 1, 8)) if row.content else ((),)):
                drawn = first if number == 0 else rest
                lead = Span("\u2503" if bar else " ", "accent" if bar else "")
                self._lines.append((lead, Span(drawn, "dim"), *part))
                self._nodes.append(row.node)


def _edges(rows: Sequence[GraphRow], most: int) -> list[_Edge]:
    """The edges that find a lane; short ones first, so that they run next to the text."""
    spans: list[tuple[int, tuple[int, ...]]] = []
    for start, row in enumerate(rows):
        if row.gives:
            taps = tuple(index for index in range(start + 1, len(rows)) if row.gives in rows[index].takes)
            if taps:
                spans.append((start, taps))
    spans.sort(key=lambda span: (span[1][-1] - span[0], span[0]))
    edges: list[_Edge] = []
    for start, taps in spans:
        for lane in range(most):
            taken = (edge for edge in edges if edge.lane == lane)
            if all(edge.end < start or taps[-1] < edge.start for edge in taken):
                edges.append(_Edge(start, taps, lane))
                break
    return edges


def _gutter(edges: Sequence[_Edge], lanes: int, index: int) -> str:
    """The cells left of the first line of a row; lane 0 stands next to the text."""
    cells = ""
    reached = False
    arrives = False
    for lane in reversed(range(lanes)):
        edge = next((edge for edge in edges if edge.lane == lane and edge.start <= index <= edge.end), None)
        if edge is None:
            cells += "\u2500\u2500" if reached else "  "
            continue
        if index == edge.start:
            sign = "\u252c" if reached else "\u256d"
        elif index == edge.end:
            sign = "\u2534" if reached else "\u2570"
        elif index in edge.taps:
            sign = "\u253c" if reached else "\u251c"
        else:
            cells += "\u2502\u2500" if reached else "\u2502 "
            continue
        reached = True
        arrives = arrives or index != edge.start
        cells += sign + "\u2500"
    return cells + ("\u25b8" if arrives else "\u2500" if reached else " ")


def _passing(edges: Sequence[_Edge], lanes: int, index: int) -> str:
    """The cells left of the further lines of a row: lanes that go on below it."""
    cells = ""
    for lane in reversed(range(lanes)):
        goes_on = any(edge.lane == lane and edge.start <= index < edge.end for edge in edges)
        cells += "\u2502 " if goes_on else "  "
    return cells + " "
