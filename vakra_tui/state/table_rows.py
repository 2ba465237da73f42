"""The whole table behind a handle as lines: pages are read when they are looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from toolenv.environment import ColumnInfo, TableView
from toolenv.model import Json
from vakra_tui.state.cells import cell
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.json_tree import scalar_line
from vakra_tui.state.lines import Line, Role, Span
from vakra_tui.state.table_order import PAGE, Order, cell_text
from vakra_tui.text import count_words, one_line, sanitize

WIDEST_CELL = 40


class TableRows:
    """The rows of a view in an order: two lines of names and types that stay in view, then a line a row.

    ``ask(start)`` is called on the screen for a page that is looked at and not there; ``put`` hands it in.
    """

    sticky = 2

    def __init__(self, view: TableView, ask: Callable[[int], None]) -> None:
        self.view = view
        self.columns = tuple(view.columns)
        self.order = Order()
        self.positions: Sequence[int] | None = None
        self.total = view.num_records
        self.column = 0
        self._ask = ask
        self._pages: dict[int, list[tuple[Json, ...]]] = {}
        self._asked: set[int] = set()
        self._failed: dict[int, str] = {}
        self._widths = [
            min(max(len(sanitize(column.name)) + 2, len(column.dtype), 4), WIDEST_CELL) for column in self.columns
        ]
        self._measured = False

    @property
    def count(self) -> int:
        """Number of rows shown."""
        return self.total if self.positions is None else len(self.positions)

    @property
    def words(self) -> str:
        """``2,418 of 100,000 rows, by age (descending), filter age>30``."""
        parts = [count_words(self.total, "row")]
        if self.order.filter:
            parts = [f"{self.count:,} of {count_words(self.total, 'row')}", f"filter {one_line(self.order.filter, 60)}"]
        if self.order.column is not None:
            way = "descending" if self.order.descending else "ascending"
            parts.append(f"by {one_line(self.columns[self.order.column].name, 40)} ({way})")
        return ", ".join(parts)

    def show(self, order: Order, positions: Sequence[int] | None) -> None:
        """Show the rows in another order."""
        self.order = order
        self.positions = positions
        self._pages.clear()
        self.try_again()

    def fail(self, start: int, why: str) -> None:
        """The page that begins at ``start`` cannot be read."""
        self._failed[start] = why

    def try_again(self) -> None:
        """Ask anew for pages that could not be read, when they are looked at."""
        self._failed.clear()
        self._asked = set(self._pages)

    def put(self, start: int, rows: list[tuple[Json, ...]]) -> None:
        """The rows of the page that begins at ``start``."""
        self._pages[start] = rows
        if not self._measured:
            self._measured = True
            for row in rows:
                for index, value in enumerate(row[: len(self._widths)]):
                    length = len(sanitize(_short(value)))
                    self._widths[index] = min(max(self._widths[index], length), WIDEST_CELL)

    def cell(self, row: int) -> Json:
        """The value of the marked column in a row of those that are shown; None where it was not read yet."""
        page = self._pages.get(row - row % PAGE, [])
        values = page[row % PAGE] if 0 <= row % PAGE < len(page) else ()
        return values[self.column] if self.column < len(values) else None

    def place_column(self, column: int) -> tuple[int, int]:
        """Put the mark on a column; gives the first cell of the column and the one behind it."""
        self.column = max(0, min(column, len(self.columns) - 1))
        start = 10 + sum(width + 2 for width in self._widths[: self.column])
        return start, start + (self._widths[self.column] if self._widths else 0) + 2

    def column_at(self, cells: int) -> int | None:
        """The column drawn at a cell of the line."""
        start = 10
        for index, width in enumerate(self._widths):
            if start <= cells < start + width + 2:
                return index
            start += width + 2
        return None

    def layout(self, width: int) -> int:
        return self.count + self.sticky

    @property
    def cells(self) -> int:
        return sum(self._widths) + 2 * len(self._widths) + 10

    def line(self, index: int) -> Line:
        if index == 0:
            return self._names()
        if index == 1:
            types = [Span(cell(column.dtype, width) + "  ", "dim") for column, width in self._each()]
            return (Span(f"{'':>10}"), *types)
        row = index - self.sticky
        number = row if self.positions is None else self.positions[row]
        lead = Span(f"{number + 1:>8}  ", "dim")
        start = row - row % PAGE
        found = self._pages.get(start)
        if found is None and start not in self._asked:
            self._asked.add(start)
            self._ask(start)
            found = self._pages.get(start)
        if found is None and start in self._failed:
            again = Span(f"{key('step.read-again')} tries again  ", "accent")
            return (lead, Span("\u2717 not read  ", "fail"), again, Span(one_line(self._failed[start], 300), "warn"))
        if found is None or row - start >= len(found):
            return (lead, Span("\u2026", "dim"))
        parts = [lead]
        for value, width in zip(found[row - start], self._widths, strict=False):
            parts.append(Span(cell(_short(value), width) + "  ", _role(value)))
        return tuple(parts)

    def _each(self) -> Iterator[tuple[ColumnInfo, int]]:
        return zip(self.columns, self._widths, strict=True)

    def _names(self) -> Line:
        parts = [Span(f"{'#':>8}  ", "dim")]
        for index, (column, width) in enumerate(self._each()):
            sign = ""
            if index == self.order.column:
                sign = "\u25bc" if self.order.descending else "\u25b2"
            name = ("\u25b8" if index == self.column else "") + column.name
            shown = cell(name, width - len(sign)) if len(name) + len(sign) > width else cell(name + sign, width)
            parts.append(
                Span((shown + sign if len(name) + len(sign) > width else shown) + "  ", self._name_role(index))
            )
        return tuple(parts)

    def _name_role(self, index: int) -> Role:
        return "accent" if index == self.column else "label"

    def row_of(self, place: int) -> int:
        return place + self.sticky

    def place_at(self, row: int) -> int:
        return max(row - self.sticky, 0)


def _short(value: Json) -> str:
    return one_line(cell_text(value), WIDEST_CELL + 1)


def _role(value: Json) -> Role:
    if value is None or value == "":
        return "dim"
    return scalar_line(value, 1).role
