"""Tool schemas: what arguments a tool knows, lossless coercion of scalars, and refusals as JSON Schema gives them.

Schemas are data. Unusual ones (``$ref``, unions, no ``type``, nothing at all) are taken as they are; one that is not
valid JSON Schema refuses nothing. References are never fetched, and patterns run on RE2: neither can hang or reach out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from toolenv.decoding import decoded
from toolenv.model import Json, ToolSpec, Value

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

REFUSAL_PREFIX: Final = "Input validation error: "
"""How the text of a refused call begins (contract, section 1.5)."""

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,4000})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,400})(?:\.[0-9]{1,400})?(?:[eE][-+]?[0-9]{1,3})?")
_LARGEST_DEPTH: Final = 8
_EXACT_FLOAT: Final = 2.0**53


class ArgumentNames(Value, frozen=True):
    """What a schema says about the names of a tool's arguments.

    ``known`` in the schema's order; ``defaults`` holds those that the schema gives (a ``const`` counts as one);
    ``open`` is true where the schema accepts names that it does not list.
    """

    known: tuple[str, ...]
    required: frozenset[str]
    defaults: Mapping[str, Json]
    open: bool


def arguments_of(spec: ToolSpec) -> ArgumentNames:
    """The argument names of a tool: those of its ``properties``, local ``$ref`` and ``allOf`` included."""
    properties, required, closed = _object_parts(spec.input_schema)
    defaults = {
        name: part["default"] if "default" in part else part["const"]
        for name, part in properties.items()
        if isinstance(part, Mapping) and ("default" in part or "const" in part)
    }
    return ArgumentNames(known=tuple(properties), required=frozenset(required), defaults=defaults, open=not closed)


def coerce(spec: ToolSpec, arguments: Mapping[str, Json]) -> tuple[Mapping[str, Json], bool]:
    """The arguments in the schema's types where nothing is lost by it, and whether any was changed.

    ``"100"`` becomes 100 for an integer, 100 becomes ``"100"`` for a string, 100.0 becomes 100, ``"true"`` becomes
    true; an object or a list that came as its JSON text is decoded. ``"0100"``, ``"yes"``, 1.5 for an integer, null and
    lists for a string stay as they are: the schema then refuses them. A value that some alternative of a union accepts
    is left alone.
    """
    properties, _, _ = _object_parts(spec.input_schema)
    changed: dict[str, Json] = {}
    for name, value in arguments.items():
        part = properties.get(name)
        if isinstance(part, Mapping):
            coerced = _coerced(part, value, spec.input_schema)
            if coerced is not _UNCHANGED:
                changed[name] = coerced
    if not changed:
        return arguments, False
    return {**arguments, **changed}, True


def refusal(spec: ToolSpec, arguments: Mapping[str, Json]) -> str | None:
    """The text of the refusal that these arguments meet, or None where the schema accepts them."""
    schema = spec.input_schema
    if _plainly_valid(schema, arguments):
        return None
    error = _first_error(schema, dict(arguments))
    return None if error is None else f"{REFUSAL_PREFIX}{error}"


def for_endpoint(spec: ToolSpec) -> dict[str, Json]:
    """The schema as a strict endpoint takes it: an object at the top, ``items`` for every list, no bare ``true``.

    Only for telling a model what the tool takes; arguments are checked against the tool's own schema.
    """
    schema = _filled_in(spec.input_schema if isinstance(spec.input_schema, Mapping) else {}, 0)
    properties = schema.get("properties")
    return {**schema, "type": "object", "properties": properties if isinstance(properties, dict) else {}}


# --- the parts of a schema -------------------------------------------------------------------------------------------


def _object_parts(schema: Json) -> tuple[Mapping[str, Json], tuple[str, ...], bool]:
    """(properties, required names, whether other names are refused) of an object schema."""
    if not isinstance(schema, Mapping):
        return {}, (), False
    properties: dict[str, Json] = {}
    required: list[str] = []
    closed = _collect(schema, schema, properties, required, 0)
    return properties, tuple(required), closed


def _collect(part: Json, root: Json, properties: dict[str, Json], required: list[str], depth: int) -> bool:
    if not isinstance(part, Mapping) or depth > _LARGEST_DEPTH:
        return False
    closed = part.get("additionalProperties") is False
    if "$ref" in part:
        closed |= _collect(_referenced(part["$ref"], root), root, properties, required, depth + 1)
    for member in part["allOf"] if isinstance(part.get("allOf"), list) else ():
        closed |= _collect(member, root, properties, required, depth + 1)
    own = part.get("properties")
    if isinstance(own, Mapping):
        properties.update(own)
    names = part.get("required")
    if isinstance(names, list):
        required.extend(name for name in names if isinstance(name, str))
    return closed


def _referenced(reference: Json, root: Json) -> Json:
    """The part of the schema that a local reference names, or None."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    part: Json = root
    for step in reference[1:].split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(part, Mapping) and step in part:
            part = part[step]
        elif isinstance(part, list) and step.isdecimal() and int(step) < len(part):
            part = part[int(step)]
        else:
            return None
    return part


