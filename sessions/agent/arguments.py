"""Arguments of a call as models write them, read without guessing."""

from __future__ import annotations

import json
from typing import Any

from toolenv.model import Json, Value


class ReadArguments(Value, frozen=True):
    """``arguments`` is the object to call with; ``raw`` is set, and the call must not run, where there is none.

    ``note`` tells a person what had to be done to read them.
    """

    arguments: dict[str, Json]
    raw: str | None = None
    note: str = ""


def read_arguments(written: Json) -> ReadArguments:
    """Read what stood in ``function.arguments``: text, an object, null, nothing.

    No text, ``null`` and nothing at all are no arguments. Literal control characters inside texts are taken as they
    are. An object that was encoded twice is unwrapped once. Anything else is an argument error with the text kept.
    """
    if written is None:
        return ReadArguments(arguments={})
    if isinstance(written, dict):
        return _cleaned(written, "arguments came as an object instead of its text")
    if not isinstance(written, str):
        return ReadArguments(arguments={}, raw=json.dumps(written))
    if written.strip() in ("", "null"):
        return ReadArguments(arguments={})
    value, note = _decoded(written)
    if isinstance(value, str):
        inner, more = _decoded(value)
        value, note = inner, more or "arguments were encoded twice and unwrapped once"
    if isinstance(value, dict):
        return _cleaned(value, note)
    return ReadArguments(arguments={}, raw=whole_characters(written))


_NOTHING: Any = object()


def _decoded(text: str) -> tuple[Any, str]:
    """The value that a JSON text stands for, and what was odd about it; a marker that is no JSON where it is none."""
    try:
        return json.loads(text, parse_constant=_no_number), ""
    except (ValueError, RecursionError):
        pass
    try:
        return json.loads(text, strict=False, parse_constant=_no_number), "arguments held literal control characters"
    except (ValueError, RecursionError):
        return _NOTHING, ""


def _no_number(name: str) -> Json:
    """``NaN`` and ``Infinity`` are no JSON, though the decoder would take them."""
    raise ValueError(name)


def _cleaned(arguments: dict[str, Json], note: str) -> ReadArguments:
    """Half characters (lone surrogates), which nothing can store or send, become U+FFFD."""
    cleaned = whole_characters(arguments)
    if cleaned != arguments:
        note = f"{note}; half characters were replaced" if note else "half characters were replaced"
    return ReadArguments(arguments=cleaned, note=note)


def whole_characters(value: Json) -> Any:
    """A JSON value in which every text can be encoded; pairs of surrogates are joined, lone ones replaced."""
    if isinstance(value, str):
        if value.isascii():
            return value
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {whole_characters(name): whole_characters(item) for name, item in value.items()}
    if isinstance(value, list):
        return [whole_characters(item) for item in value]
    return value
