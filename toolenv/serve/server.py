"""The MCP server over an environment: tools of one (capability, domain), answered as the environment answers them.

Texts and error flags are the environment's own, to the byte; the protocol library validates nothing here. Only an
environment that cannot answer at all becomes a protocol error.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp.shared.subscriptions import ToolsListChanged
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from toolenv.environment import ToolEnvironment, ToolSession
from toolenv.errors import VakraError
from toolenv.model import Instance
from toolenv.serve.lines import Wire, listed

SESSION_HEADER: Final = "mcp-session-id"
OPEN_SESSIONS: Final = 256
"""Sessions of HTTP clients that are kept; of those with nothing to answer the one used longest ago is closed first."""


def serving_instance(capability: int, domain: str) -> Instance:
    """What is opened for a client that names no instance: in capability 1 the domain's first universe."""
    return Instance(uuid="", capability=capability, domain=domain, turns=())


class ToolServer:
    """Serves one (capability, domain) of an environment.

    A connection over stdio has the process to itself. Over HTTP each protocol session has a session of its own; where
    calls build on each other (capability 1), a client without one is told to begin with the handshake.
    """

    def __init__(self, environment: ToolEnvironment, capability: int, domain: str, *, http: bool, version: str) -> None:
        self._environment = environment
        self._instance = serving_instance(capability, domain)
        self._http = http
        self._sessions: OrderedDict[str, _Client] = OrderedDict()
        self._bus = InMemorySubscriptionBus()
        self.mcp: Server[Any] = Server(
            f"vakra-tui-{domain}",
            version=version,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        if self._needs_handshake:
            self.mcp.add_request_handler("server/discover", types.RequestParams, self._discover)

    @property
    def _needs_handshake(self) -> bool:
        return self._http and self._instance.capability == 1

    async def on_wire(self, wire: Wire, opening: bytes) -> None:
        """Serve the client of a wire whose first request is ``opening``, until it closes the wire."""
        incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)

        async def take() -> None:
            async with incoming:
                line = opening
                while line:
                    try:
                        await incoming.send(
                            SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
                        )
                    except ValueError as error:
                        await incoming.send(error)
                    line = await wire.line()

        async def give() -> None:
            async for item in outgoing:
                wire.send(item.message.model_dump(by_alias=True, exclude_unset=True, mode="json"))

        tasks = [asyncio.ensure_future(take()), asyncio.ensure_future(give())]
        options = self.mcp.create_initialization_options()
        try:
            await self.mcp.run(read, write, options)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for stream in (incoming, read, write, outgoing):
                stream.close()
            await self.close()

    async def close(self) -> None:
        while self._sessions:
            await self._sessions.popitem()[1].session.close()

    async def _discover(self, context: Any, params: types.RequestParams | None) -> types.DiscoverResult:
        """Only the versions with a handshake: later ones have no session that a handle could live in."""
        return types.DiscoverResult(
            supported_versions=list(HANDSHAKE_PROTOCOL_VERSIONS), capabilities=self.mcp.get_capabilities()
        )

    @asynccontextmanager
    async def _turn(self, context: Any) -> AsyncIterator[_Client]:
        """The client that asks, alone with its session, which stays open until it is answered."""
        key = self._key(context)
        client, spare = self._sessions.get(key), None
        if client is None:
            try:
                session = await self._environment.open(self._instance)
            except VakraError as error:
                raise MCPError(code=types.INTERNAL_ERROR, message=str(error)) from error
            client = self._sessions.setdefault(key, _Client(session))
            # Another request of this client may have opened one meanwhile.
            spare = session if client.session is not session else None
        client.asking += 1
        self._sessions.move_to_end(key)
        try:
            if spare is not None:
                await spare.close()
            async with client.turn:
                yield client
        finally:
            client.asking -= 1
            await self._close_oldest()

    def _key(self, context: Any) -> str:
        request = context.request
        key: str = request.headers.get(SESSION_HEADER, "") if self._http and request is not None else ""
        if self._needs_handshake and not key:
            raise MCPError(
                code=types.INVALID_REQUEST,
                message="These tools keep tables between calls: begin with the initialize handshake.",
            )
        return key

    async def _close_oldest(self) -> None:
        """Close what is over the limit, but no session that somebody waits for: those go once they have answered."""
        idle = [key for key, client in self._sessions.items() if not client.asking]
        over = len(self._sessions) - OPEN_SESSIONS
        for client in [self._sessions.pop(key) for key in idle[: max(0, over)]]:
            await client.session.close()

    async def _list_tools(self, context: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        async with self._turn(context) as client:
            try:
                tools = await client.session.list_tools()
            except VakraError as error:
                raise MCPError(code=types.INTERNAL_ERROR, message=str(error)) from error
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in listed(tools)])

    async def _call_tool(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        async with self._turn(context) as client:
            client.changed = False
            try:
                result = await client.session.call(params.name, params.arguments or {})
            except VakraError as error:
                raise MCPError(code=types.INTERNAL_ERROR, message=str(error)) from error
            if client.changed:
                await self._tell(context)
        return types.CallToolResult(content=[types.TextContent(text=result.text)], is_error=result.is_error)

    async def _tell(self, context: Any) -> None:
        """That the list of tools is another now: to a handshake client by notification, to others where they listen."""
        if context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            await context.session.send_tool_list_changed()
        else:
            await self._bus.publish(ToolsListChanged())


class _Client:
    """The session of one client; its calls take turns. ``asking`` is how many of them are not answered yet."""

    def __init__(self, session: ToolSession) -> None:
        self.session = session
        self.turn = asyncio.Lock()
        self.asking = 0
        self.changed = False
        session.on_tools_changed(self._note)

    def _note(self) -> None:
        self.changed = True
