"""Decoding large JSON texts in a worker without holding the interpreter: the screen draws between two members."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final

from toolenv.model import Json

SMALL: Final = 200_000
"""Characters that are decoded in one go, which takes a few milliseconds."""

OPENED: Final = 2
"""Containers inside each other that are decoded member by member; what they hold is decoded whole."""

BATCH: Final = 50_000
"""Characters of a list's items that are decoded in one go."""

FEW: Final = 20
"""Members of a container that are opened in turn; of more each is small, and opening it costs more than it saves."""

_BLANK = re.compile(r"[ \t\n\r]*")
_COLON = re.compile(r"[ \t\n\r]*:[ \t\n\r]*")
_BEHIND_ITEM = re.compile(r"[ \t\n\r]*(?:(,)[ \t\n\r]*|\])")
_BEHIND_MEMBER = re.compile(r"[ \t\n\r]*(?:(,)[ \t\n\r]*|\})")
_SCAN: Final[Callable[[str, int], tuple[Json, int]]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def decoded(text: str) -> Json:
    """What ``json.loads`` gives for a text; raises ``ValueError`` for what is no JSON."""
    if len(text) <= SMALL:
        return json.loads(text)
    try:
        value, end = _value(text, _end(_BLANK, text, 0), 0)
    except StopIteration as error:
        raise ValueError(f"no value at {error.value}") from error
    if _end(_BLANK, text, end) != len(text):
        raise ValueError(f"more text behind the value at {end}")
    return value


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Where a match that has to begin at ``start`` ends. Raises ``ValueError``."""
    found = pattern.match(text, start)
    if found is None:
        raise ValueError(f"not JSON at {start}")
    return found.end()


def _value(text: str, start: int, depth: int) -> tuple[Json, int]:
    """The value that begins at ``start``, and where it ends."""
    sign = text[start : start + 1]
    if depth < OPENED and sign == "[":
        return _list(text, start)
    if depth < OPENED and sign == "{":
        return _object(text, start, depth)
    return _SCAN(text, start)


def _list(text: str, start: int) -> tuple[Json, int]:
    items: list[Json] = []
    place = _end(_BLANK, text, start + 1)
    if text[place : place + 1] == "]":
        return items, place + 1
    tried = False
    while True:
        value, place = _SCAN(text, place)
        items.append(value)
        if not tried:
            tried = True
            place = _batches(text, place, items)
        behind = _BEHIND_ITEM.match(text, place)
        if behind is None:
            raise ValueError(f"the list does not go on at {place}")
        place = behind.end()
        if behind[1] is None:
            return items, place


def _batches(text: str, place: int, items: list[Json]) -> int:
    """Decode many items at a time behind the one that ends at ``place``, as far as that goes; gives where they end.

    The text is cut where an item seems to end as the first one did. A piece that is a list of values by itself is what
    the whole has there, since it begins where an item does and a comma follows it.
    """
    ending = text[place - 1] + ","
    while text[place : place + 1] == "," and (cut := text.find(ending, place + BATCH)) >= 0:
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
            raise ValueError(f"no name of a member at {place}")
        key, place = _SCAN(text, place)
        place = _end(_COLON, text, place)
        members[key], place = _value(text, place, depth + 1) if len(members) < FEW else _SCAN(text, place)
        behind = _BEHIND_MEMBER.match(text, place)
        if behind is None:
            raise ValueError(f"the object does not go on at {place}")
        place = behind.end()
        if behind[1] is None:
            return members, place
