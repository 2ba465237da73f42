"""Which rows of a table are shown, and in what order: sorted by a column, filtered by conditions, searched.

Cells belong to the engine, so everything here that reads them is a coroutine that runs there, a little at a time;
cancelling it ends it.
"""

from __future__ import annotations

import asyncio
import heapq
import re
import shlex
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from toolenv.environment import ColumnInfo, TableView
from toolenv.errors import DataError
from toolenv.model import Json, Value
from vakra_tui.state.search import Needle

PAGE = 64
"""Rows read at once; where they are not in the table's order each is read by itself."""

CHUNK = 2000
"""Cells or rows looked at before other work of the engine gets its turn."""

SORTED_AT_ONCE = 10_000
"""Values sorted in one go; longer columns are sorted in parts that are then merged."""

_TERM = re.compile(r"(?P<column>.+?)(?P<sign>!=|<=|>=|=|<|>|~)(?P<value>.*)", re.DOTALL)


class Order(Value, frozen=True):
    """How the rows of a table are shown: sorted by a column (by position) and filtered by terms."""

    column: int | None = None
    descending: bool = False
    filter: str = ""

    def turned(self, column: int) -> Order:
        """The order after one more press on a column: ascending, descending, the table's own."""
        if column != self.column:
            return Order(column=column, filter=self.filter)
        return (
            Order(filter=self.filter) if self.descending else Order(column=column, descending=True, filter=self.filter)
        )


class Term(Value, frozen=True):
    """One condition of a filter: about a column by position, or (None) a text that any cell of the row holds."""

    column: int | None
    sign: str
    value: str

    def holds(self, found: Json) -> bool:
        """Whether a cell meets the condition. Numbers compare as numbers where both sides are some, else as texts."""
        if self.sign == "~":
            return self.value.casefold() in cell_text(found).casefold()
        if self.sign in ("=", "!="):
            return _same(found, self.value) == (self.sign == "=")
        if found is None:
            return False
        order = _compared(found, self.value)
        match self.sign:
            case "<":
                return order < 0
            case "<=":
                return order <= 0
            case ">":
                return order > 0
            case _:
                return order >= 0


def _compared(found: Json, wanted: str) -> int:
    """Whether a cell comes before (-1), with (0) or after (1) a typed value."""
    number = _number(wanted)
    if number is not None and isinstance(found, int | float):
        return (found > number) - (found < number)
    text = cell_text(found)
    return (text > wanted) - (text < wanted)


def terms_of(text: str, columns: Sequence[ColumnInfo]) -> tuple[Term, ...]:
    """The conditions of a filter text: words, and ``column=value`` with ``= != < <= > >= ~`` (contains).

    Column names may be shortened as long as one column alone has the part; quotes hold blanks together. Raises
    ``DataError`` with a sentence for what cannot be understood.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise DataError(f"The filter cannot be read: {error}.") from error
    return tuple(_term(word, columns) for word in words)


def _term(word: str, columns: Sequence[ColumnInfo]) -> Term:
    match = _TERM.fullmatch(word)
    if match is None:
        return Term(column=None, sign="~", value=word)
    wanted = match["column"]
    names = [column.name for column in columns]
    found = [index for index, name in enumerate(names) if name == wanted]
    found = found or [index for index, name in enumerate(names) if name.casefold() == wanted.casefold()]
    found = found or [index for index, name in enumerate(names) if wanted.casefold() in name.casefold()]
    if len(found) != 1:
        what = "No column is" if not found else f"{len(found)} columns could be"
        raise DataError(f"{what} called {wanted!r}. Columns: {', '.join(names[:30])}")
    return Term(column=found[0], sign=match["sign"], value=match["value"])


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _same(found: Json, wanted: str) -> bool:
    if found is None:
        return wanted.casefold() in ("null", "none")
    if isinstance(found, int | float) and not isinstance(found, bool):
        return _number(wanted) == found
    return cell_text(found).casefold() == wanted.casefold()


def cell_text(value: Json) -> str:
    """A cell as it is read: NULL, texts as they are, other values as JSON or Python print them."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


