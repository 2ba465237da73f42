"""Arithmetic of index vectors: plain Python for small tables, numpy for large ones.

numpy takes a while to import and nothing else on the way to a first small answer needs it.
"""

from __future__ import annotations

import operator
from array import array
from collections.abc import Callable, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

from toolenv.native.columns import LARGE, Rows, Series

if TYPE_CHECKING:
    import numpy as np


def flagged(flags: bytearray, series: Series) -> Rows[int]:
    """The rows of a series whose cell lies at a flagged place of its column."""
    if series.size < LARGE:
        return array("I", compress(range(series.size), map(flags.__getitem__, series.places())))
    import numpy

    marks = numpy.frombuffer(flags, dtype=numpy.bool_)
    places = numbered(series)
    return rows_of(numpy.flatnonzero(marks if places is None else marks[places]))


def compared(series: Series, compare: Callable[[Any, Any], Any], value: float) -> Rows[int]:
    """The rows of a series of numbers for which a comparison holds; NaN is unequal to all and ordered against none."""
    import numpy

    return rows_of(numpy.flatnonzero(compare(series.numbers(), value)))


def numbered(series: Series) -> np.ndarray[Any, Any] | None:
    """Where the cells of a series lie in its column; None for all in order."""
    import numpy

    vectors = [
        numpy.frombuffer(vector, dtype=numpy.uint32) for vector in (series.base, series.rows) if vector is not None
    ]
    if len(vectors) == 2:
        return vectors[0][vectors[1]]
    return vectors[0] if vectors else None


def rows_of(numbers: np.ndarray[Any, Any]) -> Rows[int]:
    import numpy

    return array("I", numbers.astype(numpy.uint32).tobytes())


def rows_of_text(text: str) -> Rows[int]:
    """Row numbers out of their text, separated by commas."""
    if text.count(",") < LARGE:
        return array("I", map(int, text.split(",")))
    import numpy

    return array("I", numpy.fromstring(text, dtype=numpy.uint32, sep=",").tobytes())


def order_of_keys(keys: np.ndarray[Any, Any], ascending: bool) -> np.ndarray[Any, Any]:
    """A stable order of keys; descending keeps ties in their order too."""
    import numpy

    if ascending:
        return numpy.argsort(keys, kind="stable")
    return len(keys) - 1 - numpy.argsort(keys[::-1], kind="stable")[::-1]


def order_of_numbers(numbers: np.ndarray[Any, Any], ascending: bool) -> Rows[int]:
    """Rows in the order of their numbers, NaN last."""
    import numpy

    missing = numpy.isnan(numbers) if numbers.dtype == numpy.float64 else None
    if missing is None or not missing.any():
        return rows_of(order_of_keys(numbers, ascending))
    known = numpy.flatnonzero(~missing)
    return rows_of(numpy.concatenate([known[order_of_keys(numbers[known], ascending)], numpy.flatnonzero(missing)]))


def order_of_texts(series: Series, places: Sequence[int], ascending: bool) -> Rows[int]:
    """Rows in the order of their texts, NULL last; ``places`` are those of the column's texts in ascending order.

    Each text gets a rank, equal ones the same; rows are then put in the order of small numbers.
    """
    import numpy

    texts = list(map(series.column.values.__getitem__, places))
    changes = numpy.fromiter(map(operator.ne, texts[1:], texts), dtype=numpy.bool_, count=max(0, len(texts) - 1))
    ranks = numpy.concatenate([numpy.zeros(min(1, len(texts)), dtype=numpy.int32), numpy.cumsum(changes)])
    highest = int(ranks[-1]) + 1 if len(texts) else 0
    kind = numpy.int16 if highest < 2**15 else numpy.int32
    keys = numpy.full(len(series.column.values), highest, dtype=kind)
    keys[numpy.array(places, dtype=numpy.int64)] = ranks if ascending else highest - 1 - ranks
    where = numbered(series)
    return rows_of(numpy.argsort(keys if where is None else keys[where], kind="stable"))
