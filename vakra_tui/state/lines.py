"""Lines of text with roles: what a pane shows, before it has colours or a width.

A ``Span`` holds text exactly as the data has it; the roles are names of meanings (``fail``, ``string``, ``dim``).
Only ``vakra_tui.render`` turns spans into cells, and sanitises them there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from vakra_tui.state.search import Needle

Role = Literal[
    "",
    "dim",
    "title",
    "label",
    "strong",
    "ok",
    "fail",
    "warn",
    "accent",
    "api",
    "rag",
    "key",
    "string",
    "number",
    "literal",
    "punct",
    "code",
    "bar",
    "match",
    "match_now",
    "added",
    "removed",
    "hang",
]


class Span(NamedTuple):
    """A piece of a line in one role. An empty one in the role ``hang`` marks where continuation lines begin."""

    text: str
    role: Role = ""


Line = tuple[Span, ...]
BLANK: Line = ()

HANG = Span("", "hang")

Part = str | Span | tuple[str, Role]


def line(*parts: Part) -> Line:
    """A line of strings and (text, role) pairs."""
    return tuple(Span(part) if isinstance(part, str) else Span(*part) for part in parts)


def plain(content: Line) -> str:
    """The bare text of a line."""
    return "".join(span.text for span in content)


def text_of(lines: Iterable[Line]) -> str:
    """The bare text of several lines; what tests and copies read."""
    return "\n".join(plain(content) for content in lines)


class LineSource(Protocol):
    """Lines that are made when they are looked at."""

    def layout(self, width: int) -> int:
        """Prepare for a width in cells; returns the number of lines."""
        ...

    def line(self, index: int) -> Line:
        """The line at ``index``, for the width last laid out."""
        ...

    @property
    def cells(self) -> int:
        """The widest line in cells where lines may be wider than the pane, else 0."""
        ...


class Lines:
    """A short, ready-made list of lines; wrapped to the pane's width where ``wrapped``.

    A place of a search is (line, character of it), counted before wrapping.
    """

    def __init__(self, lines: Sequence[Line], *, wrapped: bool = True) -> None:
        self._lines = tuple(lines)
        self._wrapped = wrapped
        self._shown: Sequence[Line] = self._lines
        self._firsts: Sequence[int] = range(len(self._lines))
        self._width = -1

    def layout(self, width: int) -> int:
        if self._wrapped and width != self._width:
            from vakra_tui.wrap import wrap

            shown: list[Line] = []
            firsts: list[int] = []
            for content in self._lines:
                firsts.append(len(shown))
                shown.extend(wrap(content, max(width, 1)))
            self._shown, self._firsts = shown, firsts
            self._width = width
        return len(self._shown)

    def line(self, index: int) -> Line:
        return self._shown[index]

    @property
    def cells(self) -> int:
        return 0

    @property
    def lines(self) -> tuple[Line, ...]:
        return self._lines

    def first_row(self, index: int) -> int:
        """The first row of a line, for the width last laid out."""
        return self._firsts[index] if index < len(self._firsts) else len(self._shown)

    def find(self, needle: Needle, stop: Callable[[], bool]) -> list[tuple[int, int]]:
        """All places of the needle in the sanitised text of the lines."""
        from vakra_tui.wrap import clean

        found: list[tuple[int, int]] = []
        for index, content in enumerate(self._lines):
            if stop():
                break
            text = "\n".join(plain(clean(part)) for part in paragraphs(content))
            found.extend((index, start) for start in needle.starts(text))
        return found

    def row_of(self, place: tuple[int, int]) -> int:
        """The row on which a place begins; wrapping moves and drops blanks alone, so the other characters count."""
        from vakra_tui.wrap import clean

        index, start = place
        row, end = self.first_row(index), self.first_row(index + 1)
        text = "\n".join(plain(clean(part)) for part in paragraphs(self._lines[index]))
        before = _weight(text[:start])
        while row < end - 1:
            before -= _weight(plain(self._shown[row]))
            if before < 0:
                break
            row += 1
        return row

    def place_at(self, row: int) -> tuple[int, int]:
        """The beginning of the line that a row belongs to."""
        return max(bisect_right(self._firsts, row) - 1, 0), 0


def _weight(text: str) -> int:
    """Number of characters that are no white space."""
    return len("".join(text.split()))


def paragraphs(content: Line) -> list[Line]:
    """A line broken at the line breaks inside its spans."""
    parts: list[list[Span]] = [[]]
    for text, role in content:
        first, *rest = text.split("\n")
        parts[-1].append(Span(first, role))
        parts += [[Span(part, role)] for part in rest]
    return [tuple(part) for part in parts]


class Headed:
    """Some lines above another source, which stays as lazy as it is."""

    def __init__(self, head: Sequence[Line], body: LineSource) -> None:
        self._head = Lines(head)
        self._body = body
        self._above = 0

    def layout(self, width: int) -> int:
        self._above = self._head.layout(width)
        return self._above + self._body.layout(width)

    def line(self, index: int) -> Line:
        return self._head.line(index) if index < self._above else self._body.line(index - self._above)

    @property
    def cells(self) -> int:
        return self._body.cells

    @property
    def body(self) -> LineSource:
        """The source below."""
        return self._body

    @property
    def above(self) -> int:
        """Rows of the lines above, for the width last laid out."""
        return self._above

    def find(self, needle: Needle, stop: Callable[[], bool]) -> list[tuple[int, Any]]:
        """Places above (0, place) and then those below (1, place)."""
        below = getattr(self._body, "find", None)
        found: list[tuple[int, Any]] = [(0, place) for place in self._head.find(needle, stop)]
        return found + ([(1, place) for place in below(needle, stop)] if below is not None else [])

    def row_of(self, place: tuple[int, Any]) -> int:
        part, inner = place
        if part == 0:
            return self._head.row_of(inner)
        row: int = self._body.row_of(inner)  # type: ignore[attr-defined]
        return self._above + row

    def place_at(self, row: int) -> tuple[int, Any]:
        if row < self._above or not hasattr(self._body, "place_at"):
            return 0, self._head.place_at(row)
        return 1, self._body.place_at(row - self._above)

    def line_found(self, index: int, needle: Needle) -> Line:
        """The line at ``index`` as the part that it belongs to shows it to a search."""
        found = getattr(self._body, "line_found", None)
        if index < self._above or found is None:
            return self.line(index)
        shown: Line = found(index - self._above, needle)
        return shown