_NAMED_PARTS: Final = ("properties", "$defs", "definitions", "patternProperties")
_LISTED_PARTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE_PARTS: Final = ("items", "additionalProperties", "not")


def _filled_in(part: Json, depth: int) -> Any:
    if isinstance(part, bool):
        return {} if part else {"not": {}}
    if not isinstance(part, Mapping) or depth > 4 * _LARGEST_DEPTH:
        return part
    filled = dict(part)
    for word in _NAMED_PARTS:
        if isinstance(filled.get(word), Mapping):
            filled[word] = {name: _filled_in(inner, depth + 1) for name, inner in filled[word].items()}
    for word in _LISTED_PARTS:
        if isinstance(filled.get(word), list):
            filled[word] = [_filled_in(inner, depth + 1) for inner in filled[word]]
    for word in _SINGLE_PARTS:
        if isinstance(filled.get(word), Mapping) or (word == "items" and word in filled):
            filled[word] = _filled_in(filled[word], depth + 1)
    kinds = filled.get("type")
    if (kinds == "array" or (isinstance(kinds, list) and "array" in kinds)) and "items" not in filled:
        filled["items"] = {}
    return filled


# --- coercion --------------------------------------------------------------------------------------------------------

_UNCHANGED: Final = object()


def _alternatives(part: Mapping[str, Json], root: Mapping[str, Json], depth: int = 0) -> list[str]:
    """The type names that a schema part accepts, in its order."""
    if depth > _LARGEST_DEPTH:
        return []
    declared = part.get("type")
    if isinstance(declared, str):
        return [declared]
    if isinstance(declared, list):
        return [name for name in declared if isinstance(name, str)]
    names: list[str] = []
    for word in ("anyOf", "oneOf"):
        for member in part[word] if isinstance(part.get(word), list) else ():
            if isinstance(member, Mapping):
                names.extend(_alternatives(member, root, depth + 1))
    target = _referenced(part.get("$ref"), root)
    if isinstance(target, Mapping):
        names.extend(_alternatives(target, root, depth + 1))
    return names


def _coerced(part: Mapping[str, Json], value: Json, root: Mapping[str, Json]) -> Json:
    names = _alternatives(part, root)
    if not names:
        return _UNCHANGED
    if any(_has_type(value, name) for name in names):
        if isinstance(value, float) and abs(value) < _EXACT_FLOAT and "integer" in names and "number" not in names:
            return int(value)
        return _UNCHANGED
    for name in names:
        coerced = _as_type(value, name)
        if coerced is not _UNCHANGED:
            return coerced
    return _UNCHANGED


def _has_type(value: Json, name: str) -> bool:
    """JSON Schema's own notion of a value's type; 100.0 is an integer, a boolean is no number."""
    match name:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "integer":
            return not isinstance(value, bool) and (
                isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            )
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case _:
            return False


def _as_type(value: Json, name: str) -> Json:
    if name == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value) if not isinstance(value, float) or math.isfinite(value) else _UNCHANGED
    if not isinstance(value, str):
        return _UNCHANGED
    text = value.strip()
    match name:
        case "integer" if _INTEGER.fullmatch(text):
            return int(text)
        case "number" if _NUMBER.fullmatch(text):
            number = float(text) if any(c in text for c in ".eE") else int(text)
            return number if isinstance(number, int) or math.isfinite(number) else _UNCHANGED
        case "boolean" if text in ("true", "false"):
            return text == "true"
        case "array" | "object" if text[:1] in ("[", "{"):
            try:
                inner = decoded(text)
            except ValueError:
                return _UNCHANGED
            return inner if _has_type(inner, name) else _UNCHANGED
        case _:
            return _UNCHANGED


# --- validity --------------------------------------------------------------------------------------------------------

_ANNOTATIONS: Final = frozenset({"type", "title", "description", "default", "examples", "$comment", "deprecated"})
_PLAIN_WORDS: Final = _ANNOTATIONS | {"enum", "const", "anyOf", "items", "minimum"}
_PLAIN_ROOT_WORDS: Final = _ANNOTATIONS | {"properties", "required", "additionalProperties"}


