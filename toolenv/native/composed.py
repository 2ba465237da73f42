"""Native sessions of capabilities 2 to 4: dashboard endpoints, and in capability 4 the document collections besides."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from toolenv.errors import EnvironmentFailure
from toolenv.model import Instance, Json, ToolResult, ToolSpec

if TYPE_CHECKING:
    from toolenv.dashboards.tools import DashboardTools
    from toolenv.dataset import Dataset
    from toolenv.documents import DocumentTools


class ComposedSession:
    """Tools of one domain that keep no state between calls, so a fork is the session under another name."""

    forks_by_copy = True

    def __init__(self, domain: str, dashboards: DashboardTools | None, documents: DocumentTools | None) -> None:
        self._domain = domain
        self._dashboards = dashboards
        self._documents = documents
        self._tools = [
            *(dashboards.specs() if dashboards is not None else ()),
            *(documents.specs() if documents is not None else ()),
        ]
        self._by_name = {tool.name: tool for tool in self._tools}
        self._open = dashboards is not None
        if dashboards is not None:
            dashboards.database.acquire()

    async def list_tools(self) -> Sequence[ToolSpec]:
        return self._tools

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        """Answer as the release's MCP layer does (contract, section 2): schema first, then endpoint or retriever."""
        started = time.perf_counter()
        result = await self._answer(name, arguments)
        return msgspec.structs.replace(result, duration_s=time.perf_counter() - started)

    async def _answer(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        from toolenv.recorded.aliases import own_name
        from toolenv.schema import refusal

        endpoint = self._dashboards.resolve(name) if self._dashboards is not None else None
        spec = self._by_name.get(endpoint or own_name(name, self._domain, self._by_name))
        if spec is None:
            return self._get_data() if name == "get_data" else _unknown(name)
        problem = refusal(spec, arguments)
        if problem is not None:
            return ToolResult(text=problem, is_error=True, failed=True, error_kind="refused_arguments")
        if endpoint is not None and self._dashboards is not None:
            return await self._dashboards.call(endpoint, arguments)
        assert self._documents is not None
        return await self._documents.call(spec.name, arguments)

    def _get_data(self) -> ToolResult:
        text = json.dumps({"domain": self._domain, "tools": len(self._tools)})
        return ToolResult(text=text, notes=("get_data opens nothing here; it is neutral for every gate",))

    async def table(self, handle: str) -> None:
        return None

    async def fork(self) -> ComposedSession:
        return ComposedSession(self._domain, self._dashboards, self._documents)

    async def close(self) -> None:
        if self._open and self._dashboards is not None:
            self._open = False
            self._dashboards.database.release()

    def on_tools_changed(self, listener: Callable[[], None]) -> None:
        """The tools of a domain never change."""


def open_composed(dataset: Dataset, instance: Instance, *, offload: bool = False) -> ComposedSession:
    """A session for an instance of capability 2, 3 or 4.

    With ``offload`` statements run in threads. Raises ``EnvironmentFailure`` when the dataset has no endpoints (nor, in
    capability 4, documents) for the domain, ``DataError`` when the endpoint file cannot be used.
    """
    from toolenv.dashboards.tools import dashboard_tools

    domain = instance.domain
    endpoints = dataset.endpoints(domain)
    dashboards = None
    if endpoints is not None:
        dashboards = dashboard_tools(endpoints, dataset.database(domain), offload=offload)
    documents = _documents(dataset, domain) if instance.capability == 4 else None
    if dashboards is None and documents is None:
        raise EnvironmentFailure(
            f"the dataset has no endpoints for domain {domain!r}: endpoints/{domain}.json is not there; "
            "use --env recorded:DIR or --env config:FILE for this domain."
        )
    return ComposedSession(domain, dashboards, documents)


def _documents(dataset: Dataset, domain: str) -> DocumentTools | None:
    from toolenv.documents import DocumentTools, embedder_from_environment

    if not dataset.collections(domain):
        return None
    return DocumentTools(dataset, domain, embedder=embedder_from_environment())


def _unknown(name: str) -> ToolResult:
    return ToolResult(
        text=f"Tool {name} not found; it is not among the tools of this domain",
        is_error=True,
        failed=True,
        error_kind="unknown_tool",
    )
