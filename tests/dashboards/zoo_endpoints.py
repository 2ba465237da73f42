"""Endpoints over the small database of these tests."""

from __future__ import annotations

from collections.abc import Callable

from toolenv.dashboards.definition import Endpoint, EndpointParameter, Envelope, Shape
from toolenv.dashboards.tools import DashboardTools

ToolsFactory = Callable[..., DashboardTools]


def endpoint(operation_id: str, sql: str, shape: Shape = "list", key: str = "found", **types: str) -> Endpoint:
    parameters = tuple(EndpointParameter(name=p, type=t, description=f"the {p}") for p, t in types.items())  # type: ignore[arg-type]
    return Endpoint(
        operation_id=operation_id,
        path=f"/v1/zoo/{operation_id}",
        sql=sql,
        response=Envelope(key=key, shape=shape),
        summary=f"Finds {operation_id}",
        parameters=parameters,
    )
