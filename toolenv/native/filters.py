"""``filter_data`` and the ``select_data`` tools: which rows meet a condition (contract, section 1.6)."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Callable, Iterable, Mapping
from itertools import compress, repeat
from typing import Any

from toolenv.model import Json
from toolenv.native.columns import LARGE, NULL_TEXT, Rows, Series, known_rows, null
from toolenv.native.operations import Derived, ToolError, inferred
from toolenv.native.patterns import (
    Matcher,
    PatternError,
    contains,
    has_wildcards,
    like,
    like_differs,
    places_holding,
    places_matching,
)
from toolenv.native.tables import Table
from toolenv.native.vectors import compared, flagged

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "equal_to": operator.eq,
    "not_equal_to": operator.ne,
    "greater_than": operator.gt,
    "less_than": operator.lt,
    "greater_than_equal_to": operator.ge,
    "less_than_equal_to": operator.le,
}


def filtered(table: Table, key: str, condition: str, value: Json, pandas2: bool) -> Derived:
    """Rows whose cell meets a condition; the rules of coercion and of NULL are those of contract 1.6."""
    if table.count == 0:
        raise ToolError("the table is empty and the release fails on filtering an empty table (S15): nothing to filter")
    position = table.position(key)
    notes: list[str] = []
    first = table.frame().series[position].first(1)[0]
    if isinstance(first, str) and type(value) is int:
        value = str(value)
    step = inferred(table, pandas2)
    dtype = step.dtypes[position]
    series = step.frame.series[position]
    value = _coerced(value, dtype, key, notes)
    positions = _positions(series, dtype, condition, value, key, pandas2, notes)
    if type(value) is int and dtype in ("str", "object") and null(first):
        notes.append(
            f"the first cell of {key} is NULL, so the number {value} is not compared as text; "
            "with text in the first row the same filter gives another result (S16)"
        )
    frame = step.frame.selected(positions)
    return Derived(table.names, step.dtypes, len(positions), (table,), frame, notes=tuple(notes))


def _coerced(value: Json, dtype: str, key: str, notes: list[str]) -> Json:
    """Text becomes a number for a number column; a fraction is cut off for an integer column (S7)."""
    try:
        if isinstance(value, str) and dtype == "float64":
            return float(value)
        if isinstance(value, str) and dtype == "int64":
            return int(value)
        if isinstance(value, float) and dtype == "int64":
            whole = int(value)
            if whole != value:
                notes.append(f"{value!r} is cut to {whole} because {key} holds integers (S7)")
            return whole
    except (ValueError, OverflowError) as error:
        raise ToolError(f"{value!r} cannot be compared with {key}, which holds {dtype} numbers: {error}") from error
    return value


def _positions(
    series: Series, dtype: str, condition: str, value: Any, key: str, pandas2: bool, notes: list[str]
) -> Rows[int]:
    if condition == "contains":
        return _containing(series, dtype, value, key, notes)
    if condition == "like":
        return _alike(series, dtype, value, key, notes)
    nulls = series.column.nulls
    if value is None:
        if condition == "equal_to":
            return _mapped(series, lambda cells: map(null, cells)) if nulls else array("I")
        if condition == "not_equal_to":
            return array("I", known_rows(series, series.cells()) if nulls else range(series.size))
        return array("I")
    if dtype == "float64" and isinstance(value, int):
        try:
            value = float(value)
        except OverflowError as error:
            raise ToolError(f"{value} is too large to be compared with {key}, which holds floats") from error
    if isinstance(value, float) and value != value:
        return array("I", range(series.size) if condition == "not_equal_to" else [])
    compare = _COMPARISONS[condition]
    if dtype in ("int64", "float64") and series.size >= LARGE and -(2**63) <= value < 2**63:
        return compared(series, compare, value)
    try:
        if condition in ("equal_to", "not_equal_to"):
            return _mapped(series, lambda cells: map(compare, cells, repeat(value)))
        if series.column.kind in ("int", "float") or not series.column.nulls:
            return _mapped(series, lambda cells: map(compare, cells, repeat(value)))
        if series.column.kind == "text":
            return _mapped(series, lambda cells: [cell is not NULL_TEXT and compare(cell, value) for cell in cells])
        return _mapped(series, lambda cells: [not null(cell) and compare(cell, value) for cell in cells])
    except TypeError as error:
        raise ToolError(f"{value!r} cannot be ordered against the cells of {key}: {error}") from error


def _mapped(series: Series, test: Callable[[list[Any]], Iterable[Any]]) -> Rows[int]:
    """Rows whose cell passes a test of its own; each stored cell is tested once where a join repeats it.

    Raises what the test raises; a column of objects is tested on the table's own cells alone.
    """
    values = series.column.values
    if series.column.kind != "object" and len(values) <= series.size:
        return flagged(bytearray(test(values)), series)
    return array("I", compress(range(series.size), test(series.cells())))


def _containing(series: Series, dtype: str, value: Any, key: str, notes: list[str]) -> Rows[int]:
    if dtype != "str" and (dtype != "object" or any(isinstance(cell, bytes) for cell in series.iterate())):
        raise ToolError(f"contains needs a text column; {key} holds {dtype} cells")
    if not isinstance(value, str):
        raise ToolError(f"contains needs a text to look for in {key}, not {value!r}")
    search: Callable[[list[Any], str], list[int] | None] = places_holding
    if has_wildcards(value):
        notes.append(f"contains reads {value!r} as a regular expression, not as plain text (S12)")
        search = places_matching
    if dtype == "str" and (rows := _searched(series, value, search)) is not None:
        return rows
    cells = series.cells()
    texts = {cell for cell in cells if type(cell) is str}
    found = _matching(texts, lambda: contains(value, texts, arrow=dtype == "str"))
    return array("I", [row for row, cell in enumerate(cells) if type(cell) is str and cell in found])


def _searched(series: Series, wanted: str, search: Callable[[list[Any], str], list[int] | None]) -> Rows[int] | None:
    """Rows whose cell holds what is wanted, all cells searched in one go; None where that cannot answer."""
    values = series.column.values
    if series.whole or len(values) > series.size:
        found = search(series.cells(), wanted)
        return None if found is None else array("I", found)
    found = search(values, wanted)
    if found is None:
        return None
    flags = bytearray(len(values))
    for place in found:
        flags[place] = 1
    return flagged(flags, series)


def _alike(series: Series, dtype: str, value: Any, key: str, notes: list[str]) -> Rows[int]:
    if not isinstance(value, str):
        raise ToolError(f"like needs a pattern of text for {key}, which holds {dtype} cells, not {value!r}")
    cells = series.cells()
    texts = {cell for cell in cells if type(cell) is str}
    odd = next((cell for cell in cells if type(cell) is not str and not (isinstance(cell, float) and cell != cell)), "")
    if odd != "" or any(cell is None for cell in cells):
        raise ToolError(f"like needs text in every row of {key}; it also holds {type(odd).__name__} cells")
    found = _matching(texts, lambda: like(value))
    if like_differs(value, texts) and _matching(texts, lambda: like(value, sql=True)) != found:
        notes.append(
            "like is case-sensitive here, '.' stands for any character and nothing crosses a line break; "
            "SQL's LIKE gives other rows for this pattern (S12)"
        )
    return array("I", [row for row, cell in enumerate(cells) if type(cell) is str and cell in found])


def _matching(texts: set[str], make: Callable[[], Matcher]) -> set[str]:
    try:
        matches = make()
        return {text for text in texts if matches(text)}
    except PatternError as error:
        raise ToolError(str(error)) from error
