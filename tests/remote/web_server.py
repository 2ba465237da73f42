"""A server over streamable HTTP that can do things wrong: an application that speaks the protocol by hand."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
import yaml

from toolenv.remote import RemoteEnvironment


class Application:
    """Answers POST with JSON or, with ``stream``, with an event stream. ``forgetful`` forgets its session at a call."""

    def __init__(self, *, stream: bool = False, forgetful: bool = False, text: str = "hello") -> None:
        self.stream = stream
        self.forgetful = forgetful
        self.text = text
        self.headers: list[dict[str, str]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return None
        self.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
        body = b""
        while True:
            part = await receive()
            body += part.get("body", b"")
            if not part.get("more_body"):
                break
        if scope["method"] != "POST":
            return await self.reply(send, 405, b"")
        message = json.loads(body)
        method = message["method"]
        if "id" not in message:
            return await self.reply(send, 202, b"")
        if method == "tools/call" and self.forgetful:
            error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Session not found"}}
            return await self.reply(send, 404, json.dumps(error).encode())
        result: dict[str, Any] = {"content": [{"type": "text", "text": self.text}]}
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "h", "version": "0"}}
        if method == "tools/list":
            result = {"tools": [{"name": "ask", "inputSchema": {"type": "object"}}]}
        answer = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        return await self.reply(send, 200, answer)

    async def reply(self, send: Any, status: int, body: bytes) -> None:
        kind = b"application/json"
        if self.stream and status == 200:
            kind, body = b"text/event-stream", b"event: message\ndata: " + body + b"\n\n"
        headers = [(b"content-type", kind), (b"mcp-session-id", b"s1")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        for start in range(0, max(1, len(body)), 65536):
            more = start + 65536 < len(body)
            await send({"type": "http.response.body", "body": body[start : start + 65536], "more_body": more})


@asynccontextmanager
async def reached(application: Application, folder: Path, **more: Any) -> AsyncIterator[RemoteEnvironment]:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(application, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    path = folder / "c.yaml"
    path.write_text(yaml.safe_dump({"tasks": {2: {"mode": "http", "server_url": url, **more}}}))
    environment = RemoteEnvironment(path, logs=folder)
    try:
        yield environment
    finally:
        await environment.close()
        server.should_exit = True
        await running
        listener.close()
