"""An endpoint file as a FastAPI application: the one that is called in process and the one that is served over HTTP."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from toolenv.dashboards.database import ReadOnlyDatabase, StatementError
from toolenv.dashboards.definition import Endpoint, EndpointFile, EndpointParameter
from toolenv.errors import EnvironmentFailure
from toolenv.model import Json

if TYPE_CHECKING:
    from fastapi import FastAPI

NOTE_HEADER = "x-vakra-tui-note"
"""A response header that holds a note on the answer, for whoever shows it; the body is the endpoint's own."""

NOT_UTF8 = "text that is not UTF-8 was read as Latin-1"

_TYPES: Mapping[str, type] = {"string": str, "integer": int, "number": float}


def application(content: EndpointFile, database: ReadOnlyDatabase, *, offload: bool = False) -> FastAPI:
    """The ASGI application of one domain, its OpenAPI document at ``/openapi.json``.

    With ``offload`` statements run in a thread, so that an event loop which serves others never waits for one.
    """
    from fastapi import FastAPI
    from fastapi.responses import JSONResponse

    app = FastAPI(title=f"{content.domain} dashboards", version="1", docs_url=None, redoc_url=None)
    for endpoint in content.endpoints:
        app.add_api_route(
            endpoint.path,
            _handler(endpoint, database, offload),
            methods=[endpoint.method.upper()],
            operation_id=endpoint.operation_id,
            summary=endpoint.summary or endpoint.operation_id,
            response_class=JSONResponse,
            response_model=None,
        )
    return app


def body(endpoint: Endpoint, names: Sequence[str], rows: Sequence[tuple[Json, ...]]) -> Json:
    """The envelope of an answer (contract, section 2): no row gives an empty list, whatever the shape."""
    key, shape = endpoint.response.key, endpoint.response.shape
    if not rows:
        return {key: []}
    if shape == "scalar":
        return {key: rows[0][0]}
    if shape == "list":
        return {key: [row[0] for row in rows]}
    if shape == "rows":
        return {key: [list(row) for row in rows]}
    unique = distinct_names(names)
    return {key: [dict(zip(unique, row, strict=True)) for row in rows]}


def distinct_names(names: Sequence[str]) -> list[str]:
    """Column names made distinct (``name``, ``name_2``), so that no value of a join is lost; case is ignored."""
    taken: set[str] = set()
    result = []
    for name in names:
        candidate, number = name, 2
        while candidate.lower() in taken:
            candidate, number = f"{name}_{number}", number + 1
        taken.add(candidate.lower())
        result.append(candidate)
    return result


def _handler(endpoint: Endpoint, database: ReadOnlyDatabase, offload: bool) -> Callable[..., Any]:
    from fastapi import HTTPException
    from fastapi.responses import JSONResponse

    names = {f"p{index}": parameter.name for index, parameter in enumerate(endpoint.parameters)}

    async def handler(**arguments: Any) -> JSONResponse:
        binds = {names[internal]: value for internal, value in arguments.items()}
        try:
            if offload:
                answer = await asyncio.to_thread(database.query, endpoint.sql, binds)
            else:
                answer = database.query(endpoint.sql, binds)
        except StatementError as error:
            raise HTTPException(error.status, str(error)) from error
        except EnvironmentFailure as error:
            raise HTTPException(503, str(error)) from error
        headers = {NOTE_HEADER: NOT_UTF8} if answer.latin1 else None
        return JSONResponse(body(endpoint, answer.names, answer.rows), headers=headers)

    handler.__name__ = endpoint.operation_id
    handler.__doc__ = None
    handler.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [_parameter(f"p{index}", parameter) for index, parameter in enumerate(endpoint.parameters)]
    )
    return handler


def _parameter(internal: str, parameter: EndpointParameter) -> inspect.Parameter:
    from fastapi import Path, Query

    scalar: Any = _TYPES[parameter.type]
    if parameter.location == "path":
        annotation: Any = Annotated[scalar, Path(alias=parameter.name, description=parameter.description)]
        default: Any = inspect.Parameter.empty
    else:
        annotation = Annotated[
            scalar if parameter.required else scalar | None,
            Query(alias=parameter.name, description=parameter.description),
        ]
        default = inspect.Parameter.empty if parameter.required else None
    return inspect.Parameter(internal, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
