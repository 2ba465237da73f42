"""Aggregates over one column, in the order of operations of the release: numpy's pairwise sums on 64-bit arrays.

numpy is imported when the first number is aggregated.
"""

from __future__ import annotations

import math
from typing import Any

from toolenv.native.columns import Series, null, unique
from toolenv.native.operations import ToolError
from toolenv.native.tables import Table


def aggregated(
    table: Table, operation: str, key: str | None, distinct: bool, limit: int
) -> tuple[int | float, tuple[str, ...]]:
    """The value of an aggregate and its notes; ``key`` None counts rows. ``distinct`` comes before ``limit``."""
    if key is None:
        if operation != "count":
            raise ToolError(f"{operation} needs a key_name; without one only count can be computed")
        if not table.names:
            raise ToolError("the table has no columns: there is nothing to count")
        key = table.names[0]
        notes: list[str] = []
        series = table.frame().series[0]
    else:
        if table.count == 0:
            raise ToolError(f"the table is empty: there is no {operation} of {key}")
        series = table.frame().series[table.position(key)]
        notes = _notes(series, operation, distinct, key)
    if operation == "count" and not distinct:
        return min(table.count, limit) if limit >= 0 else table.count, tuple(notes)
    if operation in ("count", "argmin", "argmax"):
        cells = unique(series) if distinct else series.cells()
        return _over_list(cells[:limit] if limit >= 0 else cells, operation, key), tuple(notes)
    return _over_numbers(_numbers(series, operation, key, distinct, limit), operation, key), tuple(notes)


def _notes(series: Series, operation: str, distinct: bool, key: str) -> list[str]:
    if not series.column.nulls:
        return []
    if operation in ("argmin", "argmax"):
        first = series.first(1)[0]
        if isinstance(first, float) and first != first:
            return [f"row 0 of {key} is NULL, which makes {operation} 0 whatever the other rows hold (S8)"]
        return []
    if operation != "count" and not distinct:
        return []
    nulls = sum(map(null, series.iterate()))
    notes = []
    if operation == "count" and nulls:
        notes.append(f"count includes the {nulls} NULL cells of {key}; SQL's COUNT does not (S10)")
    if distinct and nulls > 1 and series.column.kind == "float":
        notes.append(f"distinct keeps each of the {nulls} NULL cells of {key} apart (S6)")
    return notes


def _over_list(cells: list[Any], operation: str, key: str) -> int:
    """Rows or positions by Python's own order; a NaN first in line wins every comparison."""
    if operation == "count":
        return len(cells)
    try:
        return cells.index(min(cells) if operation == "argmin" else max(cells))
    except TypeError as error:
        raise ToolError(f"the cells of {key} cannot be put in one order: {error}") from error
    except ValueError as error:
        raise ToolError(f"no row is left of {key}: {operation} has no answer") from error


def _numbers(series: Series, operation: str, key: str, distinct: bool, limit: int) -> Any:
    import numpy

    if series.column.kind in ("int", "float") and not distinct:
        numbers = series.numbers()
        return numbers[:limit] if limit >= 0 else numbers
    cells = unique(series) if distinct else series.cells()
    cells = cells[:limit] if limit >= 0 else cells
    odd = next((cell for cell in cells if isinstance(cell, str | bytes)), None)
    if odd is not None:
        raise ToolError(f"{operation} needs numbers; {key} holds {type(odd).__name__} cells")
    if any(cell is None for cell in cells):
        raise ToolError(
            f"{operation} fails on {key}: its NULL cells are None here, which only retrieve_data makes them"
        )
    return numpy.array(cells)


def _over_numbers(numbers: Any, operation: str, key: str) -> float:
    """The reductions of numpy's ``nan`` functions, NaN standing aside: zeros take its place in sums, nothing moves."""
    import numpy

    if len(numbers) == 0:
        if operation in ("min", "max"):
            raise ToolError(f"no row is left of {key}: {operation} has no answer")
        return 0.0 if operation == "sum" else math.nan
    missing = numpy.isnan(numbers) if numbers.dtype == numpy.float64 else None
    if missing is not None and missing.any():
        known = int((~missing).sum())
        if known == 0:
            return 0.0 if operation == "sum" else math.nan
    else:
        missing, known = None, len(numbers)
    with numpy.errstate(all="ignore"):
        if operation in ("min", "max"):
            if missing is not None:
                numbers = numpy.where(missing, math.inf if operation == "min" else -math.inf, numbers)
            return float(numbers.min() if operation == "min" else numbers.max())
        if missing is not None:
            numbers = numpy.where(missing, 0.0, numbers)
        if operation == "sum":
            return float(numbers.sum())
        if missing is None:
            return float(numbers.mean() if operation == "mean" else numbers.std())
        mean = numbers.sum() / known
        if operation == "mean":
            return float(mean)
        deviations = numpy.where(missing, 0.0, numbers - mean)
        return float(numpy.sqrt((deviations * deviations).sum() / known))
