"""The tools of capability 1 as an agent sees them: nine with slots to fill, or twenty-five fixed ones plus getters.

Schemas are those that the release lists; descriptions are this project's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal

from toolenv.model import Json, ToolSpec, ToolStyle, Value

Operation = Literal[
    "get_data",
    "filter",
    "sort",
    "aggregate",
    "retrieve",
    "transform",
    "concatenate",
    "calculate",
    "unique",
    "truncate",
    "getter",
]


class Tool(Value, frozen=True):
    """A tool, the operation behind it, the arguments that its name fixes, and the prefix of handles that it makes.

    ``checked`` is the same tool with the references in its schema resolved, which is quicker to check calls against.
    """

    spec: ToolSpec
    checked: ToolSpec
    operation: Operation
    fixed: Mapping[str, Json] = {}
    prefix: str = ""


def _tool(spec: ToolSpec, operation: Operation, fixed: Mapping[str, Json] | None = None, prefix: str = "") -> Tool:
    return Tool(spec=spec, checked=_resolved(spec), operation=operation, fixed=fixed or {}, prefix=prefix)


def _resolved(spec: ToolSpec) -> ToolSpec:
    schema = dict(spec.input_schema)
    definitions = schema.pop("$defs", {})
    schema["properties"] = {
        name: definitions[part["$ref"].rsplit("/", 1)[1]] if "$ref" in part else part
        for name, part in schema["properties"].items()
    }
    return ToolSpec(name=spec.name, input_schema=schema)


CONDITIONS: Final[Mapping[str, str]] = {
    "equal_to": "equals the value (null finds the rows without a value)",
    "not_equal_to": "differs from the value (null finds the rows that have a value)",
    "greater_than": "is greater than the value",
    "less_than": "is less than the value",
    "greater_than_equal_to": "is greater than the value or equal to it",
    "less_than_equal_to": "is less than the value or equal to it",
    "contains": "holds the value as a regular expression, upper and lower case alike",
    "like": "matches a pattern from start to end, where % stands for any run and _ for any one character",
}

AGGREGATES: Final[Mapping[str, str]] = {
    "min": "smallest value",
    "max": "largest value",
    "sum": "sum",
    "mean": "arithmetic mean",
    "count": "number of rows",
    "std": "population standard deviation",
    "argmin": "position (from 0) of the smallest value",
    "argmax": "position (from 0) of the largest value",
}

_TEXT: Final = {"type": "string"}
_WHOLE: Final = {"type": "integer"}
_NUMBER: Final = {"type": "number"}
_NULL: Final = {"type": "null"}


def _titled(title: str, part: Mapping[str, Json]) -> dict[str, Json]:
    return {**part, "title": title}


def _object(title: str, properties: Mapping[str, Json], required: Sequence[str], **more: Json) -> dict[str, Json]:
    return {
        **more,
        "additionalProperties": False,
        "properties": dict(properties),
        "required": list(required),
        "title": title,
        "type": "object",
    }


def _choice(name: str, values: Sequence[str]) -> dict[str, Json]:
    return {"$defs": {name: {"enum": list(values), "title": name, "type": "string"}}}


def _constant(title: str, value: Json, kind: str) -> dict[str, Json]:
    return {"const": value, "default": value, "title": title, "type": kind}


_LABEL: Final = {"data_label": _TEXT}
_KEY: Final = {"key_name": _titled("Key Name", _TEXT)}
_OPTIONAL_KEY: Final = {"key_name": {"default": "", "title": "Key Name", "type": "string"}}
_VALUE: Final = {"value": {"anyOf": [_TEXT, _NUMBER, _WHOLE, _NULL], "title": "Value"}}
_DISTINCT: Final = {"distinct": {"default": False, "title": "Distinct", "type": "boolean"}}
_LIMIT: Final = {"limit": {"default": -1, "title": "Limit", "type": "integer"}}
_RANKING: Final = {
    "ranking_array": {
        "anyOf": [{"items": _NUMBER, "type": "array"}, {"items": _WHOLE, "type": "array"}, _NULL],
        "default": None,
        "title": "Ranking Array",
    }
}
_OPERAND: Final = {
    "anyOf": [
        _WHOLE,
        _NUMBER,
        {"items": {"anyOf": [_WHOLE, _NUMBER, _NULL]}, "type": "array"},
        {"items": _WHOLE, "type": "array"},
        {"items": _NUMBER, "type": "array"},
    ]
}
_ENUMS: Final = {
    "filter": ("FilterCondition", tuple(CONDITIONS)),
    "aggregate": ("AggregationOperation", tuple(AGGREGATES)),
    "transform": ("TransformOperation", ("substring", "abs", "datetime")),
    "calculate": ("CalculatorOperation", ("add", "subtract", "multiply", "divide")),
}


def _reference(group: str) -> dict[str, Json]:
    return {"$ref": f"#/$defs/{_ENUMS[group][0]}"}


_GET_DATA: Final = _tool(
    spec=ToolSpec(
        name="get_data",
        description=(
            "Open the table of a tool universe and get a handle to it with a first look at its columns. Another "
            "universe's id switches to that universe; handles made before are then gone."
        ),
        input_schema={
            "properties": {
                "tool_universe_id": {"anyOf": [_TEXT, _NULL], "default": None, "title": "Tool Universe Id"},
            },
            "title": "GetDataInput",
            "type": "object",
        },
        source="neutral",
    ),
    operation="get_data",
    prefix="retrieved",
)

_CALCULATOR: Final = _tool(
    spec=ToolSpec(
        name="Calculator",
        description=(
            "Add, subtract, multiply or divide two numbers, two lists of equal length item by item, or a list and "
            "a number."
        ),
        input_schema=_object(
            "CalculatorInput",
            {
                "input_1": _titled("Input 1", _OPERAND),
                "input_2": _titled("Input 2", _OPERAND),
                "operation": _reference("calculate"),
            },
            ("input_1", "input_2", "operation"),
            **_choice(*_ENUMS["calculate"]),
        ),
        source="neutral",
    ),
    operation="calculate",
)

_CONCATENATE: Final = _tool(
    spec=ToolSpec(
        name="concatenate_data",
        description="Put the rows of a second table below those of a first one with the same columns.",
        input_schema=_object(
            "ConcatenateDataInput",
            {"data_label_1": _TEXT, "data_label_2": _TEXT},
            ("data_label_1", "data_label_2"),
        ),
    ),
    operation="concatenate",
    prefix="concatenated",
)

_UNIQUE: Final = _tool(
    spec=ToolSpec(
        name="select_unique_values",
        description="Drop repetitions from a list, keeping the first of each value; a handle is taken as well.",
        input_schema=_object(
            "SelectUniqueDataInput",
            {"unique_array": {"items": {}, "title": "Unique Array", "type": "array"}},
            ("unique_array",),
        ),
    ),
    operation="unique",
    prefix="unique",
)

_TRUNCATE: Final = _tool(
    spec=ToolSpec(
        name="truncate",
        description="Keep the first n items of a list; a handle is taken as well and gives a table of n rows.",
        input_schema=_object(
            "TruncateInput",
            {
                "truncate_array": {
                    "anyOf": [
                        {"additionalProperties": {"items": {}, "type": "array"}, "type": "object"},
                        {"items": {}, "type": "array"},
                    ],
                    "title": "Truncate Array",
                },
                "n": {"minimum": 0, "title": "N", "type": "integer"},
            },
            ("truncate_array", "n"),
        ),
    ),
    operation="truncate",
    prefix="truncated",
)


def _aggregate() -> Tool:
    schema = _object(
        "AggregateDataInput",
        {**_LABEL, **_OPTIONAL_KEY, "aggregation_operation": _reference("aggregate"), **_DISTINCT, **_LIMIT},
        ("data_label", "aggregation_operation"),
        **_choice(*_ENUMS["aggregate"]),
    )
    text = "Compute one value over a column: min, max, sum, mean, count, std, argmin or argmax. Count needs no column."
    return _tool(spec=ToolSpec(name="aggregate_data", description=text, input_schema=schema), operation="aggregate")


def _filter() -> Tool:
    schema = _object(
        "FilterDataInput",
        {**_LABEL, **_KEY, **_VALUE, "condition": _reference("filter")},
        ("data_label", "key_name", "value", "condition"),
        **_choice(*_ENUMS["filter"]),
    )
    text = "Keep the rows whose cell in a column meets a condition: " + "; ".join(
        f"{name}: the cell {meaning}" for name, meaning in CONDITIONS.items()
    )
    spec = ToolSpec(name="filter_data", description=text + ".", input_schema=schema)
    return _tool(spec=spec, operation="filter", prefix="filtered")


def _retrieve() -> Tool:
    key = {"anyOf": [_TEXT, {"items": _TEXT, "type": "array"}], "title": "Key Name"}
    schema = _object(
        "RetrieveDataInput", {**_LABEL, "key_name": key, **_DISTINCT, **_LIMIT}, ("data_label", "key_name")
    )
    text = (
        "Take one column or several out of a table, if asked only the first rows; distinct drops repetitions where "
        "a single column is named."
    )
    spec = ToolSpec(name="retrieve_data", description=text, input_schema=schema)
    return _tool(spec=spec, operation="retrieve", prefix="retrieved")


def _sort() -> Tool:
    schema = _object(
        "SortDataInput",
        {
            **_LABEL,
            **_OPTIONAL_KEY,
            "ascending": {"default": False, "title": "Ascending", "type": "boolean"},
            **_RANKING,
        },
        ("data_label",),
    )
    text = (
        "Put the rows in the order of a column, or of ranking_array (one number a row); largest first unless ascending."
    )
    spec = ToolSpec(name="sort_data", description=text, input_schema=schema)
    return _tool(spec=spec, operation="sort", prefix="sorted")


def _transform() -> Tool:
    arguments = {
        "anyOf": [{"additionalProperties": True, "type": "object"}, _NULL],
        "default": None,
        "title": "Operation Args",
    }
    schema = _object(
        "TransformDataInput",
        {**_LABEL, **_KEY, "operation_type": _reference("transform"), "operation_args": arguments},
        ("data_label", "key_name", "operation_type"),
        **_choice(*_ENUMS["transform"]),
    )
    text = (
        "Replace a column: substring (start_index, end_index), abs, or datetime (pattern %Y, %m or %d takes the year, "
        "month or day out of ISO dates)."
    )
    spec = ToolSpec(name="transform_data", description=text, input_schema=schema)
    return _tool(spec=spec, operation="transform", prefix="transformed")


def _select(condition: str, meaning: str) -> Tool:
    schema = _object(
        "FilterDataInput",
        {**_LABEL, **_KEY, **_VALUE, "condition": _constant("Condition", condition, "string")},
        ("data_label", "key_name", "value"),
    )
    spec = ToolSpec(
        name=f"select_data_{condition}",
        description=f"Keep the rows whose cell in a column {meaning}.",
        input_schema=schema,
    )
    return _tool(spec=spec, operation="filter", fixed={"condition": condition}, prefix="filtered")


def _sort_in(direction: str, ascending: bool) -> Tool:
    schema = _object(
        "SortDataInput",
        {**_LABEL, **_OPTIONAL_KEY, "ascending": _constant("Ascending", ascending, "boolean"), **_RANKING},
        ("data_label",),
    )
    order = "smallest first" if ascending else "largest first"
    spec = ToolSpec(
        name=f"sort_data_{direction}",
        description=f"Put the rows in the order of a column or of ranking_array (one number a row), {order}.",
        input_schema=schema,
    )
    return _tool(spec=spec, operation="sort", fixed={"ascending": ascending}, prefix="sorted")


def _compute(operation: str, meaning: str) -> Tool:
    schema = _object(
        "AggregateDataInput",
        {
            **_LABEL,
            **_OPTIONAL_KEY,
            "aggregation_operation": _constant("Aggregation Operation", operation, "string"),
            **_DISTINCT,
            "limit": _constant("Limit", -1, "integer"),
        },
        ("data_label",),
    )
    spec = ToolSpec(
        name=f"compute_data_{operation}",
        description=f"Compute the {meaning} of a column, over distinct values alone if asked.",
        input_schema=schema,
    )
    return _tool(spec=spec, operation="aggregate", fixed={"aggregation_operation": operation, "limit": -1})


def _transform_to(name: str, title: str, kind: str, more: Mapping[str, Json], text: str) -> Tool:
    schema = _object(title, {**_LABEL, **_KEY, **more}, ("data_label", "key_name", *more))
    spec = ToolSpec(name=f"transform_data_to_{name}", description=text, input_schema=schema)
    return _tool(spec=spec, operation="transform", fixed={"operation_type": kind}, prefix="transformed")


def _getter(column: str) -> Tool:
    spec = ToolSpec(
        name=f"get_{column}s",
        description=f"List all values of the column {column} of a table, in row order.",
        input_schema=_object("GetterInput", _LABEL, ("data_label",)),
    )
    return _tool(spec=spec, operation="getter", fixed={"key_name": column})


@lru_cache(maxsize=1)
def slot_tools() -> Mapping[str, Tool]:
    """The nine tools of a slot-filling universe, in the release's order."""
    tools = (
        _aggregate(),
        _CALCULATOR,
        _CONCATENATE,
        _filter(),
        _retrieve(),
        _UNIQUE,
        _sort(),
        _transform(),
        _GET_DATA,
    )
    return {tool.spec.name: tool for tool in tools}


