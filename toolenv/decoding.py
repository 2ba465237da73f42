"""Decoding JSON that others wrote, so that whatever comes out can be walked, compared and written again.

A value nested more deeply than ``MAX_DEPTH`` is refused here, at the door: what walks a value by recursion behind it
needs no guard of its own, and whether a record can be used does not depend on how deep the stack is when it is read.
"""

from __future__ import annotations

import json
from typing import Final

from toolenv.model import Json

MAX_DEPTH: Final = 100
"""Lists and objects inside each other; no tool's arguments and no answer come near it."""

TOO_DEEP: Final = f"is nested too deeply (more than {MAX_DEPTH} levels)"
TOO_LONG_NUMBER: Final = "holds a number of more digits than can be read"


class TooDeep(ValueError):
    """The value is nested more deeply than ``MAX_DEPTH``."""

    def __init__(self) -> None:
        super().__init__(TOO_DEEP)


def decoded(text: str | bytes) -> Json:
    """The value of a JSON text. Raises ValueError, and nothing else, for what is not JSON or is nested too deeply."""
    try:
        value: Json = json.loads(text)
    except RecursionError as error:
        raise TooDeep from error
    if is_too_deep(value):
        raise TooDeep
    return value


def is_too_deep(value: Json) -> bool:
    """Whether lists and objects lie more than ``MAX_DEPTH`` deep in each other."""
    level: list[Json] = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        if not level:
            return False
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
    return bool(level)


def what_is_wrong(error: Exception) -> str:
    """The end of a sentence about a text that could not be decoded: ``is not valid JSON: ...``."""
    if isinstance(error, RecursionError | TooDeep):
        return TOO_DEEP
    if isinstance(error, json.JSONDecodeError):
        return f"is not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}"
    if isinstance(error, UnicodeDecodeError):
        return "is not valid UTF-8"
    return TOO_LONG_NUMBER if "integer string conversion" in str(error) else "is not valid JSON"


def seconds_of(value: Json) -> float:
    """A duration as a finite number of seconds; 0 for anything else that stands in its place."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    try:
        seconds = float(value)
    except OverflowError:
        return 0.0
    return seconds if 0.0 <= seconds < float("inf") else 0.0
