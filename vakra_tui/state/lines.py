"""Lines of text with roles: what a pane shows, before it has colours or a width.

A ``Span`` holds text exactly as the data has it; the roles are names of meanings (``fail``, ``string``, ``dim``).
Only ``vakra_tui.render`` turns spans into cells, and sanitises them there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, Protocol

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
    """A short, ready-made list of lines; wrapped to the pane's width where ``wrapped``."""

    def __init__(self, lines: Sequence[Line], *, wrapped: bool = True) -> None:
        self._lines = tuple(lines)
        self._wrapped = wrapped
        self._shown: Sequence[Line] = self._lines
        self._width = -1

    def layout(self, width: int) -> int:
        if self._wrapped and width != self._width:
            from vakra_tui.wrap import wrap

            self._shown = [part for content in self._lines for part in wrap(content, max(width, 1))]
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
