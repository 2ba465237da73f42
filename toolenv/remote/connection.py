"""One connection to one server: opened, used and closed by a task of its own, so that any task may ask for its end.

Requests come from any task of the same event loop. A server that dies, goes silent or answers nonsense becomes an
``EnvironmentFailure`` that says which and why; nothing waits without a limit.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Final

import anyio
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import CONNECTION_CLOSED, METHOD_NOT_FOUND
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION

from toolenv.errors import EnvironmentFailure
from toolenv.model import Json, ToolSpec, Value
from toolenv.policy import source_of
from toolenv.remote.process import Process
from toolenv.remote.tap import Tap, Wire

PAGES: Final = 1000
"""Pages of a tool list that are read."""

START_S: Final = 60.0
"""Seconds that a server has to start and shake hands."""

_CLOSE_S: Final = 4.0
_FIRST_ID: Final = 1000
_VERSION_HEADER: Final = "mcp-protocol-version"

# Without a handler Python would print the library's warnings on stderr, which may be a screen.
logging.getLogger("mcp").addHandler(logging.NullHandler())

Streams = tuple[Any, Any, Process | None]


class Outstanding(Value, frozen=True):
    """A call without an answer so far; ``since`` is of the monotonic clock, ``progress`` the server's last word."""

    server: str
    tool: str
    since: float
    progress: str = ""


class ServerGone(EnvironmentFailure):
    """The server of a connection is not there any more."""


class Unanswered(EnvironmentFailure):
    """A server is there but gave no answer in time."""


