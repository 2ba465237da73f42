"""Tools from an OpenAPI document by VAKRA's rules (contract, section 2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from toolenv.model import Json, ToolSpec, Value

_METHODS = ("get", "post", "put", "delete", "patch")


class Operation(Value, frozen=True):
    """Where a tool's call goes: method, path, which arguments belong in the path and which is the body."""

    tool: ToolSpec
    method: str
    path: str
    path_parameters: tuple[str, ...]
    query_parameters: tuple[str, ...]
    has_body: bool


def operations(document: Mapping[str, Json], domain: str) -> Iterator[Operation]:
    """Every operation under ``/v1/<domain>`` (a bare prefix test, as the release does it), in document order."""
    prefix = f"/v1/{domain}"
    for path, item in document.get("paths", {}).items():
        if not path.startswith(prefix):
            continue
        for method, operation in item.items():
            if method in _METHODS:
                yield _operation(path, method, operation)


def _operation(path: str, method: str, operation: Mapping[str, Json]) -> Operation:
    declared = operation.get("parameters", ())
    in_path = [p for p in declared if p.get("in") == "path"]
    in_query = [p for p in declared if p.get("in") == "query"]
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in (*in_path, *in_query):
        properties[parameter["name"]] = {
            "type": parameter.get("schema", {}).get("type", "string"),
            "description": parameter.get("description", ""),
        }
        if parameter["name"] and (parameter.get("required") or parameter.get("in") == "path"):
            required.append(parameter["name"])
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is not None:
        properties["body"] = {"type": "object", "description": "JSON request body"}
        if operation["requestBody"].get("required"):
            required.append("body")
    tool = ToolSpec(
        name=operation.get("operationId") or path.strip("/").replace("/", "_").replace("{", "").replace("}", ""),
        description=operation.get("summary") or operation.get("description") or f"{method.upper()} {path}",
        input_schema={"type": "object", "properties": properties, "required": required},
    )
    return Operation(
        tool=tool,
        method=method,
        path=path,
        path_parameters=tuple(p["name"] for p in in_path),
        query_parameters=tuple(p["name"] for p in in_query),
        has_body=content is not None,
    )
