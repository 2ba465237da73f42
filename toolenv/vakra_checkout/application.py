"""A checkout's application, put together from those of its routers that can be imported. For a child process only."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from http.client import responses
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import msgspec

from toolenv.dashboards.asgi import request
from toolenv.dashboards.openapi_tools import Operation, operations
from toolenv.model import Json, ToolResult, ToolSpec
from toolenv.vakra_checkout.layout import ROUTERS, Checkout, Router

if TYPE_CHECKING:
    from fastapi import FastAPI


def imported(checkout: Checkout, routers: Sequence[Router]) -> tuple[FastAPI, dict[str, str]]:
    """The application with the routers mounted, and for each that cannot be imported the reason."""
    from fastapi import FastAPI

    sys.path[:0] = [str(checkout.rest), str(checkout.root)]
    app = FastAPI()
    failed: dict[str, str] = {}
    for router in routers:
        try:
            module = import_module(f"{ROUTERS}.{router.name}")
            app.include_router(getattr(module, "app", None) or module.router)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever foreign code raises concerns this router alone
            failed[router.name] = f"{type(error).__name__}: {error}"
    return app, failed


def release_tools(app: FastAPI, domain: str) -> list[Operation]:
    """The tools that the release lists for a domain, those of other domains whose name begins alike included (R1)."""
    return [_marked(operation, domain) for operation in operations(app.openapi(), domain)]


def _marked(operation: Operation, domain: str) -> Operation:
    owner = operation.path.removeprefix("/v1/").split("/", 1)[0]
    if owner == domain:
        return operation
    tool = operation.tool
    text = f"{tool.description} [of {owner}: listed here since its path begins with /v1/{domain} (R1)]"
    return msgspec.structs.replace(operation, tool=msgspec.structs.replace(tool, description=text))


def query_tool(collection: str) -> ToolSpec:
    """The retriever tool of a collection, with the schema that the release lists."""
    schema = {
        "type": "object",
        "properties": {
            "question": {"type": "string", "title": "Question"},
            "n_results": {"type": "integer", "title": "N Results", "default": 10},
        },
        "required": ["question"],
    }
    return ToolSpec(
        name=f"query_{collection}",
        description=f"Search the documents about {collection.replace('_', ' ')} for passages that answer a question.",
        input_schema=schema,
        source="RAG",
    )


async def called(app: Any, operation: Operation, arguments: Mapping[str, Json]) -> ToolResult:
    """Call an endpoint. An HTTP error is a failed result whose flag is not set, as in the release, its detail kept."""
    given = {name: str(value) for name, value in arguments.items() if value is not None}
    path = operation.path
    for name in operation.path_parameters:
        path = path.replace(f"{{{name}}}", quote(given.get(name, ""), safe="", errors="surrogatepass"))
    asked = [(name, given[name]) for name in operation.query_parameters if name in given]
    query = urlencode(asked, errors="surrogatepass")
    content = json.dumps(arguments.get("body")).encode() if operation.has_body else b""
    try:
        status, _, raw = await request(app, operation.method, path, query, content)
    except Exception as error:  # noqa: BLE001 - an endpoint that raises answers with status 500 in a server
        status, raw = 500, json.dumps({"detail": f"{type(error).__name__}: {error}"}).encode()
    try:
        answer = json.loads(raw) if raw else None
    except ValueError:
        answer = raw.decode("utf-8", "replace")
    if status < 400:
        return ToolResult(text=json.dumps(answer, indent=2))
    detail = answer.get("detail", answer) if isinstance(answer, dict) else answer
    phrase = responses.get(status, "error")
    text = f"Error calling API: {operation.tool.name} answered {status} {phrase}: {json.dumps(detail)}"
    return ToolResult(text=text, failed=True, error_kind="tool_failed")
