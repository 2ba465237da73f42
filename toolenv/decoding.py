"""Decoding JSON that others wrote, so that whatever comes out can be walked, compared and written again.

A value nested more deeply than ``MAX_DEPTH`` is refused here, at the door: what walks a value by recursion behind it
needs no guard of its own, and whether a record can be used does not depend on how deep the stack is when it is read.
"""

from __future__ import annotations

import json
import re
from typing import Final

from toolenv import long_json
from toolenv.model import Json

MAX_DEPTH: Final = 100
"""Lists and objects inside each other; no tool's arguments and no answer come near it."""

TOO_DEEP: Final = f"is nested too deeply (more than {MAX_DEPTH} levels)"
TOO_LONG_NUMBER: Final = "holds a number of more digits than can be read"

YAML_CONSTRUCTION: Final = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError)
"""What a YAML loader lets out besides its own errors: a date that does not exist, a number of too many digits."""

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


class TooDeep(ValueError):
    """The value is nested more deeply than ``MAX_DEPTH``."""

    def __init__(self) -> None:
        super().__init__(TOO_DEEP)


def decoded(text: str | bytes) -> Json:
    """The value of a JSON text. Raises ValueError, and nothing else, for what is not JSON or is nested too deeply."""
    try:
        value = long_json.loads(text)
    except RecursionError as error:
        raise TooDeep from error
    if is_too_deep(value):
        raise TooDeep
    return value


def decoded_file(raw: bytes) -> Json:
    """The value of a whole JSON file; raises as ``decoded`` does.

    What is no character costs itself only: half a surrogate pair, and a byte that is not UTF-8, become U+FFFD.
    """
    value = decoded(raw.decode("utf-8-sig", "replace"))
    return without_lone_surrogates(value) if may_hold_lone_surrogates(raw) else value


def may_hold_lone_surrogates(raw: bytes) -> bool:
    """Whether a JSON text writes surrogates at all, paired or not: the cheap question before each text is looked at."""
    return _SURROGATE_ESCAPE.search(raw) is not None


def without_lone_surrogates(value: Json) -> Json:
    """Half a surrogate pair is no character and cannot be stored: it becomes U+FFFD."""
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [without_lone_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {without_lone_surrogates(name): without_lone_surrogates(item) for name, item in value.items()}
    return value


_CONTAINERS: Final = frozenset({dict, list})
"""What the decoder makes; asked by type, for a response has hundreds of thousands of values."""


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
            if type(inner) in _CONTAINERS
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
