"""Whether the values of a ground truth's rows stand together in the answer."""

from __future__ import annotations

from collections.abc import Sequence

from eval.offline.due import Due, DueIndex, Place, due_values
from eval.offline.reading import Reading, json_of, prepared
from toolenv.model import Json
from toolenv.values import Key, atoms


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
    due = DueIndex(list({_mark(row[index]): row[index] for row in rows for index in varying}.values()))
    listed = json_of(reading.raw)
    rows_given = [prepared(", ".join(map(str, atoms(row)))) for row in listed] if isinstance(listed, list) else []
    for pieces in (rows_given, reading.text.split("\n"), reading.text.split(";")):
        if len(pieces) > 1:
            holding: dict[tuple[str, Key], list[set[tuple[str, Key]]]] = {}
            for piece in pieces:
                marks = {_mark(d) for d in due.given(piece)}
                for mark in marks:
                    holding.setdefault(mark, []).append(marks)
            if all(any(row <= marks for marks in holding.get(next(iter(row)), ())) for row in wanted):
                return False
    return not _grouped(set(wanted), due.places(reading.text), len(varying))


def _mark(due: Due) -> tuple[str, Key]:
    return due.kind, due.key


def _rows(truth: Json) -> list[list[Due]] | None:
    """The rows of an answer that is a list of equally long rows of two or more values; else None."""
    if not isinstance(truth, list) or len(truth) < 2 or not all(isinstance(row, list) for row in truth):
        return None
    rows = [[due for cell in row for due in due_values([cell])] for row in truth]
    width = len(rows[0])
    return rows if width > 1 and all(len(row) == width for row in rows) else None


def _grouped(wanted: set[frozenset[tuple[str, Key]]], places: Sequence[Place], width: int) -> bool:
    """Whether the values, in the order in which the answer gives them, fall into the rows one after the other."""
    kept: list[Place] = []
    for place in places:
        if not kept or place.start >= kept[-1].end:
            kept.append(place)
    sequence = [_mark(place.due) for place in kept]
    seen = set()
    position = 0
    while position < len(sequence):
        for length in range(width, 0, -1):
            group = frozenset(sequence[position : position + length])
            if group in wanted:
                seen.add(group)
                position += length
                break
        else:
            return False
    return seen == wanted
