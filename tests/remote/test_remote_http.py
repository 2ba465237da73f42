"""Servers over streamable HTTP that do things wrong, in the form of an application that speaks the protocol by hand."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
import yaml

from toolenv.errors import EnvironmentFailure
from toolenv.model import Instance
from toolenv.remote import RemoteEnvironment

SIZE = 3_000_000


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


def instance() -> Instance:
    return Instance(uuid="i", capability=2, domain="towns", turns=())


@pytest.mark.parametrize("stream", [False, True])
async def test_a_large_result_arrives_whole(tmp_path: Path, *, stream: bool) -> None:
    async with reached(Application(stream=stream, text="x" * SIZE), tmp_path) as environment:
        session = await environment.open(instance())
        assert len((await session.call("ask", {})).text) == SIZE


@pytest.mark.parametrize("stream", [False, True])
async def test_half_a_surrogate_pair_costs_itself_only(tmp_path: Path, *, stream: bool) -> None:
    async with reached(Application(stream=stream, text="caf\u00e9 \ud83d end \U0001f600"), tmp_path) as environment:
        session = await environment.open(instance())
        assert (await session.call("ask", {})).text == "caf\u00e9 \ufffd end \U0001f600"


async def test_headers_are_sent_and_the_version_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_TOKEN", "t-1")
    application = Application()
    headers = {"Authorization": "Bearer ${A_TOKEN}", "X-Domain": "{domain}"}
    async with reached(application, tmp_path, headers=headers) as environment:
        session = await environment.open(instance())
        assert (await session.call("ask", {})).text == "hello"
    assert {sent["authorization"] for sent in application.headers} == {"Bearer t-1"}
    assert {sent["x-domain"] for sent in application.headers} == {"towns"}
    assert application.headers[-1]["mcp-protocol-version"] == "2025-11-25"


async def test_a_server_that_forgets_its_session_is_a_failure(tmp_path: Path) -> None:
    async with reached(Application(forgetful=True), tmp_path) as environment:
        session = await environment.open(instance())
        with pytest.raises(EnvironmentFailure):
            await session.call("ask", {})
