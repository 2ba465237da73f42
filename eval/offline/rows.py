"""Whether the values of a ground truth's rows stand together in the answer."""

from __future__ import annotations

from collections.abc import Sequence

from eval.offline.due import Due, Place, due_values, places_in
from eval.offline.numbers import numbers
from eval.offline.reading import Reading
from toolenv.model import Json
from toolenv.values import Key


def rows_mixed(truth: Json, reading: Reading) -> bool:
    """True where the answer gives rows whose values do not stand together in any of its lines, pieces or groups.

    Only rows that could be confused are looked at: several rows with at least two columns that vary.
    """
    rows = _rows(truth)
    if rows is None:
        return False
    varying = [index for index in range(len(rows[0])) if len({row[index].key for row in rows}) > 1]
    if len(varying) < 2:
        return False
    wanted = list(dict.fromkeys(frozenset(_mark(row[index]) for index in varying) for row in rows))
    due = list({_mark(row[index]): row[index] for row in rows for index in varying}.values())
    for separator in ("\n", ";"):
        pieces = reading.text.split(separator)
        if len(pieces) > 1:
            held = [frozenset(_mark(d) for d in due if places_in(d, piece, numbers(piece))) for piece in pieces]
            if all(any(row <= piece for piece in held) for row in wanted):
                return False
    return not _grouped(wanted, due, reading.text)


def _mark(due: Due) -> tuple[str, Key]:
    return due.kind, due.key


def _rows(truth: Json) -> list[list[Due]] | None:
    """The rows of an answer that is a list of equally long rows of two or more values; else None."""
    if not isinstance(truth, list) or len(truth) < 2 or not all(isinstance(row, list) for row in truth):
        return None
    rows = [[due for cell in row for due in due_values([cell])] for row in truth]
    width = len(rows[0])
    return rows if width > 1 and all(len(row) == width for row in rows) else None


def _grouped(wanted: Sequence[frozenset[tuple[str, Key]]], due: Sequence[Due], text: str) -> bool:
    """Whether the values, in the order in which the answer gives them, fall into the rows one after the other."""
    found = numbers(text)
    every: list[Place] = [place for d in due for place in places_in(d, text, found)]
    kept: list[Place] = []
    for place in sorted(every, key=lambda p: (p.start, -p.end)):
        if not kept or place.start >= kept[-1].end:
            kept.append(place)
    sequence = [_mark(place.due) for place in kept]
    left = list(wanted)
    position = 0
    while position < len(sequence):
        for row in left:
            if frozenset(sequence[position : position + len(row)]) == row:
                left.remove(row)
                position += len(row)
                break
        else:
            return False
    return not left or all(row in set(wanted) - set(left) for row in left)
