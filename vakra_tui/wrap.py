"""Lines folded to a width in terminal cells; measured on sanitised text, cut between characters, never inside one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from vakra_tui.state.lines import Line, Span, paragraphs, plain
from vakra_tui.text import sanitize

_PIECES = re.compile(r" +|[^ ]+")
"""Lines break at plain blanks alone; a no-break space holds two words together."""


def clean(content: Line) -> Line:
    """The line with every span sanitised; sanitising twice changes nothing."""
    return tuple(Span(sanitize(text), role) for text, role in content)


def width_of(content: Line) -> int:
    """Cells that the line takes on screen."""
    return sum(cell_len(sanitize(span.text)) for span in content)


def _split(text: str, room: int) -> tuple[str, str]:
    """The longest head of ``text`` within ``room`` cells (at least one character), and the rest."""
    used = 0
    for index, character in enumerate(text):
        used += cell_len(character)
        if used > room and index and not unicodedata.combining(character):
            return text[:index], text[index:]
    return text, ""


def wrap(content: Line, width: int) -> Iterator[Line]:
    """The line as one or more lines of at most ``width`` cells, broken at white space where there is some.

    Line breaks inside a span break the line. What follows one, like every continuation, is indented as the first line
    is, or to its ``hang`` mark; its own leading blanks come on top.
    """
    first, *rest = paragraphs(content)
    yield from _wrap_paragraph(first, width)
    if rest:
        lead, _ = _fresh(min(_indent(clean(first)), width // 2))
        for paragraph in rest:
            yield from _wrap_paragraph((*lead, *paragraph), width) if plain(paragraph) else ((),)


def _wrap_paragraph(content: Line, width: int) -> Iterator[Line]:
    content = clean(content)
    if width_of(content) <= width:
        yield content
        return
    indent = min(_indent(content), width // 2)
    pieces = [(match.group(), role) for text, role in content for match in _PIECES.finditer(text)]
    current: list[Span] = []
    used = 0
    for index, (piece, role) in enumerate(pieces):
        cells = cell_len(piece)
        bound = cells + _bound_after(pieces, index)
        if used + bound <= width:
            current.append(Span(piece, role))
            used += cells
            continue
        if piece[0] == " ":
            yield tuple(current)
            current, used = _fresh(indent)
            continue
        if used > indent and bound <= width - indent:
            yield tuple(current)
            current, used = _fresh(indent)
        if used > indent and cell_len(piece[0]) > width - used:
            yield tuple(current)
            current, used = _fresh(indent)
        while piece:
            head, piece = _split(piece, max(width - used, 1))
            current.append(Span(head, role))
            used += cell_len(head)
            if piece:
                yield tuple(current)
                current, used = _fresh(indent)
    if current and any(span.text.strip() for span in current):
        yield tuple(current)


def _bound_after(pieces: Sequence[tuple[str, str]], index: int) -> int:
    """Cells of the pieces that a no-break space at the end of this one holds to it."""
    bound = 0
    while pieces[index][0].endswith("\u00a0") and index + 1 < len(pieces):
        index += 1
        bound += cell_len(pieces[index][0])
    return bound


def _indent(content: Line) -> int:
    """Cells before the hanging mark, or else the leading blanks."""
    before = 0
    for text, role in content:
        if role == "hang":
            return before
        before += cell_len(text)
    lead = "".join(span.text for span in content)
    return len(lead) - len(lead.lstrip(" "))


def _fresh(indent: int) -> tuple[list[Span], int]:
    return ([Span(" " * indent)] if indent else []), indent


def crop(content: Line, width: int) -> Line:
    """The line within ``width`` cells, an ellipsis in its last cell where something was left out."""
    content = clean(content)
    if width_of(content) <= width:
        return content
    kept: list[Span] = []
    room = width - 1
    for text, role in content:
        cells = cell_len(text)
        if cells <= room:
            kept.append(Span(text, role))
            room -= cells
            continue
        if room > 0:
            head, _ = _split(text, room)
            if cell_len(head) <= room:
                kept.append(Span(head, role))
        break
    kept.append(Span("\u2026", "dim"))
    return tuple(kept)
