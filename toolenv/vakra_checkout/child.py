"""The child process that runs a checkout's routers.

    python -m toolenv.vakra_checkout.child serve CHECKOUT DATA REPORT     an MCP server on stdio for one domain
    python -m toolenv.vakra_checkout.child survey CHECKOUT REPORT         checksums of the tool lists of all domains

The working directory is a scratch folder with the databases linked in below ``db``. CAPABILITY_ID and MCP_DOMAIN say
what is served. REPORT is a file that gets ``{"failed": {router: reason}, ...}``. What the routers print goes to stderr.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolenv.checksum import tool_checksum
from toolenv.environment import ToolSession
from toolenv.files import written_whole
from toolenv.model import Instance, Json, ToolResult, ToolSpec
from toolenv.vakra_checkout.application import called, imported, query_tool, release_tools
from toolenv.vakra_checkout.layout import read_checkout


class CheckoutSession:
    """A ``ToolSession`` over a checkout's application; it keeps nothing between calls."""

    def __init__(self, app: Any, domain: str, documents: Any) -> None:
        self._app = app
        self._documents = documents
        found = release_tools(app, domain)
        self._operations = {operation.tool.name: operation for operation in reversed(found)}
        self._tools = [operation.tool for operation in found]
        if documents is not None:
            self._tools += [query_tool(spec.name.removeprefix("query_")) for spec in documents.specs()]
        # Of several tools with one name the first that was mounted is called, as in the release.
        self._specs = {tool.name: tool for tool in reversed(self._tools)}

    async def list_tools(self) -> Sequence[ToolSpec]:
        return self._tools

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        from toolenv.failures import result_of
        from toolenv.schema import refusal

        spec = self._specs.get(name)
        if spec is None:
            return result_of(f"Tool {name} not found; it is not among the tools of this domain", True)
        problem = refusal(spec, arguments)
        if problem is not None:
            return result_of(problem, True)
        operation = self._operations.get(name)
        if operation is not None:
            return await called(self._app, operation, arguments)
        result: ToolResult = await self._documents.call(name, arguments)
        return result

    async def table(self, handle: str) -> None:
        return None

    async def fork(self) -> CheckoutSession:
        return self

    async def close(self) -> None: ...

    def on_tools_changed(self, listener: Callable[[], None]) -> None:
        """The tools of a domain never change."""


class _One:
    """An environment that opens one session."""

    kind = "vakra"
    name = "vakra"

    def __init__(self, session: CheckoutSession) -> None:
        self._session = session

    def fingerprint(self) -> str | None:
        return None

    def serves(self, capability: int, domain: str) -> bool:
        return True

    async def open(self, instance: Instance) -> ToolSession:
        return self._session

    async def close(self) -> None: ...


def serve(checkout_path: Path, data: Path, report: Path) -> int:
    capability, domain = int(os.environ["CAPABILITY_ID"]), os.environ["MCP_DOMAIN"]
    wire = _diverted()
    checkout = read_checkout(checkout_path)
    app, failed = imported(checkout, checkout.offering(domain))
    documents = _documents(data, domain) if capability == 4 else None
    session = CheckoutSession(app, domain, documents)
    _write(report, {"failed": failed})
    own = [router.name for router in checkout.routers if domain in router.domains and router.name in failed]
    if own:
        sys.stderr.write(f"router {own[0]} cannot be imported: {failed[own[0]]}\n")
        return 3
    _restored(wire)
    from toolenv.serve.running import serve_stdio

    asyncio.run(serve_stdio(_One(session), capability, domain, "1"))
    return 0


def survey(checkout_path: Path, report: Path) -> int:
    """Write what the checkout would list for each of its domains: ``{"failed", "rest": {domain: checksum}, ...}``.

    ``retriever`` holds the checksums with the retriever tools of the published table added (capability 4).
    """
    from toolenv.domains import confusable_with

    _diverted()
    checkout = read_checkout(checkout_path)
    app, failed = imported(checkout, checkout.routers)
    rest, retriever = {}, {}
    for domain in checkout.domains:
        tools = [operation.tool for operation in release_tools(app, domain)]
        rest[domain] = tool_checksum(tools)
        queries = [query_tool(name) for name in (domain, *confusable_with(domain))]
        retriever[domain] = tool_checksum([*tools, *queries])
    _write(report, {"failed": failed, "rest": rest, "retriever": retriever})
    return 0


def _documents(data: Path, domain: str) -> Any:
    from toolenv.dataset import Dataset
    from toolenv.documents import DocumentTools, embedder_from_environment

    dataset = Dataset.open(data)
    return DocumentTools(dataset, domain, embedder=embedder_from_environment()) if dataset.collections(domain) else None


def _diverted() -> int:
    """Send what is printed to stderr; a descriptor of the real stdout is given back."""
    wire = os.dup(1)
    os.dup2(2, 1)
    return wire


def _restored(wire: int) -> None:
    """Give stdout back to the protocol; its transport diverts what is printed from then on itself."""
    sys.stdout.flush()
    os.dup2(wire, 1)
    os.close(wire)


def _write(report: Path, value: Json) -> None:
    with written_whole(report) as stream:
        stream.write(json.dumps(value).encode())


def main() -> int:
    command, checkout, *rest = sys.argv[1:]
    if command == "serve":
        return serve(Path(checkout), Path(rest[0]), Path(rest[1]))
    return survey(Path(checkout), Path(rest[0]))


if __name__ == "__main__":
    sys.exit(main())
