"""What the tools compute, as the released tools do (contract, sections 1.6 to 1.8), on columns instead of data frames.

Table operations give a ``Derived``: the names, the printed types, and the recipe that makes the rows. Failures are
``ToolError``; its message is a sentence for whoever made the call. Notes say where a result is a known quirk (S rows
of the contract, section 4).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from toolenv.model import Json
from toolenv.native.columns import (
    Rows,
    Series,
    concatenated,
    digest,
    infer,
    null,
    raw_column,
    unique,
)
from toolenv.native.tables import Budget, Frame, Recipe, Table


class ToolError(Exception):
    """A tool that failed; the message is the sentence to answer with."""


class Derived(NamedTuple):
    """A new table of ``size`` rows: the rows, or, where nobody needed them yet, how to make them.

    ``firsts`` are the first three cells of each column where the rows are not given; ``dtypes`` None prints Python's
    names.
    """

    names: tuple[str, ...]
    dtypes: tuple[str, ...] | None
    size: int
    parents: tuple[Table, ...]
    frame: Frame | None = None
    recipe: Recipe | None = None
    firsts: tuple[list[Any], ...] | None = None
    notes: tuple[str, ...] = ()


def made_by(make: Callable[[], Derived], budget: Budget) -> Table:
    """The table that a step makes. Rows dropped later are made by running the step again."""
    derived = make()

    def again() -> Frame:
        frame = make().frame
        assert frame is not None
        return frame

    return Table(
        derived.names,
        derived.dtypes,
        derived.size,
        derived.recipe or again,
        budget,
        derived.parents,
        derived.frame,
        derived.firsts,
        derived.notes,
    )


class Step(NamedTuple):
    """A table as a step of the release sees it: cells and type names inferred anew."""

    frame: Frame
    dtypes: tuple[str, ...]


def inferred(table: Table, pandas2: bool) -> Step:
    frame = table.frame()
    pairs = [infer(series, pandas2) for series in frame.series]
    series = tuple(series for _, series in pairs)
    same = all(new is old for new, old in zip(series, frame.series, strict=True))
    return Step(frame if same else Frame(series, frame.size), tuple(name for name, _ in pairs))


# --- retrieve, transform, concatenate --------------------------------------------------------------------------------


def retrieved(table: Table, keys: Sequence[str], distinct: bool, limit: int) -> Derived:
    """Chosen columns with None for NaN; ``distinct`` only where a single key is given. A negative limit is none."""
    names = tuple(dict.fromkeys(keys))
    places = [table.position(name) for name in names]
    count = table.count if names else 0
    if not distinct:
        kept = min(count, limit) if limit >= 0 else count

        def recipe() -> Frame:
            every = table.frame().series
            chosen = [series.through(series.column.retrieved()) for series in map(every.__getitem__, places)]
            whole = Frame(tuple(chosen), count)
            return whole if kept == count else whole.taken(array("I", range(kept)))

        firsts = tuple(_shown(series.first(min(3, kept))) for series in map(table.frame().series.__getitem__, places))
        return Derived(names, None, kept, (table,), recipe=recipe, firsts=firsts)

    series = table.frame().series[places[0]]
    cells = unique(series)
    if limit >= 0:
        cells = cells[:limit]
    cells = _shown(cells)
    key = digest(b"distinct", series.key, str(limit).encode())
    frame = Frame((Series(raw_column(cells, key)),), len(cells))
    return Derived(names, None, frame.size, (table,), frame)


def _shown(cells: list[Any]) -> list[Any]:
    return [None if isinstance(cell, float) and cell != cell else cell for cell in cells]


def transformed(table: Table, key: str, operation: str, arguments: Mapping[str, Json]) -> Derived:
    """The table with one column replaced, cell by cell: ``substring``, ``abs`` or ``datetime``."""
    place = table.position(key)
    notes: list[str] = []
    if operation == "datetime" and arguments.get("pattern") not in ("%Y", "%m", "%d"):
        notes.append("only %Y, %m and %d are known: any other pattern makes every ISO date NULL (S15)")
    cells = _transformed_cells(table, place, key, operation, arguments)
    settings = repr((operation, sorted(arguments.items(), key=lambda item: item[0])))
    frame = table.frame()
    series = frame.series[place]
    content = digest(settings.encode("utf-8", "surrogatepass"), series.key)
    changed = Series(raw_column(cells, content))
    own = Frame((*frame.series[:place], changed, *frame.series[place + 1 :]), table.count)
    return Derived(table.names, None, table.count, (table,), own, notes=tuple(notes))


def _transformed_cells(table: Table, place: int, key: str, operation: str, arguments: Mapping[str, Json]) -> list[Any]:
    cells = table.frame().series[place].iterate()
    try:
        if operation == "abs":
            return [abs(cell) for cell in cells]
        if operation == "substring":
            window = slice(arguments.get("start_index", 0), arguments.get("end_index", -1))
            return [cell[window] for cell in cells]
        pattern = arguments["pattern"]
        return [_date_part(cell, pattern) for cell in cells]
    except TypeError as error:
        raise ToolError(f"{operation} cannot be applied to every cell of {key}: {error}") from error


def _date_part(cell: Any, pattern: Json) -> Any:
    """Year, month or day of an ISO date; anything that is no ISO date stays as it is."""
    try:
        moment = datetime.fromisoformat(cell)
    except (ValueError, TypeError):
        return cell
    if pattern == "%Y":
        return moment.year
    if pattern == "%m":
        return moment.month
    return moment.day if pattern == "%d" else None


def stacked(first: Table, second: Table, pandas2: bool) -> Derived:
    """Rows of one table, then of the other; both must have the same column names."""
    if set(first.names) != set(second.names):
        only = sorted(set(first.names) ^ set(second.names))
        raise ToolError(f"the two tables must have the same columns; only one of them has {', '.join(only)}")
    above, below = inferred(first, pandas2), inferred(second, pandas2)
    dtypes, series = [], []
    joined: dict[tuple[int, int], Rows[int]] = {}
    for place, name in enumerate(first.names):
        other = second.position(name)
        upper, lower = above.frame.series[place], below.frame.series[other]
        if upper.column is lower.column and upper.base is lower.base and above.dtypes[place] == below.dtypes[other]:
            vector = joined.get((id(upper.rows), id(lower.rows)))
            if vector is None:
                vector = joined[id(upper.rows), id(lower.rows)] = upper.vector() + lower.vector()
            dtypes.append(above.dtypes[place])
            series.append(Series(upper.column, vector, upper.base))
            continue
        key = digest(b"stacked", upper.key, lower.key)
        dtype, column = concatenated(above.dtypes[place], upper, below.dtypes[other], lower, key)
        dtypes.append(dtype)
        series.append(Series(column))
    count = first.count + second.count
    return Derived(first.names, tuple(dtypes), count, (first, second), Frame(tuple(series), count))


def truncated(table: Table, count: int) -> Derived:
    kept = min(count, table.count)

    def recipe() -> Frame:
        frame = table.frame()
        return frame if kept == frame.size else frame.taken(array("I", range(kept)))

    return Derived(table.names, table.dtypes, kept, (table,), recipe=recipe)


def distinct_rows(table: Table) -> Derived:
    """Rows without repetition, first appearances kept."""
    columns = [map(_hashable, series.iterate()) for series in table.frame().series]
    seen: dict[tuple[Any, ...], int] = {}
    for row, cells in enumerate(zip(*columns, strict=True)):
        seen.setdefault(cells, row)
    positions = array("I", seen.values())
    return Derived(table.names, table.dtypes, len(positions), (table,), table.frame().selected(positions))


def _hashable(cell: Any) -> Any:
    return None if null(cell) else cell


# --- Calculator ------------------------------------------------------------------------------------------------------


def calculated(left: Json, right: Json, operation: str) -> tuple[Json, tuple[str, ...]]:
    """Arithmetic on numbers and lists (contract, section 1.8): lists of one and numbers broadcast."""
    notes: list[str] = []
    try:
        if not isinstance(left, list) and not isinstance(right, list):
            return _arithmetic(left, right, operation, notes), tuple(notes)
        first = left if isinstance(left, list) else [left]
        second = right if isinstance(right, list) else [right]
        if len(first) == 1 and len(second) > 1:
            first = first * len(second)
        elif len(second) == 1 and len(first) > 1:
            second = second * len(first)
        if len(first) != len(second):
            raise ToolError(f"lists of {len(first)} and {len(second)} numbers cannot be combined")
        results = [_arithmetic(one, other, operation, notes) for one, other in zip(first, second, strict=True)]
        if not all(type(result) is int for result in results):
            results = [float(result) for result in results]
    except OverflowError as error:
        raise ToolError(f"the result is too large: {error}") from error
    return results, tuple(dict.fromkeys(notes))


def _arithmetic(left: Any, right: Any, operation: str, notes: list[str]) -> Any:
    if left is None or right is None:
        return math.nan
    if operation == "add":
        return left + right
    if operation == "subtract":
        return left - right
    if operation == "multiply":
        return left * right
    if right > 0:
        return left / right
    notes.append("division by a negative number or by zero gives nan here (S9)")
    return math.nan