async def positions(view: TableView, order: Order) -> Sequence[int] | None:
    """The rows that an order shows, as positions of the table; None for all rows as they are.

    NULLs come last both ways, numbers before texts. Raises ``DataError`` for a filter that cannot be understood.
    """
    kept: Sequence[int] | None = None
    terms = terms_of(order.filter, view.columns)
    if terms:
        kept = await _filtered(view, terms)
    if order.column is None:
        return kept
    return await _sorted(view, order.column, order.descending, kept)


async def _filtered(view: TableView, terms: Sequence[Term]) -> Sequence[int]:
    kept: Sequence[int] = range(view.num_records)
    for term in terms:
        if term.column is not None:
            kept = await _where(view.column(term.column), term.holds, kept)
    for term in terms:
        if term.column is None:
            kept = await _anywhere(view, Needle(term.value), kept)
    return kept


async def _where(cells: Iterator[Json], holds: Callable[[Json], bool], kept: Sequence[int]) -> Sequence[int]:
    found = array("L")
    wanted = iter(kept)
    upcoming = next(wanted, None)
    for position, value in enumerate(cells):
        if position == upcoming:
            if holds(value):
                found.append(position)
            upcoming = next(wanted, None)
        if position % CHUNK == 0:
            await asyncio.sleep(0)
    return found


async def _anywhere(view: TableView, needle: Needle, kept: Sequence[int]) -> Sequence[int]:
    found = array("L")
    among = set(kept) if len(kept) < view.num_records else None
    for start in range(0, view.num_records, CHUNK // 4):
        for offset, row in enumerate(view.rows(start, min(start + CHUNK // 4, view.num_records))):
            if (among is None or start + offset in among) and _holds(row, needle):
                found.append(start + offset)
        await asyncio.sleep(0)
    return found


def _holds(row: Sequence[Json], needle: Needle) -> bool:
    return any(needle.first(cell_text(value)) >= 0 for value in row)


async def _sorted(view: TableView, column: int, descending: bool, kept: Sequence[int] | None) -> Sequence[int]:
    numbers: list[tuple[float, int]] = []
    words: list[tuple[str, int]] = []
    nulls: list[int] = []
    among = set(kept) if kept is not None else None
    for position, value in enumerate(view.column(column)):
        if position % CHUNK == 0:
            await asyncio.sleep(0)
        if among is not None and position not in among:
            continue
        # Equal values keep the table's order both ways, which a turned sign of the position gives.
        place = -position if descending else position
        if value is None or value != value:
            nulls.append(position)
        elif isinstance(value, int | float):
            numbers.append((value, place))
        else:
            words.append((cell_text(value), place))
    order = array("L")
    groups: list[Sequence[tuple[float | str, int]]] = [numbers, words]
    for group in reversed(groups) if descending else groups:
        parts = []
        for start in range(0, len(group), SORTED_AT_ONCE):
            parts.append(sorted(group[start : start + SORTED_AT_ONCE], reverse=descending))
            await asyncio.sleep(0)
        merged = heapq.merge(*parts, reverse=descending)
        while batch := list(islice(merged, CHUNK)):
            order.extend(abs(place) for _, place in batch)
            await asyncio.sleep(0)
    order.extend(nulls)
    return order


async def page(view: TableView, order: Sequence[int] | None, start: int) -> list[tuple[Json, ...]]:
    """The rows shown from ``start`` on, at most a page of them."""
    if order is None:
        return list(view.rows(start, min(start + PAGE, view.num_records)))
    rows: list[tuple[Json, ...]] = []
    wanted = order[start : start + PAGE]
    index = 0
    while index < len(wanted):
        end = index + 1
        while end < len(wanted) and wanted[end] == wanted[end - 1] + 1:
            end += 1
        rows.extend(view.rows(wanted[index], wanted[end - 1] + 1))
        index = end
        await asyncio.sleep(0)
    return rows


async def rows_with(view: TableView, order: Sequence[int] | None, needle: Needle) -> Sequence[int]:
    """The shown rows with a cell that holds the needle."""
    found = await _anywhere(view, needle, range(view.num_records))
    if order is None:
        return found
    hits = set(found)
    return [row for row, position in enumerate(order) if position in hits]