@lru_cache(maxsize=1)
def _fixed_selection_tools() -> Mapping[str, Tool]:
    start_end = {"start_index": _titled("Start Index", _WHOLE), "end_index": _titled("End Index", _WHOLE)}
    tools = (
        _CALCULATOR,
        _CONCATENATE,
        _UNIQUE,
        _transform_to(
            "substring",
            "TransformDataToSubstringInput",
            "substring",
            start_end,
            "Replace the texts of a column by a part of each: from start_index up to, not including, end_index.",
        ),
        _transform_to(
            "absolute_value",
            "TransformDataToAbsoluteValueInput",
            "abs",
            {},
            "Replace the numbers of a column by their absolute values.",
        ),
        _transform_to(
            "datetime_part",
            "TransformDataToDatetimePartInput",
            "datetime",
            {"datetime_pattern": _titled("Datetime Pattern", _TEXT)},
            "Replace the ISO dates of a column by their year (%Y), month (%m) or day (%d).",
        ),
        _TRUNCATE,
        *(_select(condition, meaning) for condition, meaning in CONDITIONS.items()),
        _sort_in("ascending", True),
        _sort_in("descending", False),
        *(_compute(operation, meaning) for operation, meaning in AGGREGATES.items()),
    )
    return {tool.spec.name: tool for tool in tools}


@lru_cache(maxsize=256)
def selection_tools(columns: tuple[str, ...]) -> Mapping[str, Tool]:
    """Getters of the given columns, the twenty-five fixed tools of a selection universe, and ``get_data``."""
    getters: dict[str, Tool] = {tool.spec.name: tool for tool in map(_getter, columns)}
    return {**getters, **_fixed_selection_tools(), "get_data": _GET_DATA}


def tools_of(style: ToolStyle, columns: tuple[str, ...]) -> Mapping[str, Tool]:
    """The tools of a universe by name, in the order in which they are listed."""
    return slot_tools() if style == "slot" else selection_tools(columns)


def argument(arguments: Mapping[str, Any], tool: Tool, name: str, default: Any = None) -> Any:
    """An argument: fixed by the tool's name, else as given, else the default."""
    return tool.fixed.get(name, arguments.get(name, default))
