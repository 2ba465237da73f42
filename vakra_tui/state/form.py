"""A form made from a tool's schema: fields, what may be chosen, and the call that typed texts make."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolenv import decoding
from toolenv.model import Json, ToolCall, ToolSpec, Value
from toolenv.schema import arguments_of, coerce, refusal
from vakra_tui.text import sanitize

HANDLE_WORDS = ("data_label", "data_source", "handle")
"""Parts of argument names that take the handle of a table."""

COLUMN_WORDS = ("key_name", "column")
"""Parts of argument names that take the name of a column."""

LONGEST_CHOICES = 200

DEEPEST = 8
"""Unions inside unions whose types are told; a definition may name itself."""


class Field(Value, frozen=True):
    """One argument of the form.

    ``types`` are JSON Schema type names in the schema's order, empty where it names none. ``choices`` are texts that
    may be typed, best first; ``closed`` says that nothing else is allowed.
    """

    name: str
    types: tuple[str, ...] = ()
    required: bool = False
    description: str = ""
    choices: tuple[str, ...] = ()
    closed: bool = False
    default: Json = None
    has_default: bool = False
    constant: bool = False

    @property
    def kind(self) -> str:
        """The type in words."""
        return " | ".join(self.types) or "any"


def fields_of(
    spec: ToolSpec, handles: Sequence[str] = (), columns: Mapping[str, Sequence[str]] | None = None
) -> tuple[Field, ...]:
    """The fields of a tool's form, required ones first; ``columns`` are the column names behind each handle."""
    names = arguments_of(spec)
    fields = [
        _field(spec, name, name in names.required, handles, columns or {}, names.defaults) for name in names.known
    ]
    return tuple(sorted(fields, key=lambda field: (not field.required, field.constant)))


def _field(
    spec: ToolSpec,
    name: str,
    required: bool,
    handles: Sequence[str],
    columns: Mapping[str, Sequence[str]],
    defaults: Mapping[str, Json],
) -> Field:
    properties = spec.input_schema.get("properties")
    part = properties.get(name) if isinstance(properties, Mapping) else None
    part = part if isinstance(part, Mapping) else {}
    resolved = _resolved(part, spec.input_schema)
    types = tuple(_types(resolved, spec.input_schema))
    listed = resolved.get("enum")
    choices: tuple[str, ...] = ()
    closed = False
    if isinstance(listed, list):
        choices, closed = tuple(_text_of(choice) for choice in listed), True
    elif "const" in resolved:
        choices, closed = (_text_of(resolved["const"]),), True
    elif types == ("boolean",):
        choices, closed = ("true", "false"), True
    elif any(word in name for word in HANDLE_WORDS):
        choices = tuple(handles)
    elif any(word in name for word in COLUMN_WORDS):
        seen = [column for handle in handles for column in columns.get(handle, ())]
        choices = tuple(dict.fromkeys(seen))[:LONGEST_CHOICES]
    description = resolved.get("description") or part.get("description")
    return Field(
        name=name,
        types=types,
        required=required,
        description=description if isinstance(description, str) else "",
        choices=choices,
        closed=closed,
        default=defaults.get(name),
        has_default=name in defaults,
        constant="const" in resolved,
    )


