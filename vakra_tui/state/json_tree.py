"""A decoded JSON value as a foldable tree of rows; only the rows in view are turned into text.

What is folded costs nothing: an unfolded container holds its unfolded members alone, so that unfolding a list of a
hundred thousand items, finding a row and drawing it cost as much as for a list of ten.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from toolenv.model import Json
from vakra_tui.state.lines import Line, Span
from vakra_tui.text import count_words, one_line

if TYPE_CHECKING:
    from vakra_tui.state.search import Needle

OPEN_AT_FIRST = 400
"""Rows that are unfolded when a value is first shown, breadth first; the root is unfolded in any case."""

LONGEST_SCALAR = 2000

SHORT = 60
"""Characters of a string that fit beside its key in most panes."""

LEAD = 16
"""Characters shown before a match in a longer string."""

STOP_EVERY = 2000
"""Members between two looks at whether a search is still wanted."""

Path = tuple[int, ...]
"""Positions of the members that lead from the root to a value."""


def scalar_line(value: Json, limit: int = LONGEST_SCALAR) -> Span:
    """A scalar as JSON writes it, at most ``limit`` characters of a string."""
    if isinstance(value, str):
        if len(value) > limit:
            return Span(json.dumps(value[:limit], ensure_ascii=False)[:-1] + "\u2026", "string")
        return Span(json.dumps(value, ensure_ascii=False), "string")
    if value is None or isinstance(value, bool):
        return Span(json.dumps(value), "literal")
    if isinstance(value, int | float):
        return Span(json.dumps(value), "number")
    return Span(one_line(json.dumps(value, ensure_ascii=False, default=str), limit), "code")


class Unfolded:
    """An unfolded container: its members by position, and which of them are unfolded in turn."""

    __slots__ = ("inner", "members", "order", "starts", "value")

    def __init__(self, value: Json) -> None:
        self.value = value
        self.members = list(value) if isinstance(value, dict) else None
        self.inner: dict[int, Unfolded] = {}
        self.order: list[int] = []
        self.starts: list[int] | None = []

    @property
    def rows(self) -> int:
        """Rows below the container's own."""
        starts = self.row_starts()
        if not starts:
            return len(self.value)
        last = self.order[-1]
        return starts[-1] + 1 + self.inner[last].rows + len(self.value) - last - 1

    def row_starts(self) -> list[int]:
        """The row of each unfolded member, counted from the container's first member."""
        if self.starts is None:
            self.starts = []
            more = 0
            for position in self.order:
                self.starts.append(position + more)
                more += self.inner[position].rows
        return self.starts

    def member(self, position: int) -> tuple[str | int, Json]:
        """Key or index of a member, and its value."""
        if self.members is None:
            return position, self.value[position]
        key = self.members[position]
        return key, self.value[key]

    def unfold(self, position: int) -> Unfolded:
        """Unfold a member, which is a container that is not empty."""
        found = self.inner.get(position)
        if found is None:
            found = self.inner[position] = Unfolded(self.member(position)[1])
            self.order.insert(bisect_left(self.order, position), position)
        self.starts = None
        return found

    def fold(self, position: int) -> None:
        del self.inner[position]
        self.order.remove(position)
        self.starts = None


class Row(NamedTuple):
    """One visible row: where it is, its key (None for the root), its value, and whether it is unfolded."""

    path: Path
    key: str | int | None
    value: Json
    open: bool


