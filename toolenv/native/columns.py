"""Columns and the types that they print: immutable lists of cells, and the inference of the released environment.

The release turns every table into a data frame at each step and back into lists; what matters of that is which type
name a column prints and how its cells change on the way (contract, sections 1.2 and 4; names of pandas 3, or of pandas
2 by a setting). A ``Column`` holds the cells as the lists of the release would hold them:

* ``int``: integers of 64 bits; ``float``: floats, NaN where a cell is NULL;
* ``text``: strings, the one object ``NULL_TEXT`` where a cell is NULL (pandas 3 alone);
* ``text_none``, ``float_none``: the same with None where a cell is NULL;
* ``object``: anything else (mixed, bytes, NULL alone, integers beyond 64 bits).

A ``Series`` is a column seen through index vectors: selecting rows copies no cell.
"""

from __future__ import annotations

import weakref
from array import array
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

if TYPE_CHECKING:
    import numpy as np

Kind = Literal["int", "float", "text", "text_none", "float_none", "object"]

NULL_TEXT: Final = float("nan")
"""The NULL of a text column. One object, so that distinct values merge it, as the release does for text."""

LARGE: Final = 4096
"""Rows from which on numpy is worth its import."""

_INT64_MIN: Final = -(2**63)
_INT64_MAX: Final = 2**63 - 1
_UINT64_MAX: Final = 2**64 - 1
_NONE: Final = type(None)

Rows = array  # of unsigned positions, type code "I"


