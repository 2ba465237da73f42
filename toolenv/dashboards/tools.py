"""The dashboard tools of one domain: listed from the application's OpenAPI document, called through the application."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote, urlencode

from toolenv.dashboards.application import NOTE_HEADER, application
from toolenv.dashboards.asgi import request
from toolenv.dashboards.database import ReadOnlyDatabase
from toolenv.dashboards.definition import EndpointFile, load_endpoints
from toolenv.dashboards.openapi_tools import Operation, operations
from toolenv.errors import EnvironmentFailure
from toolenv.model import Json, ToolResult, ToolSpec
from toolenv.recorded.aliases import own_name


class DashboardTools:
    """Tools and calls of one domain's endpoints. Stateless but for the database connection, so sessions share it."""

    def __init__(self, content: EndpointFile, database: ReadOnlyDatabase, *, offload: bool = False) -> None:
        self.domain = content.domain
        self.database = database
        self.app = application(content, database, offload=offload)
        found = list(operations(self.app.openapi(), content.domain))
        self._operations: dict[str, Operation] = {}
        for operation in found:
            self._operations.setdefault(operation.tool.name, operation)
        self._aliases = {
            alias: e.operation_id for e in content.endpoints for alias in (e.long_operation_id, *e.aliases)
        }
        self._names = {*self._operations, *self._aliases}

    def specs(self) -> Sequence[ToolSpec]:
        """The tools in document order."""
        return [operation.tool for operation in self._operations.values()]

    def spec(self, name: str) -> ToolSpec | None:
        """The tool that a written name means, or None."""
        resolved = self.resolve(name)
        return None if resolved is None else self._operations[resolved].tool

    def resolve(self, name: str) -> str | None:
        """The tool's own name for one of its spellings: ``task_<n>_<domain>_<name>``, or a long operation id."""
        own = own_name(name, self.domain, self._names)
        own = self._aliases.get(own, own)
        return own if own in self._operations else None

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        """Call a tool by its own name with arguments that its schema accepts.

        An HTTP error is a failed result whose flag is not set, as in the release, with the detail kept. Raises
        ``EnvironmentFailure`` when the database behind the endpoints cannot be read.
        """
        operation = self._operations[name]
        given = {key: _text(value) for key, value in arguments.items() if value is not None}
        path = operation.path
        for key in operation.path_parameters:
            path = path.replace(f"{{{key}}}", quote(given.get(key, ""), safe="", errors="surrogatepass"))
        query = urlencode(
            [(key, given[key]) for key in operation.query_parameters if key in given], errors="surrogatepass"
        )
        content = json.dumps(arguments.get("body")).encode() if operation.has_body else b""
        status, headers, raw = await request(self.app, operation.method, path, query, content)
        answer = json.loads(raw) if raw else None
        if status < 400:
            note = headers.get(NOTE_HEADER)
            return ToolResult(text=json.dumps(answer, indent=2), notes=(note,) if note else ())
        detail = _detail(answer)
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            raise EnvironmentFailure(detail)
        text = f"Error calling API: {name} answered {status} {_phrase(status)}: {detail}"
        return ToolResult(text=text, failed=True, error_kind="tool_failed")


def dashboard_tools(endpoints: Path, database: Path, *, offload: bool = False) -> DashboardTools:
    """The tools of an endpoint file over a database; one application per pair of files, shared by all sessions.

    Raises ``DataError`` when the endpoint file cannot be used.
    """
    stat = endpoints.stat() if endpoints.exists() else None
    stamp = (stat.st_mtime_ns, stat.st_size) if stat else (0, 0)
    return _shared(endpoints.absolute(), database.absolute(), stamp, offload)


@lru_cache(maxsize=64)
def _shared(endpoints: Path, database: Path, _stamp: tuple[int, int], offload: bool) -> DashboardTools:
    return DashboardTools(load_endpoints(endpoints), ReadOnlyDatabase(database), offload=offload)


def _text(value: Json) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "error"


def _detail(answer: Json) -> str:
    """The sentence of an error body: FastAPI's ``detail`` is a text or a list of what was wrong where."""
    detail = answer.get("detail") if isinstance(answer, dict) else answer
    if isinstance(detail, list):
        parts = [
            f"{'.'.join(str(p) for p in d.get('loc', ()))}: {d.get('msg', '')}" if isinstance(d, dict) else str(d)
            for d in detail
        ]
        return "; ".join(parts)
    return str(detail)