def _plainly_valid(schema: Json, arguments: Mapping[str, Json]) -> bool:
    """True only where a schema of plain words surely accepts the arguments; false says nothing."""
    if not isinstance(schema, Mapping) or not _PLAIN_ROOT_WORDS.issuperset(schema):
        return False
    if schema.get("type", "object") != "object":
        return False
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    others = schema.get("additionalProperties", True)
    if not isinstance(properties, Mapping) or not isinstance(required, list) or not isinstance(others, bool):
        return False
    if any(name not in arguments for name in required):
        return False
    for name, value in arguments.items():
        if name in properties:
            if not _plainly_accepts(properties[name], value):
                return False
        elif not others:
            return False
    return True


def _plainly_accepts(part: Json, value: Json, depth: int = 0) -> bool:
    if not isinstance(part, Mapping) or not _PLAIN_WORDS.issuperset(part) or depth > _LARGEST_DEPTH:
        return False
    declared = part.get("type")
    names = declared if isinstance(declared, list) else [declared]
    if declared is not None and not any(isinstance(name, str) and _has_type(value, name) for name in names):
        return False
    if "enum" in part and not (isinstance(part["enum"], list) and _is_one_of(value, part["enum"])):
        return False
    if "const" in part and not (type(value) is type(part["const"]) and value == part["const"]):
        return False
    least = part.get("minimum", -math.inf)
    if "minimum" in part and not (_has_type(value, "number") and _has_type(least, "number") and value >= least):
        return False
    members = part.get("anyOf")
    if "anyOf" in part and not (
        isinstance(members, list) and any(_plainly_accepts(member, value, depth + 1) for member in members)
    ):
        return False
    if "items" in part and isinstance(value, list):
        return all(_plainly_accepts(part["items"], item, depth + 1) for item in value)
    return True


def _is_one_of(value: Json, items: list[Json]) -> bool:
    return any(type(value) is type(item) and value == item for item in items)


def _first_error(schema: Json, arguments: dict[str, Json]) -> str | None:
    """The message of the most telling error, with the argument it is about where the message does not show it."""
    try:
        text = json.dumps(schema, sort_keys=True)
    except (TypeError, ValueError):
        return None
    check = _compiled(text)
    return None if check is None else check(arguments)


@lru_cache(maxsize=4096)
def _compiled(schema_text: str) -> Callable[[dict[str, Json]], str | None] | None:
    import jsonschema
    import referencing
    import referencing.exceptions
    from jsonschema.exceptions import best_match

    schema = json.loads(schema_text)
    validator_class = _safe_validator()
    try:
        validator_class.check_schema(schema)
    except jsonschema.SchemaError:
        return None
    # A registry of its own: the library's default one would fetch references from the network.
    validator = validator_class(schema, registry=referencing.Registry())

    def check(arguments: dict[str, Json]) -> str | None:
        try:
            error = best_match(validator.iter_errors(arguments))
        except (referencing.exceptions.Unresolvable, RecursionError, OverflowError):
            return None
        if error is None:
            return None
        path = ".".join(str(step) for step in error.absolute_path)
        return f"{error.message} (argument '{path}')" if path else str(error.message)

    return check


@lru_cache(maxsize=1)
def _safe_validator() -> type[Validator]:
    """The 2020-12 validator with patterns on RE2; a pattern that RE2 cannot read refuses nothing."""
    import jsonschema

    def matches(pattern: str, text: str) -> bool | None:
        import re2

        try:
            return re2.search(pattern, text) is not None
        except (re2.error, ValueError):
            return None

    def pattern(validator: Any, wanted: Any, instance: Any, schema: Any) -> Any:
        if isinstance(wanted, str) and isinstance(instance, str) and matches(wanted, instance) is False:
            yield jsonschema.ValidationError(f"{instance!r} does not match {wanted!r}")

    def pattern_properties(validator: Any, wanted: Any, instance: Any, schema: Any) -> Any:
        if not isinstance(wanted, dict) or not isinstance(instance, dict):
            return
        for expression, part in wanted.items():
            for name, value in instance.items():
                if matches(expression, name):
                    yield from validator.descend(value, part, path=name, schema_path=expression)

    extend: Callable[..., type[Validator]] = jsonschema.validators.extend
    return extend(
        jsonschema.Draft202012Validator,
        validators={"pattern": pattern, "patternProperties": pattern_properties, "format": lambda *_: ()},
    )
