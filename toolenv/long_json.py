"""Decoding long JSON texts so that other threads have their turn meanwhile.

The decoder of the standard library is one call that nothing interrupts, 30 ms and more for 5 MB: whoever draws a screen
waits for it. Here the text is decoded member by member, with a call back into Python for each object that is made, and
between two of those the interpreter lets others in. The values are those of ``json.loads``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from toolenv.model import Json

SHORT: Final = 200_000
"""Characters that are decoded in one go, which takes a few milliseconds."""

OPENED: Final = 6
"""Containers inside each other that are decoded member by member."""

FEW: Final = 20
"""Members of a container that are opened in turn; of more each is small, and opening it costs more than it saves."""

BATCH: Final = 50_000
"""Characters of a list's items that are decoded in one go, and a fourth of what may be."""

AGAIN: Final = 64
"""Items that are decoded one by one where batches failed; twice as many each time that they fail again."""

_BLANK = re.compile(r"[ \t\n\r]*")
_COLON = re.compile(r"[ \t\n\r]*:[ \t\n\r]*")
_BEHIND_ITEM = re.compile(r"[ \t\n\r]*(?:(,)[ \t\n\r]*|\])")
_BEHIND_MEMBER = re.compile(r"[ \t\n\r]*(?:(,)[ \t\n\r]*|\})")


def _same(value: dict[str, Json]) -> Json:
    """Called for each object that was decoded: the interpreter may let another thread in."""
    return value


_DECODER: Final = json.JSONDecoder(object_hook=_same)
_SCAN: Final[Callable[[str, int], tuple[Json, int]]] = _DECODER.scan_once  # type: ignore[attr-defined]


class _Odd(Exception):
    """Not JSON, or not in a way that is read here."""


def loads(text: str | bytes) -> Json:
    """What ``json.loads`` gives for a text, and the errors that it raises."""
    if len(text) <= SHORT:
        return json.loads(text)
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    with suppress(_Odd, StopIteration, ValueError):
        value, end = _value(text, _end(_BLANK, text, 0), 0)
        if _end(_BLANK, text, end) == len(text):
            return value
    # What is wrong, and where, is told in one way only.
    return json.loads(text, object_hook=_same)


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Where a match that has to begin at ``start`` ends."""
    found = pattern.match(text, start)
    if found is None:
        raise _Odd
    return found.end()


def _value(text: str, start: int, depth: int) -> tuple[Json, int]:
    """The value that begins at ``start``, and where it ends."""
    sign = text[start : start + 1]
    if depth < OPENED and sign == "[":
        return _list(text, start, depth)
    if depth < OPENED and sign == "{":
        return _object(text, start, depth)
    return _SCAN(text, start)


def _list(text: str, start: int, depth: int) -> tuple[Json, int]:
    items: list[Json] = []
    place = _end(_BLANK, text, start + 1)
    if text[place : place + 1] == "]":
        return items, place + 1
    patience, wait = AGAIN, 1
    while True:
        value, place = _value(text, place, depth + 1) if len(items) < FEW else _SCAN(text, place)
        items.append(value)
        wait -= 1
        if not wait:
            before = place
            place = _batches(text, place, items)
            patience = AGAIN if place > before else 2 * patience
            wait = patience
        behind = _BEHIND_ITEM.match(text, place)
        if behind is None:
            raise _Odd
        place = behind.end()
        if behind[1] is None:
            return items, place


def _batches(text: str, place: int, items: list[Json]) -> int:
    """Decode many items at a time behind the one that ends at ``place``, as far as that goes; gives where they end.

    The text is cut where an item seems to end as that one did. A piece that is a list of values by itself is what
    the whole has there, since it begins where an item does and a comma follows it.
    """
    ending = text[place - 1] + ","
    while text[place : place + 1] == ",":
        cut = text.find(ending, place + BATCH, place + 4 * BATCH)
        if cut < 0:
            break
        try:
            items += json.loads(f"[{text[place + 1 : cut + 1]}]")
        except ValueError:
            break
        place = cut + 1
    return place


def _object(text: str, start: int, depth: int) -> tuple[Json, int]:
    members: dict[str, Json] = {}
    place = _end(_BLANK, text, start + 1)
    if text[place : place + 1] == "}":
        return members, place + 1
    while True:
        if text[place : place + 1] != '"':
            raise _Odd
        key, place = _SCAN(text, place)
        place = _end(_COLON, text, place)
        value, place = _value(text, place, depth + 1) if len(members) < FEW else _SCAN(text, place)
        members[str(key)] = value
        behind = _BEHIND_MEMBER.match(text, place)
        if behind is None:
            raise _Odd
        place = behind.end()
        if behind[1] is None:
            return members, place
