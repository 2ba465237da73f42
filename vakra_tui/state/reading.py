"""Decoding large JSON texts in a worker without holding the interpreter: the screen draws between two members."""

from __future__ import annotations

import json
import re
from typing import Final

from toolenv.model import Json

SMALL: Final = 200_000
"""Characters that are decoded in one go, which takes a few milliseconds."""

OPENED: Final = 3
"""Containers inside each other that are decoded member by member; what they hold is decoded whole."""

_BLANK = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


def decoded(text: str) -> Json:
    """What ``json.loads`` gives for a text; raises ``ValueError`` for what is no JSON."""
    if len(text) <= SMALL:
        return json.loads(text)
    value, end = _value(text, _after_blanks(text, 0), 0)
    if _after_blanks(text, end) != len(text):
        raise ValueError(f"more text behind the value at {end}")
    return value


def _after_blanks(text: str, start: int) -> int:
    found = _BLANK.match(text, start)
    return found.end() if found is not None else start


def _value(text: str, start: int, depth: int) -> tuple[Json, int]:
    """The value that begins at ``start``, and where it ends."""
    sign = text[start : start + 1]
    if depth < OPENED and sign == "[":
        return _list(text, start, depth)
    if depth < OPENED and sign == "{":
        return _object(text, start, depth)
    return _DECODER.raw_decode(text, start)


def _list(text: str, start: int, depth: int) -> tuple[Json, int]:
    items: list[Json] = []
    place = _after_blanks(text, start + 1)
    if text[place : place + 1] == "]":
        return items, place + 1
    while True:
        value, place = _value(text, place, depth + 1)
        items.append(value)
        place, ended = _behind(text, place, "]")
        if ended:
            return items, place


def _object(text: str, start: int, depth: int) -> tuple[Json, int]:
    members: dict[str, Json] = {}
    place = _after_blanks(text, start + 1)
    if text[place : place + 1] == "}":
        return members, place + 1
    while True:
        if text[place : place + 1] != '"':
            raise ValueError(f"no name of a member at {place}")
        key, place = _DECODER.raw_decode(text, place)
        place = _after_blanks(text, place)
        if text[place : place + 1] != ":":
            raise ValueError(f"no colon at {place}")
        members[key], place = _value(text, _after_blanks(text, place + 1), depth + 1)
        place, ended = _behind(text, place, "}")
        if ended:
            return members, place


def _behind(text: str, place: int, end: str) -> tuple[int, bool]:
    """Where the next member begins, or what follows the container, and whether it ended."""
    place = _after_blanks(text, place)
    sign = text[place : place + 1]
    if sign == end:
        return place + 1, True
    if sign != ",":
        raise ValueError(f"neither a comma nor {end} at {place}")
    return _after_blanks(text, place + 1), False
