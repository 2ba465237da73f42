"""How the released evaluator changes arguments before it replays a call (contract, section 3.2 and row E16)."""

from __future__ import annotations

from collections.abc import Mapping

from toolenv.model import Json, ToolSpec

_TRUE = ("true", "1", "yes")


def released_arguments(spec: ToolSpec | None, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """The arguments as the release sends them.

    Only a top-level ``type`` counts: unions stay untouched, and so does a value that cannot be converted and every
    argument of a tool that was not listed (``spec`` None). Nothing is lossless about it: null becomes ``"None"`` and
    ``["a"]`` becomes ``"['a']"`` for a string.
    """
    properties = spec.input_schema.get("properties") if spec is not None else None
    known = properties if isinstance(properties, Mapping) else {}
    return {name: _converted(known.get(name), value) for name, value in arguments.items()}


def _converted(schema: Json, value: Json) -> Json:
    wanted = schema.get("type") if isinstance(schema, Mapping) else None
    try:
        if wanted == "string" and not isinstance(value, str):
            return str(value)
        if wanted == "integer" and isinstance(value, str):
            return int(value)
        if wanted == "number" and isinstance(value, str):
            return float(value)
    except ValueError:
        return value
    if wanted == "boolean" and isinstance(value, str):
        return value.strip().lower() in _TRUE
    return value
