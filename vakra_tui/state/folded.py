"""Sections of lines that can be folded to their heads; what a long conversation is read in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from toolenv.model import Value
from vakra_tui.state.lines import HANG, Line, Lines, Span

if TYPE_CHECKING:
    from vakra_tui.state.search import Needle

SHUT, OPEN, PLAIN = "\u25b8 ", "\u25be ", "  "

Place = tuple[int, int, int]


class Section(Value, frozen=True):
    """A head and what is under it; one without a body cannot be folded. ``shut``: folded at first."""

    head: Line
    body: tuple[Line, ...] = ()
    shut: bool = False


class Folded:
    """The lines of sections, wrapped. A place of a search is (section, line of it with the head as 0, character)."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self._sections = tuple(sections)
        self._shut = [section.shut and bool(section.body) for section in sections]
        self._parts: list[Lines] = [self._lines(number) for number in range(len(self._sections))]
        self._firsts: list[int] = []
        self._count = 0
        self._width = 0

    def _lines(self, number: int) -> Lines:
        section = self._sections[number]
        mark = PLAIN if not section.body else SHUT if self._shut[number] else OPEN
        head = (Span(mark, "accent"), HANG, *section.head)
        body = () if self._shut[number] else section.body
        return Lines([head, *((Span("    "), HANG, *each) for each in body)])

    def layout(self, width: int) -> int:
        self._width = width
        self._firsts, self._count = [], 0
        for part in self._parts:
            self._firsts.append(self._count)
            self._count += part.layout(width)
        return self._count

    def line(self, index: int) -> Line:
        number = self.section_at(index)
        return self._parts[number].line(index - self._firsts[number])

    @property
    def cells(self) -> int:
        return 0

    def section_at(self, row: int) -> int:
        """The section that a row belongs to, for the width last laid out."""
        return max(bisect_right(self._firsts, row) - 1, 0)

    def head_row(self, number: int) -> int:
        """The first row of a section."""
        return self._firsts[number]

    def set_open(self, row: int, open_it: bool) -> bool:
        """Unfold or fold the section of a row; False where that changes nothing."""
        if not self._sections:
            return False
        number = self.section_at(row)
        if not self._sections[number].body or self._shut[number] != open_it:
            return False
        self._shut[number] = not open_it
        self._parts[number] = self._lines(number)
        self.layout(self._width)
        return True

    def toggle(self, row: int) -> bool:
        """Fold what is unfolded, and the other way round; False where there is nothing to fold."""
        return bool(self._sections) and self.set_open(row, self._shut[self.section_at(row)])

    def find(self, needle: Needle, stop: Callable[[], bool]) -> list[Place]:
        """All places of the needle, those in folded sections included."""
        found: list[Place] = []
        for number, section in enumerate(self._sections):
            if stop():
                break
            whole = Lines([section.head, *section.body])
            found += [(number, index, start) for index, start in whole.find(needle, stop)]
        return found

    def row_of(self, place: Place) -> int:
        """The row on which a place begins; a folded section that holds it is unfolded."""
        number, index, start = place
        if index and self._shut[number]:
            self._shut[number] = False
            self._parts[number] = self._lines(number)
            self.layout(self._width)
        return self._firsts[number] + self._parts[number].row_of((index, start + _MARK if index == 0 else start))

    def place_at(self, row: int) -> Place:
        number = self.section_at(row)
        index, start = self._parts[number].place_at(row - self._firsts[number])
        return number, index, start


_MARK = len(PLAIN)