class Column:
    """Cells of one column, never changed after construction.

    ``key`` names the content: columns with equal keys hold equal cells. ``nulls`` is false only where no cell can be
    NULL. ``owner`` is false where the cells are those of other columns, so that keeping them costs little. ``origin``
    is the column that inference gives for a column with None in place of NaN.
    """

    __slots__ = ("_numbers", "_retrieved", "_whole", "key", "kind", "nulls", "origin", "owner", "values")

    def __init__(self, values: list[Any], kind: Kind, key: bytes, *, nulls: bool, origin: Column | None = None) -> None:
        self.values = values
        self.kind = kind
        self.key = key
        self.nulls = nulls
        self.origin = origin
        self.owner = True
        self._numbers: np.ndarray[Any, Any] | None = None
        self._retrieved: Column | None = None
        self._whole: tuple[str, Series] | None = None

    def inferred(self, pandas2: bool) -> tuple[str, Series]:
        """What inference gives for the whole column; found once, since neither cells nor setting change."""
        if self._whole is None:
            self._whole = _inferred_object(Series(self), pandas2)
        return self._whole

    def numbers(self) -> np.ndarray[Any, Any]:
        """The cells of an ``int`` or ``float`` column as a numpy array of 64 bits, made at first use."""
        if self._numbers is None:
            import numpy

            # By way of an array of machine numbers: twice as fast as numpy's own reading of a list.
            if self.kind == "int":
                self._numbers = numpy.frombuffer(array("q", self.values), dtype=numpy.int64)
            else:
                self._numbers = numpy.frombuffer(array("d", self.values), dtype=numpy.float64)
        return self._numbers

    def retrieved(self) -> Column:
        """The column with None for NaN: what ``retrieve_data`` and the getters hand out."""
        if not self.nulls or self.kind in ("int", "text_none", "float_none"):
            return self
        if self._retrieved is None:
            cells = [None if isinstance(cell, float) and cell != cell else cell for cell in self.values]
            kinds: dict[Kind, Kind] = {"float": "float_none", "text": "text_none"}
            kind = kinds.get(self.kind, "object")
            origin = None if kind == "object" else self
            self._retrieved = Column(cells, kind, self.key, nulls=True, origin=origin)
        return self._retrieved

    @property
    def cost(self) -> int:
        """Estimated bytes that the column keeps alive."""
        if not self.owner:
            return 8 * len(self.values) + 64
        sample = self.values[:: max(1, len(self.values) // 64)]
        cell = sum(cell.__sizeof__() for cell in sample if cell is not None) / max(1, len(sample))
        return int(len(self.values) * (8 + cell)) + 64


class Series(NamedTuple):
    """A column through up to two index vectors: cell ``i`` is ``values[base[rows[i]]]``.

    ``base`` joins a universe's rows to a stored table and is shared by all tables that come from that universe;
    ``rows`` is a table's own selection. None selects everything in order.
    """

    column: Column
    rows: Rows[int] | None = None
    base: Rows[int] | None = None

    @property
    def whole(self) -> bool:
        return self.rows is None and self.base is None

    @property
    def size(self) -> int:
        if self.rows is not None:
            return len(self.rows)
        return len(self.column.values if self.base is None else self.base)

    @property
    def key(self) -> bytes:
        """Names the cells: series with equal keys hold equal ones."""
        return self.column.key if self.whole else digest(self.column.key, rows_key(self.base), rows_key(self.rows))

    def vector(self) -> Rows[int]:
        """``rows``, written out where it is None."""
        return array("I", range(self.size)) if self.rows is None else self.rows

    def through(self, column: Column) -> Series:
        """The same selection of another column."""
        return Series(column, self.rows, self.base)

    def places(self, count: int | None = None) -> Iterable[int]:
        """Where the cells, or the first ``count`` of them, lie in the column."""
        if self.rows is None:
            places = range(len(self.column.values)) if self.base is None else self.base
            return places if count is None else places[:count]
        rows = self.rows if count is None else self.rows[:count]
        return rows if self.base is None else map(self.base.__getitem__, rows)

    def cells(self) -> list[Any]:
        """All cells in row order; the column's own list where nothing is selected (never change it)."""
        return self.column.values if self.whole else list(map(self.column.values.__getitem__, self.places()))

    def first(self, count: int) -> list[Any]:
        return [self.column.values[place] for place in self.places(count)]

    def iterate(self) -> Iterator[Any]:
        return map(self.column.values.__getitem__, self.places())

    def numbers(self) -> np.ndarray[Any, Any]:
        numbers = self.column.numbers()
        if self.whole:
            return numbers
        import numpy

        for vector in (self.base, self.rows):
            if vector is not None:
                numbers = numbers[numpy.frombuffer(vector, dtype=numpy.uint32)]
        return numbers


def digest(*parts: bytes) -> bytes:
    """A short digest of parts, unambiguous in where one ends."""
    state = blake2b(digest_size=16)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.digest()


_rows_keys: dict[int, tuple[weakref.ref[Rows[int]], bytes]] = {}
"""Keys of index vectors that are still there, by identity: the columns of many tables share a vector."""


def rows_key(rows: Rows[int] | None) -> bytes:
    """Names the rows that an index vector selects; vectors are never changed, so it is worked out once."""
    if rows is None:
        return b"all"
    identity = id(rows)
    known = _rows_keys.get(identity)
    if known is not None and known[0]() is rows:
        return known[1]
    found = digest(rows.tobytes())

    def forget(reference: weakref.ref[Rows[int]]) -> None:
        held = _rows_keys.get(identity)
        if held is not None and held[0] is reference:
            del _rows_keys[identity]

    _rows_keys[identity] = weakref.ref(rows, forget), found
    return found


def null(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and cell != cell)


def infer(series: Series, pandas2: bool) -> tuple[str, Series]:
    """The type name that a step prints for a column and the cells that the step works on.

    A column of no rows is ``float64``, as an empty list is.
    """
    column = series.column
    count = series.size
    if count == 0:
        return "float64", series
    kind = column.kind
    if kind == "int":
        return "int64", series
    if kind == "float":
        return "float64", series
    if kind == "text":
        if not column.nulls or _any_text(series):
            return "str", series
        cells = [float("nan") for _ in range(count)]
        return "float64", Series(Column(cells, "float", digest(b"nulls", str(count).encode()), nulls=True))
    if kind == "text_none":
        if pandas2 or not _any_text(series):
            return "object", series
        return "str", series.through(column.origin or _with_null_text(column))
    if kind == "float_none":
        if column.origin is None or all(cell is None for cell in series.iterate()):
            return "object", series
        return "float64", series.through(column.origin)
    return column.inferred(pandas2) if series.whole else _inferred_object(series, pandas2)


def opened(series: Series, pandas2: bool) -> tuple[str, Series]:
    """``infer`` for a column as a universe opens it: no rows, or NULL alone, print ``object`` and hold None."""
    column = series.column
    count = series.size
    if count == 0:
        return "object", Series(Column([], "object", digest(b"nothing"), nulls=True))
    if column.kind in ("text", "float") and column.nulls and all(map(null, series.iterate())):
        return "object", Series(
            Column([None] * count, "object", digest(b"nulls", str(count).encode()), nulls=True), None
        )
    if column.kind == "object" and not series.whole:
        name, whole = column.inferred(pandas2)
        if name == "float64" and set(map(type, series.iterate())) not in ({int}, {_NONE}):
            return name, series.through(whole.column)
    return infer(series, pandas2)


def column_of(cells: list[Any], key: bytes, pandas2: bool) -> tuple[str, Column]:
    """The column that a fresh list of cells becomes, and its type name (``float64`` where it is empty)."""
    name, series = infer(Series(Column(cells, "object", key, nulls=True)), pandas2)
    return name, series.column


def raw_column(cells: list[Any], key: bytes) -> Column:
    """A column that keeps the given cells exactly; inference looks at them when a later step needs it."""
    types = set(map(type, cells))
    if types == {int} and min(cells) >= _INT64_MIN and max(cells) <= _INT64_MAX:
        return Column(cells, "int", key, nulls=False)
    if types == {float}:
        return Column(cells, "float", key, nulls=any(cell != cell for cell in cells))
    return Column(cells, "object", key, nulls=True)


def unique(series: Series) -> list[Any]:
    """Distinct cells in order of first appearance, by Python's equality; every NaN of a float column counts (S6)."""
    cells = series.cells()
    if series.column.kind != "float" or not series.column.nulls:
        return list(dict.fromkeys(cells))
    seen: set[Any] = set()
    kept: list[Any] = []
    for cell in cells:
        if cell != cell:
            kept.append(cell)
        elif cell not in seen:
            seen.add(cell)
            kept.append(cell)
    return kept


def concatenated(name_1: str, first: Series, name_2: str, second: Series, key: bytes) -> tuple[str, Column]:
    """Cells of one column below those of another, in their common type: numbers meet as floats, else as objects."""
    name, column = _concatenated(name_1, first, name_2, second, key)
    column.owner = False
    return name, column


def _concatenated(name_1: str, first: Series, name_2: str, second: Series, key: bytes) -> tuple[str, Column]:
    cells: list[Any] = [*first.cells(), *second.cells()]
    if name_1 == name_2:
        column = first.column
        if name_1 == "int64":
            return name_1, Column(cells, "int", key, nulls=False)
        if name_1 == "float64":
            return name_1, Column(cells, "float", key, nulls=True)
        if name_1 == "str":
            return name_1, Column(cells, "text", key, nulls=column.nulls or second.column.nulls)
        return name_1, Column(cells, "object", key, nulls=True)
    numeric = {"int64", "float64", "uint64"}
    if name_1 in numeric and name_2 in numeric:
        return "float64", Column([float(cell) for cell in cells], "float", key, nulls=True)
    return "object", Column(cells, "object", key, nulls=True)


def _any_text(series: Series) -> bool:
    return any(type(cell) is str for cell in series.iterate())


def _with_null_text(column: Column) -> Column:
    cells = [NULL_TEXT if cell is None else cell for cell in column.values]
    return Column(cells, "text", column.key, nulls=column.nulls)


def _inferred_object(series: Series, pandas2: bool) -> tuple[str, Series]:
    cells = series.cells()
    key = series.key
    if not pandas2 and all_text(cells):
        return "str", Series(Column(cells, "text", key, nulls=False))
    types = set(map(type, cells))
    has_null = _NONE in types
    kinds = types - {_NONE}
    if kinds == {int} and not has_null:
        low, high = min(cells), max(cells)
        if low >= _INT64_MIN and high <= _INT64_MAX:
            return "int64", Series(Column(cells, "int", key, nulls=False))
        return ("uint64" if low >= 0 and high <= _UINT64_MAX else "object"), series
    if kinds and kinds <= {int, float}:
        if int in kinds and not _fits(cell for cell in cells if type(cell) is int):
            return "object", series
        floats = [float("nan") if cell is None else float(cell) for cell in cells]
        nulls = has_null or any(cell != cell for cell in floats)
        return "float64", Series(Column(floats, "float", key, nulls=nulls))
    if str in kinds and kinds <= {str, float} and not pandas2:
        if float in kinds and not all(cell != cell for cell in cells if type(cell) is float):
            return "object", series
        texts = [cell if type(cell) is str else NULL_TEXT for cell in cells]
        return "str", Series(Column(texts, "text", key, nulls=True))
    if kinds == {str}:
        return "object", Series(Column(cells, "text_none", key, nulls=has_null))
    return "object", series


def all_text(cells: list[Any]) -> bool:
    """Whether every cell is text; joining them finds out faster than looking at each type."""
    if not cells or type(cells[0]) is not str:
        return False
    try:
        "".join(cells)
    except TypeError:
        return False
    return True


def _fits(numbers: Iterable[int]) -> bool:
    """Whether integers can be told apart from objects: none beyond 64 bits, signed and unsigned not mixed."""
    low, high = 0, 0
    for number in numbers:
        low, high = min(low, number), max(high, number)
    return low >= _INT64_MIN and high <= _UINT64_MAX


def known_rows(series: Series, cells: list[Any]) -> list[int]:
    """Rows of a series whose cell is not NULL."""
    kind = series.column.kind
    if kind == "text":
        return [row for row, cell in enumerate(cells) if cell is not NULL_TEXT]
    if kind == "float":
        return [row for row, cell in enumerate(cells) if cell == cell]
    return [row for row, cell in enumerate(cells) if not null(cell)]


def take(rows: Rows[int] | None, positions: Rows[int]) -> Rows[int]:
    """The index vector that selects ``positions`` of what ``rows`` selects."""
    if rows is None:
        return positions
    if len(positions) < LARGE:
        return array("I", map(rows.__getitem__, positions))
    import numpy

    chosen = numpy.frombuffer(rows, dtype=numpy.uint32)[numpy.frombuffer(positions, dtype=numpy.uint32)]
    return array("I", chosen.tobytes())