class JsonTree:
    """The visible rows of a value; rows are counted from 0, which is the root."""

    def __init__(self, value: Json) -> None:
        self.value = value
        self._root = Unfolded(value) if isinstance(value, dict | list) and value else None
        self._open = self._root is not None
        if self._root is not None:
            _unfold_first(self._root)

    def layout(self, width: int) -> int:
        return 1 + (self._root.rows if self._root is not None and self._open else 0)

    @property
    def cells(self) -> int:
        return 0

    def row(self, index: int) -> Row:
        """What stands at a row; work proportional to its depth."""
        node = self._root
        if index == 0 or node is None:
            return Row((), None, self.value, self._open)
        rest = index - 1
        path: list[int] = []
        while True:
            starts = node.row_starts()
            place = bisect_right(starts, rest) - 1
            if place < 0:
                position, opened = rest, False
                break
            position = node.order[place]
            behind = rest - starts[place]
            if behind == 0:
                opened = True
                break
            inner = node.inner[position]
            if behind <= inner.rows:
                path.append(position)
                node, rest = inner, behind - 1
                continue
            position, opened = position + behind - inner.rows, False
            break
        key, value = node.member(position)
        return Row((*path, position), key, value, opened)

    def row_of(self, path: Path) -> int:
        """The row of a member, its containers unfolded as far as needed."""
        node = self._root
        if node is None or not path:
            return 0
        self._open = True
        nodes = [node]
        for position in path[:-1]:
            node = node.unfold(position)
            nodes.append(node)
        self._counted_anew(nodes)
        row = 1
        for node, position in zip(nodes, path, strict=True):
            starts = node.row_starts()
            place = bisect_left(node.order, position) - 1
            if place >= 0:
                before = node.order[place]
                row += starts[place] + node.inner[before].rows + position - before
            else:
                row += position
            row += 1
        return row - 1

    def place_at(self, row: int) -> Path:
        """The path of a row."""
        return self.row(row).path

    def toggle(self, index: int) -> None:
        """Fold or unfold the container of a row; a scalar stays as it is."""
        row = self.row(index)
        self.set_open(index, not row.open)

    def set_open(self, index: int, opened: bool) -> bool:
        """Fold or unfold the container of a row; False where nothing changes."""
        row = self.row(index)
        if not isinstance(row.value, dict | list) or not row.value or row.open == opened:
            return False
        if not row.path:
            self._open = opened
            return True
        nodes = self._nodes(row.path)
        if opened:
            nodes[-1].unfold(row.path[-1])
        else:
            nodes[-1].fold(row.path[-1])
        self._counted_anew(nodes)
        return True

    def parent_of(self, index: int) -> int:
        """The row of the container that holds a row; 0 for the root."""
        path = self.row(index).path
        return self.row_of(path[:-1]) if path else 0

    def _nodes(self, path: Path) -> list[Unfolded]:
        """The unfolded containers on the way to a visible row."""
        assert self._root is not None
        nodes = [self._root]
        for position in path[:-1]:
            nodes.append(nodes[-1].inner[position])
        return nodes

    def _counted_anew(self, nodes: list[Unfolded]) -> None:
        for node in nodes:
            node.starts = None

    def line(self, index: int) -> Line:
        return self._line(index, None)

    def line_found(self, index: int, needle: Needle) -> Line:
        """The line at ``index``; a long string is begun shortly before its first match."""
        return self._line(index, needle)

    def _line(self, index: int, needle: Needle | None) -> Line:
        row = self.row(index)
        parts: list[Span] = [Span("  " * min(len(row.path), 40))]
        size = len(row.value) if isinstance(row.value, dict | list) else None
        if size:
            parts.append(Span("\u25be " if row.open else "\u25b8 ", "dim"))
        else:
            parts.append(Span("  "))
        if isinstance(row.key, str):
            parts += [Span(one_line(row.key, 200), "key"), Span(": ", "punct")]
        elif row.key is not None:
            parts.append(Span(f"{row.key}: ", "dim"))
        if size is None:
            parts.append(scalar_line(_from_match(row.value, needle) if needle is not None else row.value))
        else:
            brackets = "{}" if isinstance(row.value, dict) else "[]"
            if not size:
                parts.append(Span(brackets, "punct"))
            else:
                noun = "key" if isinstance(row.value, dict) else "item"
                parts.append(Span(f"{brackets[0]}\u2026{brackets[1]} " if not row.open else "", "punct"))
                parts.append(Span(count_words(size, noun), "dim"))
        return tuple(parts)

    def find(self, needle: Needle, stop: Callable[[], bool]) -> list[Path]:
        """Paths of all values whose key or scalar text matches, folded ones too, in the order of their rows.

        Reads the value alone, so it may run in a worker while the tree is shown. Ends early when ``stop`` says so.
        """
        found: list[Path] = []
        if not isinstance(self.value, dict | list):
            return [()] if needle.first(_text(self.value)) >= 0 else []
        stack: list[tuple[Path, Iterator[tuple[int, tuple[str, Json]]]]] = [((), _members(self.value))]
        seen = 0
        while stack:
            path, members = stack[-1]
            for position, (key, value) in members:
                seen += 1
                if seen % STOP_EVERY == 0 and stop():
                    return found
                nested = isinstance(value, dict | list)
                if (key and needle.first(key) >= 0) or (not nested and needle.first(_text(value)) >= 0):
                    found.append((*path, position))
                if nested and value:
                    stack.append(((*path, position), _members(value)))
                    break
            else:
                stack.pop()
        return found


def _from_match(value: Json, needle: Needle) -> Json:
    """A string, its beginning left out where its first match would not be seen."""
    if not isinstance(value, str) or len(value) <= SHORT:
        return value
    start = needle.first(value)
    return "\u2026" + value[start - LEAD :] if start > LEAD + len(needle.text) else value


def _members(value: Json) -> Iterator[tuple[int, tuple[str, Json]]]:
    return enumerate(value.items() if isinstance(value, dict) else (("", inner) for inner in value))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _unfold_first(root: Unfolded) -> None:
    """Unfold breadth first while the whole stays small."""
    shown = 1 + len(root.value)
    queue: deque[tuple[Unfolded, ...]] = deque([(root,)] if shown <= OPEN_AT_FIRST else ())
    while queue:
        way = queue.popleft()
        node = way[-1]
        for position in range(len(node.value)):
            value = node.member(position)[1]
            if not isinstance(value, dict | list) or not value or shown + len(value) > OPEN_AT_FIRST:
                continue
            shown += len(value)
            queue.append((*way, node.unfold(position)))
        for each in way:
            each.starts = None
