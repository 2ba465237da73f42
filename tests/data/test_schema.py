"""Coercion and refusal of arguments (cases MCP-11 and SQL-04)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenv.model import ToolSpec
from toolenv.schema import arguments_of, coerce, for_endpoint, refusal

NESTED: dict[str, Any] = {
    "type": "object",
    "$defs": {
        "Condition": {
            "type": "object",
            "properties": {
                "col": {"type": "string"},
                "val": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
            },
            "required": ["col"],
        }
    },
    "properties": {
        "conditions": {"type": "array", "items": {"$ref": "#/$defs/Condition"}},
        "ids": {"type": "array"},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        "mode": {"enum": ["a", "b", 3, None]},
        "flag": {"type": ["boolean", "null"]},
    },
    "required": ["conditions"],
}


def spec(schema: Any) -> ToolSpec:
    return ToolSpec(name="tool", input_schema=schema)


def one(kind: Any) -> ToolSpec:
    return spec({"type": "object", "properties": {"x": kind}, "required": ["x"]})


@pytest.mark.parametrize(
    ("kind", "value", "coerced"),
    [
        ("integer", "1985", 1985),
        ("integer", "-5", -5),
        ("integer", 1985.0, 1985),
        ("integer", " 7 ", 7),
        ("number", "2.0", 2.0),
        ("number", "100", 100),
        ("number", "1e3", 1000.0),
        ("string", 100, "100"),
        ("string", 1.5, "1.5"),
        ("boolean", "true", True),
        ("array", "[1, 2]", [1, 2]),
        ("object", '{"a": 1}', {"a": 1}),
        (["boolean", "null"], "false", False),
        (["integer", "null"], "5", 5),
    ],
)
def test_lossless_coercion(kind: Any, value: Any, coerced: Any) -> None:
    arguments = {"x": value}
    result, changed = coerce(one({"type": kind}), arguments)
    assert changed
    assert result == {"x": coerced}
    assert type(result["x"]) is type(coerced)
    assert arguments == {"x": value}, "the call as written keeps what was sent"
    assert refusal(one({"type": kind}), result) is None


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("integer", 1985.5),
        ("integer", True),
        ("integer", None),
        ("integer", "0100"),
        ("integer", "1985.0"),
        ("integer", "yes"),
        ("integer", ""),
        ("number", "abc"),
        ("number", "nan"),
        ("number", "1e999"),
        ("string", None),
        ("string", ["a"]),
        ("string", True),
        ("boolean", "yes"),
        ("boolean", 1),
        ("array", "[1"),
        ("array", '{"a": 1}'),
        ("object", "[]"),
    ],
)
def test_what_would_lose_something_is_refused(kind: str, value: Any) -> None:
    result, changed = coerce(one({"type": kind}), {"x": value})
    assert not changed
    text = refusal(one({"type": kind}), result)
    assert text is not None
    assert text.startswith("Input validation error: ")
    assert "'x'" in text


def test_a_value_that_a_union_accepts_is_left_alone() -> None:
    union = one({"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}]})
    for value in ("100", 100, 1.0, None):
        assert coerce(union, {"x": value}) == ({"x": value}, False)


@pytest.mark.parametrize("value", [2**63 - 1, 2**63, -(2**63) - 1, 1e30])
def test_numbers_beyond_what_a_database_takes_pass_the_schema_unchanged(value: Any) -> None:
    assert coerce(one({"type": "integer"}), {"x": value}) == ({"x": value}, False)
    assert refusal(one({"type": "integer"}), {"x": value}) is None


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        ({"conditions": [{"col": "a", "val": 5}]}, False),
        ({"conditions": [], "limit": None}, False),
        ({"conditions": [], "limit": 3}, False),
        ({"conditions": [], "mode": 3}, False),
        ({"conditions": [], "mode": None}, False),
        ({"conditions": [], "ids": [1, "a", None]}, False),
        ({"conditions": [], "unknown": 1}, False),
        ({"conditions": [], "mode": "c"}, True),
        ({"conditions": [], "flag": "true"}, True),
        ({"conditions": [{"val": 5}]}, True),
        ({"conditions": [{"col": "a", "val": 1.5}]}, True),
        ({"conditions": '[{"col": "a"}]'}, True),
        ({}, True),
    ],
)
def test_a_nested_schema_is_used_as_it_is(arguments: dict[str, Any], refused: bool) -> None:
    assert (refusal(spec(NESTED), arguments) is not None) is refused


def test_nested_values_sent_as_text_are_decoded_for_the_call() -> None:
    result, changed = coerce(spec(NESTED), {"conditions": '[{"col": "a", "val": 5}]', "flag": "true", "limit": "5"})
    assert changed
    assert result == {"conditions": [{"col": "a", "val": 5}], "flag": True, "limit": 5}
    assert refusal(spec(NESTED), result) is None


def test_argument_names() -> None:
    names = arguments_of(spec(NESTED))
    assert names.known == ("conditions", "ids", "limit", "mode", "flag")
    assert names.required == {"conditions"}
    assert names.defaults == {"limit": None}
    assert names.open
    closed = arguments_of(spec({"properties": {"c": {"const": "equal_to"}}, "additionalProperties": False}))
    assert not closed.open
    assert closed.defaults == {"c": "equal_to"}


def test_argument_names_behind_references() -> None:
    schema = {
        "$defs": {"A": {"properties": {"a": {"type": "integer"}}, "required": ["a"]}},
        "allOf": [{"$ref": "#/$defs/A"}],
    }
    names = arguments_of(spec(schema))
    assert names.known == ("a",)
    assert names.required == {"a"}
    assert coerce(spec(schema), {"a": "1"}) == ({"a": 1}, True)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        None,
        [],
        {"type": "int"},
        {"type": "object", "properties": 5},
        {"type": "object", "required": "a"},
        {"properties": {"a": {"type": 5}}},
        {"properties": {"a": {"enum": 5}}},
        {"properties": {"a": {"anyOf": 5, "minimum": "a"}}},
        {"properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}},
        {"properties": {"a": {"$ref": "#/properties/a"}}},
        {"$ref": "#"},
        {"$ref": "#/nowhere/9"},
        {"patternProperties": {"(": {"type": "string"}}},
        {"properties": {"a": 5}},
        {"allOf": 3, "anyOf": {}},
    ],
)
def test_unusual_schemas_survive_and_refuse_nothing(schema: Any) -> None:
    tool = spec(schema)
    arguments_of(tool)
    coerce(tool, {"a": "1"})
    assert refusal(tool, {"a": "1"}) is None


def test_patterns_cannot_hang() -> None:
    hostile = spec({"properties": {"a": {"pattern": "^(a+)+$"}}, "patternProperties": {"^(b+)+$": {"type": "integer"}}})
    assert refusal(hostile, {"a": "a" * 200 + "!"}) is not None
    assert refusal(hostile, {"b" * 200: "x"}) is not None
    assert refusal(hostile, {"b" * 200 + "!": "x"}) is None


@given(
    st.dictionaries(st.sampled_from(["x", "y"]), st.none() | st.booleans() | st.integers() | st.floats() | st.text())
)
def test_coercing_twice_changes_nothing_more(arguments: dict[str, Any]) -> None:
    tool = spec({"properties": {"x": {"type": "integer"}, "y": {"type": "string"}}})
    once, _ = coerce(tool, arguments)
    twice, changed = coerce(tool, once)
    assert not changed
    assert twice is once


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_survives_as_text(value: float) -> None:
    back, _ = coerce(one({"type": "number"}), {"x": str(value)})
    assert back["x"] == value
    text, _ = coerce(one({"type": "string"}), {"x": value})
    assert text["x"] == str(value)


def lists_without_items(part: Any) -> list[Any]:
    if isinstance(part, dict):
        own = [part] if part.get("type") == "array" and "items" not in part else []
        return own + [found for inner in part.values() for found in lists_without_items(inner)]
    return [found for inner in part for found in lists_without_items(inner)] if isinstance(part, list) else []


@pytest.mark.parametrize(
    "schema", [NESTED, {}, None, True, {"type": "string"}, {"properties": {"a": True, "b": False}}]
)
def test_what_a_strict_endpoint_is_told(schema: Any) -> None:
    import copy

    import jsonschema

    before = copy.deepcopy(schema)
    told = for_endpoint(spec(schema))
    assert told["type"] == "object"
    assert isinstance(told["properties"], dict)
    assert all(isinstance(part, dict) for part in told["properties"].values())
    assert lists_without_items(told) == []
    jsonschema.Draft202012Validator.check_schema(told)
    assert schema == before, "the tool's own schema stays as it is"


def test_references_are_kept_for_an_endpoint() -> None:
    told = for_endpoint(spec(NESTED))
    assert told["properties"]["conditions"]["items"] == {"$ref": "#/$defs/Condition"}
    assert told["$defs"] == NESTED["$defs"]
    assert told["properties"]["mode"] == NESTED["properties"]["mode"]
