"""``sort_data`` and its two fixed forms: stable both ways, NULL last both ways (contract, section 1.7)."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from toolenv.native.columns import LARGE, NULL_TEXT, Rows, Series, known_rows, null
from toolenv.native.operations import Derived, ToolError, inferred
from toolenv.native.tables import Table
from toolenv.native.vectors import order_of_numbers, order_of_texts


def sorted_by(table: Table, key: str, ascending: bool, pandas2: bool) -> Derived:
    """Rows in the order of a column: stable both ways, NULL last both ways, text by code point."""
    if table.count == 0:
        raise ToolError("the table is empty: there is nothing to sort")
    step = inferred(table, pandas2)
    series = step.frame.series[table.position(key)]
    try:
        positions = _order(series, ascending)
    except TypeError as error:
        raise ToolError(f"the cells of {key} cannot be put in one order: {error}") from error
    return Derived(table.names, step.dtypes, table.count, (table,), step.frame.taken(positions))


def sorted_by_ranking(table: Table, ranking: Sequence[Any], ascending: bool, pandas2: bool) -> Derived:
    if not ranking:
        raise ToolError("ranking_array is empty: it must hold one number for each row")
    if len(ranking) != table.count:
        raise ToolError(f"ranking_array holds {len(ranking)} numbers for {table.count} rows: it must hold one for each")
    step = inferred(table, pandas2)
    known = [row for row, number in enumerate(ranking) if not null(number)]
    frame = step.frame.taken(_compared_order(list(ranking), known, ascending))
    return Derived(table.names, step.dtypes, table.count, (table,), frame)


def _order(series: Series, ascending: bool) -> Rows[int]:
    """Row numbers in order. Raises TypeError where cells cannot be compared."""
    kind, values = series.column.kind, series.column.values
    if series.size >= LARGE:
        if kind in ("int", "float"):
            return order_of_numbers(series.numbers(), ascending)
        if kind == "text" and len(values) <= series.size:
            known = [place for place, cell in enumerate(values) if cell is not NULL_TEXT]
            known.sort(key=values.__getitem__)
            return order_of_texts(series, known, ascending)
    cells = series.cells()
    rows = known_rows(series, cells) if series.column.nulls else range(len(cells))
    return _compared_order(cells, rows, ascending)


def _compared_order(cells: list[Any], known: Sequence[int], ascending: bool) -> Rows[int]:
    ordered = sorted(known, key=cells.__getitem__, reverse=not ascending)
    if len(ordered) < len(cells):
        ordered += sorted(set(range(len(cells))).difference(ordered))
    return array("I", ordered)
