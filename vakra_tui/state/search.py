"""Searching inside what a pane shows: a needle, its places in a source of lines, and the marks on the lines in view.

A source that can be searched has ``find``, which reads all of its text and may run in a worker, and ``row_of``, which
tells where a place is shown, unfolding what hides it. Places mean something to their own source alone.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

from vakra_tui.state.lines import Line, LineSource, Role, Span, plain
from vakra_tui.wrap import clean

WINDOW = 65_536
"""Characters that are searched in one go: the interpreter is not given to other threads meanwhile."""

LEAD = 24
"""Characters shown before a match in a line that is too long to be shown from its beginning."""

Stop = Callable[[], bool]


class Needle:
    """What is looked for, whatever its case; a match is always as long as the needle."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._pattern = re.compile(re.escape(text), re.IGNORECASE)

    def first(self, text: str) -> int:
        """Where the first match begins, -1 without one."""
        if len(text) <= WINDOW:
            match = self._pattern.search(text)
            return match.start() if match is not None else -1
        return next(self.starts(text), -1)

    def starts(self, text: str, stop: Stop | None = None) -> Iterator[int]:
        """Where the matches begin, none overlapping; ends early when ``stop`` says so."""
        length = len(self.text)
        place = 0
        while length and place < len(text):
            end = place + WINDOW
            if stop is not None and stop():
                return
            behind = end
            for match in self._pattern.finditer(text, place, end + length - 1):
                yield match.start()
                behind = max(end, match.end())
            place = behind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Needle) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


@runtime_checkable
class Placed(Protocol):
    """Knows where the places of a search are shown; places sort in the order of their rows."""

    def row_of(self, place: Any) -> int:
        """The row that shows a place, for the width last laid out; what hides it is unfolded."""
        ...

    def place_at(self, row: int) -> Any:
        """The place at the beginning of a row."""
        ...


@runtime_checkable
class Searchable(Placed, Protocol):
    """A source of lines that can be searched in a worker."""

    def find(self, needle: Needle, stop: Stop) -> Sequence[Any]:
        """All places in the order of their rows; the part found so far when ``stop`` says so."""
        ...


class LineByLine:
    """Makes any source of lines searchable by the text of its ``count`` rows; meant for sources of short lines."""

    def __init__(self, source: LineSource, count: int) -> None:
        self._source = source
        self._count = count

    def find(self, needle: Needle, stop: Stop) -> list[int]:
        found: list[int] = []
        for row in range(self._count):
            if row % 500 == 0 and stop():
                break
            if needle.first(plain(clean(self._source.line(row)))) >= 0:
                found.append(row)
        return found

    def row_of(self, place: int) -> int:
        return place

    def place_at(self, row: int) -> int:
        return row


class Search:
    """The places of one needle in one source, and the one that is looked at. ``placed`` knows where they are shown."""

    def __init__(self, needle: Needle, source: LineSource, placed: Placed, places: Sequence[Any]) -> None:
        self.needle = needle
        self.source = source
        self.placed = placed
        self.places = places
        self.at = 0

    @property
    def words(self) -> str:
        """``“dixie”: 3 of 41``."""
        if not self.places:
            return f"\u201c{self.needle.text}\u201d: no match"
        return f"\u201c{self.needle.text}\u201d: {self.at + 1:,} of {len(self.places):,}"

    def row(self) -> int:
        """The row of the place that is looked at, -1 without one."""
        return self.placed.row_of(self.places[self.at]) if self.places else -1

    def go(self, steps: int) -> None:
        """On to another place, round the end."""
        if self.places:
            self.at = (self.at + steps) % len(self.places)

    def go_behind(self, row: int) -> None:
        """To the first place at or behind a row, the first of all without one."""
        if self.places:
            self.at = bisect_left(self.places, self.placed.place_at(row)) % len(self.places)


def marked(content: Line, needle: Needle, role: Role = "match") -> Line:
    """The line with every occurrence of the needle in the role of a match."""
    content = clean(content)
    text = plain(content)
    starts = list(needle.starts(text))
    if not starts:
        return content
    borders = [(start, start + len(needle.text)) for start in starts]
    parts: list[Span] = []
    offset = 0
    for span in content:
        end = offset + len(span.text)
        if not span.text:
            parts.append(span)
        here = offset
        for start, stop in borders:
            if stop <= here or start >= end:
                continue
            if start > here:
                parts.append(Span(text[here:start], span.role))
            parts.append(Span(text[max(start, here) : min(stop, end)], role))
            here = min(stop, end)
        if here < end:
            parts.append(Span(text[here:end], span.role))
        offset = end
    return tuple(parts)


def shifted(content: Line, needle: Needle, width: int) -> Line:
    """A line that is too long for its pane, begun anew shortly before its first match where that would be cut off."""
    text = plain(content)
    start = needle.first(text)
    if start < 0 or start + len(needle.text) < width:
        return content
    skipped = max(start - LEAD, 0)
    parts: list[Span] = [Span("\u2026", "dim")]
    for span in content:
        if skipped >= len(span.text):
            skipped -= len(span.text)
            continue
        parts.append(Span(span.text[skipped:], span.role))
        skipped = 0
    return tuple(parts)
