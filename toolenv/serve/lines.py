"""The protocol on stdio without the protocol's library, whose import takes longer than all else at a start.

Speaks every version that begins with the ``initialize`` handshake. A client that begins without it is one of the later
versions: it gets the library's server (``opening`` is then the line that it sent). ``server/discover`` is answered as a
server without later versions does, upon which clients shake hands.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Final

from toolenv.decoding import decoded
from toolenv.environment import ToolEnvironment, ToolSession
from toolenv.errors import VakraError
from toolenv.model import Instance, Json, ToolSpec

VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Versions that begin with the handshake, oldest first."""

VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
"""Where a request of a later version names its version, in ``_meta``."""

_PARSE_ERROR: Final = -32700
_INVALID_REQUEST: Final = -32600
_NO_METHOD: Final = -32601
_INVALID_PARAMS: Final = -32602
_INTERNAL: Final = -32603


class Wire:
    """This process's stdin and stdout as lines. What else is printed from now on goes to stderr."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._out = os.dup(1)
        os.dup2(2, 1)
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(os.dup(0), loop), daemon=True).start()

    def _read(self, descriptor: int, loop: asyncio.AbstractEventLoop) -> None:
        with os.fdopen(descriptor, "rb") as stream:
            for line in stream:
                self._tell(loop, line)
        self._tell(loop, b"")

    def _tell(self, loop: asyncio.AbstractEventLoop, line: bytes) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._lines.put_nowait, line)

    async def line(self) -> bytes:
        """The next line; empty at the end."""
        return await self._lines.get()

    def send(self, message: Mapping[str, Json]) -> None:
        """Write one message. Raises BrokenPipeError where the client is gone."""
        rest = json.dumps({"jsonrpc": "2.0", **message}).encode("ascii") + b"\n"
        while rest:
            rest = rest[os.write(self._out, rest) :]

    def close(self) -> None:
        sys.stdout.flush()
        os.dup2(self._out, 1)
        os.close(self._out)


class LineServer:
    """Serves one client on a wire until it closes it; ``run`` gives back the line of a client of a later version."""

    def __init__(self, environment: ToolEnvironment, instance: Instance, wire: Wire, version: str) -> None:
        self._environment = environment
        self._instance = instance
        self._wire = wire
        self._version = version
        self._session: ToolSession | None = None
        self._shaken = False
        self._changed = False

    async def run(self) -> bytes | None:
        """None when the client is gone; a line when its first request asks for a later version of the protocol."""
        try:
            while line := await self._wire.line():
                if not line.strip():
                    continue
                try:
                    message = decoded(line)
                except ValueError:
                    self._refuse(None, _PARSE_ERROR, "a message is one line of JSON")
                    continue
                if not self._shaken and _is_later(message):
                    return line
                await self._take(message)
        except BrokenPipeError:
            return None
        finally:
            if self._session is not None:
                await self._session.close()
        return None

    async def _take(self, message: Json) -> None:
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            if not isinstance(message, dict) or not ("result" in message or "error" in message):
                self._refuse(None, _INVALID_REQUEST, "a request has a method")
            return
        identity, method = message.get("id"), message["method"]
        if identity is None or isinstance(identity, bool) or not isinstance(identity, int | str):
            return
        params = message.get("params")
        try:
            result = await self._answer(method, params if isinstance(params, dict) else {})
        except _Refusal as refusal:
            self._refuse(identity, refusal.code, str(refusal))
        except VakraError as failure:
            self._refuse(identity, _INTERNAL, str(failure))
        else:
            self._wire.send({"id": identity, "result": result})

    async def _answer(self, method: str, params: Mapping[str, Json]) -> dict[str, Json]:
        if method == "initialize":
            self._shaken = True
            wanted = params.get("protocolVersion")
            return {
                "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[-1],
                "capabilities": {"tools": {"listChanged": self._instance.capability == 1}},
                "serverInfo": {"name": f"vakra-tui-{self._instance.domain}", "version": self._version},
            }
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": listed(await (await self._opened()).list_tools())}
        if method == "tools/call":
            return await self._call(params)
        raise _Refusal(_NO_METHOD, f"this server does not offer {method}")

    async def _call(self, params: Mapping[str, Json]) -> dict[str, Json]:
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or not (arguments is None or isinstance(arguments, dict)):
            raise _Refusal(_INVALID_PARAMS, "a call has a name and, where it has arguments, an object of them")
        session = await self._opened()
        self._changed = False
        result = await session.call(name, arguments or {})
        if self._changed and self._shaken:
            self._wire.send({"method": "notifications/tools/list_changed"})
        return {"content": [{"type": "text", "text": result.text}], "isError": result.is_error}

    async def _opened(self) -> ToolSession:
        if self._session is None:
            self._session = await self._environment.open(self._instance)
            self._session.on_tools_changed(self._note)
        return self._session

    def _note(self) -> None:
        self._changed = True

    def _refuse(self, identity: Json, code: int, text: str) -> None:
        self._wire.send({"id": identity, "error": {"code": code, "message": text}})


class _Refusal(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def _is_later(message: Json) -> bool:
    """Whether a message is a request of a version without handshake (a probe for one is not)."""
    if not isinstance(message, dict) or message.get("method") in ("initialize", "server/discover"):
        return False
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and VERSION_KEY in meta


def listed(tools: Sequence[ToolSpec]) -> list[dict[str, Json]]:
    """Tools in the protocol's form; a schema without a type is an object's."""
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": {"type": "object", **tool.input_schema},
        }
        for tool in tools
    ]