def _resolved(part: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part itself, or what its local reference into ``$defs`` names."""
    reference = part.get("$ref")
    if not isinstance(reference, str):
        return part
    table = root.get("$defs", root.get("definitions"))
    target = table.get(reference.rpartition("/")[2]) if isinstance(table, Mapping) else None
    return {**target, **part} if isinstance(target, Mapping) else part


def _types(part: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0, seen: set[str] | None = None) -> list[str]:
    """The types of a part, each definition that its unions name looked at once."""
    seen = set() if seen is None else seen
    declared = part.get("type")
    if isinstance(declared, str):
        return [declared]
    if isinstance(declared, list):
        return [name for name in declared if isinstance(name, str)]
    found: list[str] = []
    for word in ("anyOf", "oneOf"):
        members = part.get(word)
        for member in members if isinstance(members, list) and depth < DEEPEST else ():
            if isinstance(member, Mapping) and (reference := str(member.get("$ref", ""))) not in seen:
                seen |= {reference} if reference else set()
                found += _types(_resolved(member, root), root, depth + 1, seen)
    return list(dict.fromkeys(found))


def _text_of(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def written(value: Json, field: Field) -> str:
    """The text that a field shows for a value, such that ``value_of`` reads the same value from it."""
    if isinstance(value, str):
        if "string" in field.types or not field.types:
            plain = value_of(field, value)
            if plain[0] and plain[1] == value and isinstance(plain[1], str) and sanitize(value) == value:
                return value
        return json.dumps(value)
    return json.dumps(value)


def value_of(field: Field, text: str) -> tuple[bool, Json]:
    """(whether the argument is given, its value) for a typed text.

    An empty text leaves the argument out. Where a string is allowed a text is a string, unless another allowed type
    reads it as a number, a boolean or null; in double quotes it always is a string.
    """
    if text == "":
        return False, None
    stripped = text.strip()
    if field.types == ("string",):
        if len(stripped) > 1 and stripped.startswith('"') and stripped.endswith('"'):
            decoded = _decoded(stripped)
            return True, decoded if isinstance(decoded, str) else text
        return True, text
    decoded = _decoded(stripped)
    if decoded is _NOT_JSON:
        return True, text
    if fits(decoded, field.types):
        return True, decoded
    return True, text


_NOT_JSON: Any = object()


def _decoded(text: str) -> Json:
    try:
        return decoding.decoded(text)
    except ValueError:
        return _NOT_JSON


def fits(value: Json, types: Sequence[str]) -> bool:
    """Whether a value has one of some JSON Schema types; any has where none is named."""
    if not types:
        return True
    names = {
        bool: "boolean",
        int: "integer",
        float: "number",
        str: "string",
        list: "array",
        dict: "object",
        type(None): "null",
    }
    name = names.get(type(value), "")
    return name in types or (name == "integer" and "number" in types)


def assemble(spec: ToolSpec, fields: Sequence[Field], texts: Mapping[str, str]) -> ToolCall:
    """The call that the typed texts make."""
    arguments: dict[str, Json] = {}
    order = {name: position for position, name in enumerate(arguments_of(spec).known)}
    for field in sorted(fields, key=lambda field: order.get(field.name, 0)):
        given, value = value_of(field, texts.get(field.name, ""))
        if given:
            arguments[field.name] = value
    return ToolCall(name=spec.name, arguments=arguments)


def problem(spec: ToolSpec, call: ToolCall) -> str | None:
    """Why the schema refuses the call as it stands, or None. May import the schema library: called in a worker."""
    arguments, _ = coerce(spec, call.arguments)
    refused = refusal(spec, arguments)
    return refused.removeprefix("Input validation error: ") if refused else None


def parse_line(text: str, tools: Sequence[ToolSpec]) -> ToolCall | str:
    """A raw line ``tool {json}`` as a call, or a sentence that says what is wrong with it."""
    name, _, rest = text.strip().partition(" ")
    if "{" in name:
        name, brace, tail = name.partition("{")
        rest = f"{brace}{tail} {rest}"
    if not name:
        return 'Write a tool\'s name and its arguments as a JSON object: tool {"name": "value"}'
    rest = rest.strip()
    if not rest:
        return ToolCall(name=name, arguments={})
    try:
        arguments = decoding.decoded(rest)
    except decoding.TooDeep as error:
        return f"The value of the arguments {error}."
    except ValueError as error:
        return f"The arguments are not JSON: {error}"
    if not isinstance(arguments, dict):
        return 'The arguments must be a JSON object: {"name": "value"}'
    return ToolCall(name=name, arguments=arguments)


def complete_line(text: str, tools: Sequence[ToolSpec]) -> str | None:
    """The text with the next part completed: the tool's name, then its arguments; None where nothing is known."""
    name, blank, rest = text.partition(" ")
    if not blank:
        found = next((tool for tool in tools if tool.name.startswith(name)), None) if name else None
        return f"{found.name} " if found is not None else None
    spec = next((tool for tool in tools if tool.name == name), None)
    if spec is None:
        return None
    names = arguments_of(spec)
    wanted = [n for n in names.known if n in names.required] or list(names.known[:1])
    if not rest.strip():
        return text + "{" + ", ".join(f"{json.dumps(n)}: " for n in wanted) + "}"
    head, quote, started = rest.rpartition('"')
    if quote and head.count('"') % 2 == 0 and rest.rstrip()[-1:] not in "}]" and ":" not in started:
        match = next((n for n in names.known if n.startswith(started) and f'"{n}"' not in head), None)
        if match is not None and (head.rstrip()[-1:] in "{,"):
            return f"{name} {head}{json.dumps(match)}: "
    return None


def raw_line(call: ToolCall) -> str:
    """A call as a raw line that ``parse_line`` reads back; control characters are escaped."""
    if call.raw_arguments is not None:
        return f"{call.name} {json.dumps(call.raw_arguments)}"
    return f"{call.name} {json.dumps(dict(call.arguments))}"


def matching(tools: Sequence[ToolSpec], text: str) -> list[ToolSpec]:
    """Tools whose name or description holds every word of ``text``, those with all words in the name first.

    Among those the names that hold the words together come first, then the shorter ones, which say least besides.
    """
    words = text.casefold().split()
    if not words:
        return list(tools)
    together = "_".join(words)
    named = [tool for tool in tools if all(word in tool.name.casefold() for word in words)]
    named.sort(key=lambda tool: (together not in tool.name.casefold(), len(tool.name)))
    described = [
        tool
        for tool in tools
        if tool not in named and all(word in f"{tool.name} {tool.description}".casefold() for word in words)
    ]
    return named + described
