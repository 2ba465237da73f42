"""What the tools compute, as the released tools do (contract, sections 1.6 to 1.8), on columns instead of data frames.

Table operations give a ``Derived``: the names, the printed types, and the recipe that makes the rows. Failures are
``ToolError``; its message is a sentence for whoever made the call. Notes say where a result is a known quirk (S rows
of the contract, section 4).
"""

from __future__ import annotations

import math
import operator
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain, compress, repeat
from typing import Any, NamedTuple

from toolenv.model import Json
from toolenv.native.columns import (
    NULL_TEXT,
    Rows,
    Series,
    concatenated,
    digest,
    infer,
    null,
    raw_column,
    unique,
)
from toolenv.native.patterns import Matcher, PatternError, contains, has_wildcards, like, like_differs, rows_holding
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


def made_by(make: Callable[[], Derived], budget: Budget) -> tuple[Table, tuple[str, ...]]:
    """The table that a step makes and the step's notes. Rows dropped later are made by running the step again."""
    derived = make()

    def again() -> Frame:
        frame = make().frame
        assert frame is not None
        return frame

    table = Table(
        derived.names,
        derived.dtypes,
        derived.size,
        derived.recipe or again,
        budget,
        derived.parents,
        derived.frame,
        derived.firsts,
    )
    return table, derived.notes


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


# --- filter ----------------------------------------------------------------------------------------------------------

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
            return array("I", _known_rows(series, series.cells()) if nulls else range(series.size))
        return array("I")
    if dtype == "float64" and isinstance(value, int):
        try:
            value = float(value)
        except OverflowError as error:
            raise ToolError(f"{value} is too large to be compared with {key}, which holds floats") from error
    if isinstance(value, float) and value != value:
        return array("I", range(series.size) if condition == "not_equal_to" else [])
    compare = _COMPARISONS[condition]
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
    column, base = series.column, series.base
    size = series.size
    if base is not None and column.kind != "object" and len(column.values) <= size:
        passed = list(test(column.values))
        return array("I", compress(range(size), map(passed.__getitem__, series.places())))
    return array("I", compress(range(size), test(series.cells())))


def _known_rows(series: Series, cells: list[Any]) -> list[int]:
    """Rows whose cell is not NULL."""
    kind = series.column.kind
    if kind == "text":
        return [row for row, cell in enumerate(cells) if cell is not NULL_TEXT]
    if kind == "float":
        return [row for row, cell in enumerate(cells) if cell == cell]
    return [row for row, cell in enumerate(cells) if not null(cell)]


def _containing(series: Series, dtype: str, value: Any, key: str, notes: list[str]) -> Rows[int]:
    if dtype not in ("str", "object") or any(isinstance(cell, bytes) for cell in series.iterate()):
        raise ToolError(f"contains needs a text column; {key} holds {dtype} cells")
    if not isinstance(value, str):
        raise ToolError(f"contains needs a text to look for in {key}, not {value!r}")
    if has_wildcards(value):
        notes.append(f"contains reads {value!r} as a regular expression, not as plain text (S12)")
    elif dtype == "str" and (rows := _rows_holding(series, value)) is not None:
        return rows
    cells = series.cells()
    texts = {cell for cell in cells if type(cell) is str}
    found = _matching(texts, lambda: contains(value, texts, arrow=dtype == "str"))
    return array("I", [row for row, cell in enumerate(cells) if type(cell) is str and cell in found])


def _rows_holding(series: Series, wanted: str) -> Rows[int] | None:
    """``rows_holding``, on the stored cells where a join repeats them."""
    values, size = series.column.values, series.size
    if series.base is None or len(values) > size:
        return rows_holding(series.cells(), wanted)
    found = rows_holding(values, wanted)
    if found is None:
        return None
    flags = bytearray(len(values))
    for place in found:
        flags[place] = 1
    return array("I", compress(range(size), map(flags.__getitem__, series.places())))


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


# --- sort ------------------------------------------------------------------------------------------------------------


def sorted_by(table: Table, key: str, ascending: bool, pandas2: bool) -> Derived:
    """Rows in the order of a column: stable both ways, NULL last both ways, text by code point."""
    if table.count == 0:
        raise ToolError("the table is empty: there is nothing to sort")
    step = inferred(table, pandas2)
    series = step.frame.series[table.position(key)]
    try:
        cells = series.cells()
        positions = _order(cells, ascending, _known_rows(series, cells) if series.column.nulls else None)
    except TypeError as error:
        raise ToolError(f"the cells of {key} cannot be put in one order: {error}") from error
    return Derived(table.names, step.dtypes, table.count, (table,), step.frame.taken(positions))


def sorted_by_ranking(table: Table, ranking: Sequence[Any], ascending: bool, pandas2: bool) -> Derived:
    if not ranking:
        raise ToolError("ranking_array is empty: it must hold one number for each row")
    if len(ranking) != table.count:
        raise ToolError(f"ranking_array holds {len(ranking)} numbers for {table.count} rows: it must hold one for each")
    step = inferred(table, pandas2)
    numbers = [math.nan if number is None else number for number in ranking]
    known = [row for row, number in enumerate(numbers) if number == number]
    frame = step.frame.taken(_order(numbers, ascending, known))
    return Derived(table.names, step.dtypes, table.count, (table,), frame)


def _order(cells: list[Any], ascending: bool, known: list[int] | None) -> Rows[int]:
    """Row numbers in order; ``known`` are the rows that are not NULL, None where all are."""
    rows: Sequence[int] = range(len(cells)) if known is None else known
    if len(set(cells[:: len(cells) // 256 + 1])) < 64:
        ordered = _grouped_order(cells, rows, ascending)
    else:
        ordered = sorted(rows, key=cells.__getitem__, reverse=not ascending)
    if len(ordered) < len(cells):
        ordered += sorted(set(range(len(cells))).difference(ordered))
    return array("I", ordered)


def _grouped_order(cells: list[Any], rows: Sequence[int], ascending: bool) -> list[int]:
    """A stable order by way of the distinct cells: faster than comparing rows where these are few."""
    groups: dict[Any, list[int]] = {}
    for row in rows:
        group = groups.get(cells[row])
        if group is None:
            groups[cells[row]] = [row]
        else:
            group.append(row)
    return list(chain.from_iterable(map(groups.__getitem__, sorted(groups, reverse=not ascending))))


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
