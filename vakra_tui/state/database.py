"""The tables of a domain's database as lines: their columns and keys, and their rows page by page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toolenv.dataset.browsing import PAGE, Table
from toolenv.model import Json
from vakra_tui.state.json_tree import scalar_line
from vakra_tui.state.lines import BLANK, Line, Span, line
from vakra_tui.text import count_words, one_line, sanitize

WIDEST_CELL = 40


def schema_lines(table: Table) -> list[Line]:
    """Columns with type, keys and references."""
    head = count_words(table.rows, "row") if table.rows is not None else "rows not countable"
    lines = [line((table.name, "title"), (f"   {head}, {count_words(len(table.columns), 'column')}", "dim")), BLANK]
    for column in table.columns:
        parts = [
            Span("\u26b7 " if column.primary else "  ", "warn"),
            Span(f"{one_line(column.name, 60):<20} ", "key"),
            Span(f"{column.type:<8}", "dim"),
        ]
        if column.not_null:
            parts.append(Span(" not null", "dim"))
        if column.refers_to:
            parts += [Span(" \u2192 ", "dim"), Span(column.refers_to, "accent")]
        lines.append(tuple(parts))
    return lines


class RowsSource:
    """The rows of a table as lines: names first, then rows; a page that is not there yet is asked for.

    ``fetch(start)`` is called with the first row of a page that is looked at; ``put`` hands its rows in, at once where
    ``at_once`` says so (a table in memory), else later.
    """

    sticky = 1
    """Lines at the top that stay in view."""

    def __init__(self, names: Sequence[str], rows: int, fetch: Callable[[int], None], *, at_once: bool = False) -> None:
        self._names = tuple(names)
        self._rows = rows
        self._fetch = fetch
        self._pages: dict[int, list[tuple[Json, ...]]] = {}
        self._asked: set[int] = set()
        self._widths = [min(max(len(name), 4), WIDEST_CELL) for name in self._names]
        self._measured = False
        self._at_once = at_once

    def put(self, start: int, rows: list[tuple[Json, ...]]) -> None:
        """The rows of the page that begins at ``start``."""
        self._pages[start] = rows
        if not self._measured:
            self._measured = True
            for row in rows[:50]:
                for index, cell in enumerate(row[: len(self._widths)]):
                    length = len(sanitize(_cell_text(cell)))
                    self._widths[index] = min(max(self._widths[index], length), WIDEST_CELL)

    def layout(self, width: int) -> int:
        if self._at_once and self._rows and 0 not in self._asked:
            self._asked.add(0)
            self._fetch(0)
        return self._rows + 1

    @property
    def cells(self) -> int:
        return sum(self._widths) + 2 * len(self._widths) + 8

    def line(self, index: int) -> Line:
        from vakra_tui.state.cells import cell

        if index == 0:
            parts = [Span(f"{'':>6}  ", "dim")]
            parts += [Span(cell(name, w) + "  ", "label") for name, w in zip(self._names, self._widths, strict=True)]
            return tuple(parts)
        number = index - 1
        start = number - number % PAGE
        page = self._pages.get(start)
        parts = [Span(f"{number + 1:>6}  ", "dim")]
        if page is None and start not in self._asked:
            self._asked.add(start)
            self._fetch(start)
            page = self._pages.get(start)
        if page is None:
            return (*parts, Span("\u2026", "dim"))
        if number - start >= len(page):
            return tuple(parts)
        for value, width in zip(page[number - start], self._widths, strict=False):
            parts.append(Span(cell(_cell_text(value), width) + "  ", scalar_line(value, 1).role if value != "" else ""))
        return tuple(parts)


def _cell_text(value: Json) -> str:
    if value is None:
        return "NULL"
    return one_line(value, WIDEST_CELL + 1) if isinstance(value, str) else str(value)