class Refused(EnvironmentFailure):
    """A server answered a request with a protocol error."""

    def __init__(self, sentence: str, code: int, message: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.message = message


class Connection:
    """A connection to ``name``; ``streams`` opens its transport, which reports its messages to ``wire``.

    ``changed`` is called when the tool list changes.
    """

    def __init__(
        self, name: str, streams: Callable[[Wire], AbstractAsyncContextManager[Streams]], *, deadline_s: float
    ) -> None:
        self.name = name
        self.problems: list[str] = []
        self.changed: Callable[[], None] | None = None
        self.outstanding: dict[int, Outstanding] = {}
        self.pid: int | None = None
        self.wire = Wire()
        self._streams = streams
        self._deadline_s = deadline_s
        self._dispatcher: JSONRPCDispatcher[Any] | None = None
        self._process: Process | None = None
        self._headers: dict[str, str] = {}
        self._closing = asyncio.Event()
        self._ended = asyncio.Event()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reason = "is closed"
        self._numbers = 0
        self._owner: asyncio.Task[None] | None = None

    @property
    def alive(self) -> bool:
        return self._ready.done() and not self._ended.is_set() and not self._closing.is_set()

    @property
    def stray_lines(self) -> int:
        """Lines on the server's stdout that were no messages."""
        return self._process.log.stray if self._process is not None else 0

    @property
    def log_problem(self) -> str | None:
        """Why the log of the server's process is not written, None where it is or there is none."""
        return self._process.log.problem if self._process is not None else None

    async def start(self) -> None:
        """Open the connection and shake hands. Raises ``EnvironmentFailure``, with the server gone."""
        self._owner = asyncio.create_task(self._own())
        try:
            await asyncio.shield(self._ready)
        except asyncio.CancelledError:
            self._closing.set()
            raise

    async def close(self) -> None:
        """End the server. Calls that wait fail; closing twice is nothing."""
        self._closing.set()
        if self._owner is not None:
            await asyncio.wait([self._owner], timeout=_CLOSE_S)
            if not self._owner.done():
                self._owner.cancel()
                await asyncio.wait([self._owner], timeout=_CLOSE_S)

    async def tools(self) -> tuple[ToolSpec, ...]:
        """All tools, page by page, in their order; what is listed again counts once, two tools with one name twice.

        A list whose pages go in a circle is cut there, and the problem is kept.
        """
        found: dict[str, ToolSpec] = {}
        cursor: str | None = None
        cursors: set[str] = set()
        for _ in range(PAGES):
            answer = await self._request("tools/list", {"cursor": cursor} if cursor is not None else None, "tools/list")
            tools = answer.get("tools")
            if not isinstance(tools, list):
                raise EnvironmentFailure(f"{self.name} answered tools/list without a list of tools.")
            for tool in tools:
                self._keep(tool, found)
            following = answer.get("nextCursor")
            if not isinstance(following, str) or not following:
                break
            if following in cursors:
                self._problem(f"{self.name} pages its tools in a circle; the {len(found)} listed so far are all.")
                break
            cursors.add(following)
            cursor = following
        else:
            self._problem(f"{self.name} pages its tools without an end; the first {len(found)} are used.")
        return tuple(found.values())

    async def call(
        self, tool: str, arguments: Mapping[str, Json], tapped: Callable[[Tap], None] | None = None
    ) -> dict[str, Json]:
        """The raw answer to a call. Raises ``ServerGone``, ``Unanswered`` or ``Refused``.

        ``tapped`` is handed what collects the call's messages, before the first one is sent.
        """
        return await self._request("tools/call", {"name": tool, "arguments": dict(arguments)}, tool, tapped)

    # --- the owner ---------------------------------------------------------------------------------------------------

    async def _own(self) -> None:
        try:
            async with self._streams(self.wire) as (read, write, process):
                self._process = process
                self.pid = process.pid if process is not None else None
                dispatcher: JSONRPCDispatcher[Any] = JSONRPCDispatcher(read, write)
                running = asyncio.create_task(self._run(dispatcher))
                try:
                    await self._shake_hands(dispatcher, running)
                    self._dispatcher = dispatcher
                    self._ready.set_result(None)
                    closing = asyncio.create_task(self._closing.wait())
                    await asyncio.wait([closing, running], return_when=asyncio.FIRST_COMPLETED)
                    closing.cancel()
                    if running.done() and not self._closing.is_set():
                        self._reason = await self._how_it_ended()
                finally:
                    self._ended.set()
                    running.cancel()
                    with suppress(asyncio.CancelledError):
                        await running
        except BaseExceptionGroup as group:
            self._fail(_first(group))
        except (EnvironmentFailure, MCPError, OSError, ValueError, RuntimeError) as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - transports raise their libraries' own errors; all mean one thing here
            self._fail(error)
        finally:
            self._ended.set()
            if not self._ready.done():
                self._ready.set_exception(ServerGone(_ended(f"{self.name} {self._reason}")))
                # Whoever started it may have been cancelled; the failure is then nobody's to read.
                self._ready.exception()

    async def _run(self, dispatcher: JSONRPCDispatcher[Any]) -> None:
        try:
            await dispatcher.run(self._on_request, self._on_notification, self._on_arrival)
        except* (OSError, RuntimeError, ValueError) as group:
            self._reason = f"lost its connection: {_first(group)}"

    async def _shake_hands(self, dispatcher: JSONRPCDispatcher[Any], running: asyncio.Task[None]) -> None:
        params = {
            "protocolVersion": LATEST_HANDSHAKE_VERSION,
            "capabilities": {},
            "clientInfo": {"name": "vakra-tui", "version": "1"},
        }
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(START_S):
                answer = await dispatcher.send_raw_request("initialize", params, {"cancel_on_abandon": False})
        except TimeoutError as error:
            raise ServerGone(f"{self.name} did not answer the handshake within {START_S:g} s.") from error
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                raise ServerGone(_ended(f"{self.name} {await self._how_it_ended()}")) from error
            raise EnvironmentFailure(_ended(f"{self.name} refused the handshake: {error.message}")) from error
        version = answer.get("protocolVersion")
        if version not in HANDSHAKE_PROTOCOL_VERSIONS:
            raise EnvironmentFailure(f"{self.name} speaks protocol {version!r}, which this program does not know.")
        self._headers = {_VERSION_HEADER: str(version)}
        await dispatcher.notify("notifications/initialized", None, {"headers": self._headers})

    async def _how_it_ended(self) -> str:
        if self._process is None:
            return "ended the connection"
        await self._process.ended(1.0)
        # What it said last may still be on its way through the pipe.
        await asyncio.sleep(0.05)
        return self._process.how()

    def _fail(self, error: BaseException) -> None:
        self._reason = f"cannot be reached: {error or type(error).__name__}"
        if not self._ready.done():
            failure = (
                error if isinstance(error, EnvironmentFailure) else ServerGone(_ended(f"{self.name} {self._reason}"))
            )
            self._ready.set_exception(failure)
            self._ready.exception()

    # --- what the server says ----------------------------------------------------------------------------------------

    async def _on_request(self, context: Any, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        if method == "ping":
            return {}
        raise MCPError(code=METHOD_NOT_FOUND, message=f"this client does not offer {method}")

    async def _on_notification(self, context: Any, method: str, params: Mapping[str, Any] | None) -> None:
        """Nothing is left to do for what ``_on_arrival`` let pass."""

    def _on_arrival(self, method: str, params: Mapping[str, Any] | None) -> bool:
        """In the order of arrival, so that a changed list is known before the answer that follows it."""
        if method == "notifications/tools/list_changed" and self.changed is not None:
            self.changed()
        return True

    # --- requests ----------------------------------------------------------------------------------------------------

    async def _request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        what: str,
        tapped: Callable[[Tap], None] | None = None,
    ) -> dict[str, Any]:
        dispatcher = self._dispatcher
        if dispatcher is None or not self.alive:
            raise ServerGone(_ended(f"{self.name} {self._reason}"))
        self._numbers += 1
        number = self._numbers
        entry = Outstanding(server=self.name, tool=what, since=time.monotonic())
        self.outstanding[number] = entry
        # Ids of the connection's own tell which call a message belongs to; they never meet the library's.
        identity = _FIRST_ID + number
        if tapped is not None:
            tapped(self.wire.open(identity, self.name, what))
        deadline = asyncio.timeout(self._deadline_s)
        loop = asyncio.get_running_loop()

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            if not deadline.expired():
                deadline.reschedule(loop.time() + self._deadline_s)
            text = message or (f"{progress:g}" if total is None else f"{progress:g} of {total:g}")
            self.outstanding[number] = Outstanding(server=self.name, tool=what, since=entry.since, progress=text)

        try:
            async with deadline:
                options: CallOptions = {"on_progress": on_progress, "headers": self._headers, "request_id": identity}
                answer = await dispatcher.send_raw_request(method, params, options)
        except TimeoutError as error:
            raise Unanswered(
                f"{self.name}: no answer to {what} within {self._deadline_s:g} s of its last sign of life."
            ) from error
        except MCPError as error:
            if error.code == CONNECTION_CLOSED or not self.alive or _session_is_gone(error):
                self._closing.set()
                await self._settled()
                raise ServerGone(f"{self.name} {self._reason}; {what} was not answered.") from error
            raise Refused(_ended(f"{self.name} refused {what}: {error.message}"), error.code, error.message) from error
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, RuntimeError) as error:
            raise ServerGone(f"{self.name} {self._reason}; {what} was not answered.") from error
        finally:
            self.outstanding.pop(number, None)
            self.wire.close(identity)
        return answer

    async def _settled(self) -> None:
        """Wait until the owner knows how the server ended."""
        if self._process is not None:
            self._reason = await self._how_it_ended()
        elif self._reason == "is closed":
            self._reason = "ended the session"

    def _keep(self, tool: Json, found: dict[str, ToolSpec]) -> None:
        name = tool.get("name") if isinstance(tool, dict) else None
        if not isinstance(name, str) or not name:
            self._problem(f"{self.name} lists a tool without a name; it was left out.")
            return
        schema, description = tool.get("inputSchema"), tool.get("description")
        spec = ToolSpec(
            name=name,
            input_schema=schema if isinstance(schema, dict) else {},
            description=description if isinstance(description, str) else "",
            source=source_of(name),
        )
        found.setdefault(json.dumps([name, spec.description, spec.input_schema], sort_keys=True), spec)

    def _problem(self, sentence: str) -> None:
        if sentence not in self.problems:
            self.problems.append(sentence)


def _ended(text: str) -> str:
    """A sentence with a mark at its end, whatever a server's own words end in."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _session_is_gone(error: MCPError) -> bool:
    """A server over HTTP that has forgotten the session, or is not there any more."""
    text = error.message.lower()
    return "session terminated" in text or "session not found" in text or ("connection" in text and "fail" in text)


def _first(group: BaseExceptionGroup[Any]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
