"""What a response establishes (contract, "Facts").

Values printed in its text are facts; structure, key names and handle names are not. A peek shows cells and the number
of rows. An empty result is a fact of its own. A retrieved passage is one fact, its text. The table behind a handle
gives facts besides, which are compared lazily (``sessions.dataflow.tables``).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock

from sessions.dataflow.calls import MadeCall
from sessions.dataflow.printed import Printed
from sessions.dataflow.searched import SearchedText
from toolenv.environment import TableView
from toolenv.model import Json, Source
from toolenv.values import Atom, atoms, decode, key, normal_text


@dataclass(frozen=True, slots=True)
class ResponseFacts:
    """The facts of one successful response.

    ``printed`` maps the key of each printed value to the value as printed, in document order. ``lengths`` are the
    numbers of items of its lists and of rows of its peek. ``passages`` are retrieved texts as printed. ``lists`` are
    its lists of numbers, from which sums and extremes follow. ``searched`` are the passages, ready to be searched.
    """

    printed: Printed
    passages: tuple[str, ...] = ()
    empty: bool = False
    lengths: tuple[int, ...] = ()
    lists: tuple[tuple[int | float, ...], ...] = ()
    records: int | None = None
    table: TableView | None = None
    structure: frozenset[str] = frozenset()
    searched: tuple[SearchedText, ...] = field(init=False, repr=False, compare=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "searched", tuple(map(SearchedText, self.passages)))

    @property
    def passage_keys(self) -> tuple[str, ...]:
        return tuple(normal_text(passage) for passage in self.passages)


def facts_of(made: MadeCall) -> ResponseFacts | None:
    """The facts of a call's response; None for a call that failed."""
    if made.failed:
        return None
    return response_facts(made.text, made.source, made.table)


def response_facts(text: str, source: Source, table: TableView | None = None) -> ResponseFacts:
    """The facts of a successful response text; ``source`` tells a retriever's envelope from an endpoint's fields."""
    found = _read.get(text, source)
    return found if table is None else replace(found, table=table)


class _Reader:
    """Reads texts and remembers the last ones: provenance, checks and gates ask for the same ones again and again.

    What is kept is bounded by the characters of its texts.
    """

    def __init__(self, characters: int) -> None:
        self._room = characters
        self._used = 0
        self._known: OrderedDict[tuple[str, Source], ResponseFacts] = OrderedDict()
        self._lock = Lock()

    def get(self, text: str, source: Source) -> ResponseFacts:
        place = (text, source)
        with self._lock:
            found = self._known.get(place)
            if found is not None:
                self._known.move_to_end(place)
                return found
        found = _read_text(text, source)
        with self._lock:
            if place not in self._known:
                self._known[place] = found
                self._used += len(text)
            while self._used > self._room and self._known:
                (old, _), _ = self._known.popitem(last=False)
                self._used -= len(old)
        return found


_read = _Reader(characters=8_000_000)


def _read_text(text: str, source: Source) -> ResponseFacts:
    value = decode(text)
    if source == "RAG":
        return _retrieved(value)
    if _is_peek(value):
        return _peeked(value)
    printed = _printed(atoms(value))
    empty = not printed if isinstance(value, dict | list) else isinstance(value, str) and not value.strip()
    containers = list(_containers(value))
    lists = [item for item in containers if isinstance(item, list)]
    return ResponseFacts(
        printed=Printed() if empty else printed,
        empty=empty,
        lengths=tuple(map(len, lists)),
        lists=tuple(numbers for items in lists for numbers in _number_lists(items)),
        structure=frozenset().union(*(item for item in containers if isinstance(item, dict))),
    )


def _printed(values: Iterator[Atom]) -> Printed:
    printed = Printed()
    for value in values:
        printed.setdefault(key(value), value)
    return printed


def _is_peek(value: Json) -> bool:
    return isinstance(value, dict) and "num_records" in value and isinstance(value.get("key_details"), list)


def _peeked(peek: Mapping[str, Json]) -> ResponseFacts:
    details = [part for part in peek["key_details"] if isinstance(part, dict)]
    cells = [cell for part in details for cell in atoms(part.get("first_3_values") or [])]
    number = peek["num_records"]
    records = number if isinstance(number, int) and not isinstance(number, bool) else None
    printed = _printed(iter([*atoms(number), *cells]))
    names = frozenset(name for part in details if isinstance(name := part.get("name"), str))
    return ResponseFacts(
        printed=printed,
        empty=records == 0,
        lengths=() if records is None else (records,),
        records=records,
        structure=names,
    )


def _retrieved(value: Json) -> ResponseFacts:
    passages = tuple(_passages(value))
    return ResponseFacts(printed=Printed(), passages=passages, empty=not passages)


def _passages(value: Json) -> Iterator[str]:
    """The texts of an envelope, in order: of objects that have ``text``, else of bare lists and texts."""
    stack: list[Json] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            text = item.get("text")
            if isinstance(text, str):
                if text.strip():
                    yield text
            else:
                stack.extend(reversed([part for part in item.values() if isinstance(part, dict | list)]))
        elif isinstance(item, list):
            stack.extend(reversed(item))
        elif isinstance(item, str) and item.strip():
            yield item


def _containers(value: Json) -> Iterator[list[Json] | dict[str, Json]]:
    """Every list and object of a decoded value in document order, however deep."""
    stack: list[Json] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, list | dict):
            yield item
            stack.extend(reversed(item if isinstance(item, list) else list(item.values())))


def _number_lists(items: list[Json]) -> Iterator[tuple[int | float, ...]]:
    """The numbers of a flat list, and of each field of a list of objects or rows."""
    if items and all(isinstance(item, dict) for item in items):
        names = dict.fromkeys(name for item in items for name in item)
        columns: list[list[Json]] = [[item.get(name) for item in items] for name in names]
    elif items and all(isinstance(item, list) for item in items):
        columns = [list(column) for column in zip(*items, strict=False)]
    else:
        columns = [items]
    for column in columns:
        numbers = tuple(number for number in map(_number, column) if number is not None)
        if numbers:
            yield numbers


def _number(value: Json) -> int | float | None:
    if value is None or isinstance(value, dict | list):
        return None
    found = key(value)
    return found if isinstance(found, int | float) else None
