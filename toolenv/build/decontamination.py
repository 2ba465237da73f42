"""Keeping the sources apart: a passage must not answer what a dashboard is asked, nor a database what a passage is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from toolenv.build.database_schema import quoted, read_schema
from toolenv.build.source import Passage
from toolenv.model import Json, Value
from toolenv.values import normal_text, occurs

_SHORTEST_ENTITY = 3
_SHORTEST_TEXT = 4
_SHORTEST_NUMBER = 3


class AskedFact(Value, frozen=True):
    """What one API hop asks about (the values of its arguments) and what it gives (its answer's values)."""

    hop: str
    entities: tuple[str, ...]
    answers: tuple[str, ...]


class Leak(Value, frozen=True):
    """A passage that answers an API hop. ``collection`` is empty where only one is asked about."""

    doc_id: str
    hop: str
    answer: str
    collection: str = ""


def asked_fact(query: str, arguments: Iterable[Json], rows: Iterable[Sequence[Json]]) -> AskedFact:
    """The fact of one hop; values too short to be told from chance are left out."""
    return AskedFact(
        hop=query,
        entities=tuple(str(a) for a in arguments if isinstance(a, str) and len(a) >= _SHORTEST_ENTITY),
        answers=tuple(dict.fromkeys(_written(v) for row in rows for v in row if _telling(v))),
    )


def leaks(passages: Iterable[Passage], facts: Sequence[AskedFact], collection: str = "") -> list[Leak]:
    """Every passage that names an entity of a hop together with one of its answers."""
    found = []
    for passage in passages:
        for fact in facts:
            if not any(occurs(entity, passage.text) for entity in fact.entities):
                continue
            answer = next(
                (a for a in fact.answers if not any(occurs(a, e) for e in fact.entities) and occurs(a, passage.text)),
                None,
            )
            if answer is not None:
                found.append(Leak(doc_id=passage.doc_id, hop=fact.hop, answer=answer, collection=collection))
    return found


def text_cells(connection: sqlite3.Connection) -> frozenset[str]:
    """Every text cell of a database, normalised, to see whether a passage's answer is in it."""
    cells: set[str] = set()
    for table in read_schema(connection).tables:
        for column in table.columns:
            name = quoted(column.name)
            for (value,) in connection.execute(
                f"SELECT DISTINCT {name} FROM {quoted(table.name)} WHERE typeof({name}) = 'text'"
            ):
                cells.add(normal_text(value))
    return frozenset(cells)


def _telling(value: Json) -> bool:
    if isinstance(value, str):
        return len(value) >= _SHORTEST_TEXT
    return isinstance(value, int | float) and len(str(value)) >= _SHORTEST_NUMBER


def _written(value: Json) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
