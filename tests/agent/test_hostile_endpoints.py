"""Endpoints that mean harm or are broken below HTTP: every instance ends classified, soon, and within bounds."""

from __future__ import annotations

import asyncio
import gzip
import json
import resource
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from agent_endpoint import calls, text
from agent_toy import ToyEnvironment, instance

from sessions.agent import AgentRun, AgentSettings, run_agent
from sessions.agent.agent import ReactAgent
from toolenv.openai_compat import Client, EndpointSettings, RetryPolicy

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

QUICK = RetryPolicy(max_attempts=2, short_attempts=2, window_s=4, server_window_s=4, first_wait_s=0.01)


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    """A server below HTTP: each connection is handed over once its request has been read."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower()[:15] == b"content-length:"), 0
            )
            await reader.readexactly(length)
            await handler(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


async def asked(base_url: str, *, stream: bool = False, timeout_s: float = 1.5, **settings: Any) -> AgentRun:
    agent = ReactAgent("m", base_url, AgentSettings(stream=stream, **settings))
    agent.client = Client(EndpointSettings(model="m", base_url=base_url, retries=QUICK, timeout_s=timeout_s))
    async with asyncio.timeout(120):
        done = await run_agent(instance(), agent, ToyEnvironment())
    await agent.aclose()
    return done


def saying(*pieces: bytes, pause_s: float = 0.0, endless: bool = False) -> Handler:
    """Writes the pieces; the last one again and again where ``endless``."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause_s)
        while endless:
            writer.write(pieces[-1])
            await writer.drain()
            await asyncio.sleep(pause_s)

    return handler


def http(body: bytes, kind: str = "application/json", status: str = "200 OK", *headers: str) -> bytes:
    head = [
        f"HTTP/1.1 {status}",
        f"content-type: {kind}",
        f"content-length: {len(body)}",
        "connection: close",
        *headers,
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


OPEN = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\nconnection: close\r\n\r\n"
DEEP = b'{"choices": ' + b"[" * 200_000
BROKEN: dict[str, Handler] = {
    "nothing": saying(b""),
    "no HTTP": saying(b"\x00\xff garbage \r\n\r\n"),
    "binary as JSON": saying(http(bytes(range(256)) * 40)),
    "deep nesting": saying(http(DEEP)),
    "a number of 10,000 digits": saying(http(b'{"choices": ' + b"9" * 10_000 + b"}")),
    "less than announced": saying(b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n{}"),
    "a chunk that is none": saying(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}"),
    "gzip that is none": saying(http(b"not gzip", "application/json", "200 OK", "content-encoding: gzip")),
    "no content": saying(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "not modified": saying(b"HTTP/1.1 304 Not Modified\r\n\r\n"),
    "an odd status": saying(http(b"{}", "application/json", "799 Odd")),
    "a redirect to nowhere": saying(
        b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/x\r\ncontent-length: 0\r\n\r\n"
    ),
    "a redirect to no address": saying(b"HTTP/1.1 307 T\r\nlocation: foo://\x01\r\ncontent-length: 0\r\n\r\n"),
    "a header of a megabyte": saying(b"HTTP/1.1 200 OK\r\nx: " + b"a" * 1_000_000 + b"\r\n\r\n"),
    "drip": saying(OPEN % b"application/json", b" ", pause_s=0.1, endless=True),
    "endless pings": saying(OPEN % b"text/event-stream", b": ping\n\n", pause_s=0.1, endless=True),
    "choices of odd types": saying(http(b'{"choices": [[1]], "usage": "x"}')),
    "a message that is a text": saying(http(b'{"choices": [{"message": "hello"}]}')),
    "only DONE": saying(http(b"data: [DONE]\n\n", "text/event-stream")),
    "an error event": saying(http(b'data: {"error": {"message": "[red]\x1b[2J"}}\n\n', "text/event-stream")),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", BROKEN)
async def test_broken_endpoints_end_one_instance(kind: str, stream: bool) -> None:
    async with serving(BROKEN[kind]) as url:
        done = await asked(url, stream=stream)
    assert done.status in ("endpoint", "empty reply"), (done.status, done.detail)
    assert done.prediction.status == "error" and done.prediction.answer == ""


@pytest.mark.parametrize("kind", ["text/event-stream", "text/plain", "text/html", "application/octet-stream", ""])
async def test_a_completion_under_a_wrong_name(kind: str) -> None:
    async with serving(saying(http(json.dumps(text("nine")).encode(), kind))) as url:
        assert (await asked(url, timeout_s=60)).prediction.answer == "nine"
        streamed = await asked(url, stream=True, timeout_s=60)
    assert (streamed.status == "answered") == (kind != "text/event-stream")


async def test_numbers_that_are_none_in_a_request() -> None:
    async with serving(saying(b"")) as url:
        done = await asked(url, temperature=float("nan"))
    assert done.status == "endpoint" and "cannot be written as JSON" in done.detail


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "head", [OPEN % b"application/json", OPEN % b"text/event-stream", OPEN % b"text/event-stream" + b"data: "]
)
async def test_a_body_without_end_is_not_read_to_the_end(head: bytes, stream: bool) -> None:
    """Memory stays within bounds however fast the bytes come."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with serving(saying(head, b"x" * 1_000_000, endless=True)) as url:
        done = await asked(url, stream=stream, timeout_s=90)
    assert done.status == "endpoint" and "larger than" in done.detail
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 600_000


async def test_a_small_body_that_unpacks_to_a_large_one() -> None:
    bomb = gzip.compress(b" " * 100_000_000, 1)
    async with serving(saying(http(bomb, "application/json", "200 OK", "content-encoding: gzip"))) as url:
        done = await asked(url, timeout_s=90)
    assert done.status == "endpoint" and "larger than" in done.detail


async def test_a_completion_with_very_many_calls() -> None:
    """Only so many of one completion are made; the model may ask for the rest."""
    many = json.dumps(calls(*(("list_teams", {}, f"c{n}") for n in range(5000)))).encode()
    environment = ToyEnvironment()
    answers = iter([http(many), http(json.dumps(text("done")).encode())])

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(next(answers))

    async with serving(handler) as url:
        agent = ReactAgent("m", url, AgentSettings(max_calls=20))
        done = await run_agent(instance(), agent, environment)
        await agent.aclose()
    assert done.status == "answered" and len(environment.session.made) == 20
    assert "4980 further calls" in str(done.requests[0].usage["notes"])


NASTY = "[bold]x[/] \x1b[2J\x1b]0;t\x07 \u202e \ud800 {0} %s \x00 \u2028"


@pytest.mark.parametrize("stream", [False, True])
async def test_odd_texts_in_every_field(stream: bool) -> None:
    """Markup, escapes, half characters: kept as text, sent as valid UTF-8."""
    said = calls((NASTY, json.dumps({NASTY: NASTY}), NASTY), content=NASTY, reasoning_content=NASTY)
    said["model"] = said["id"] = NASTY
    said["choices"][0]["finish_reason"] = NASTY
    bodies = [said, text(NASTY)]

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(http(json.dumps(bodies.pop(0)).encode()))

    async with serving(handler) as url:
        done = await asked(url, stream=stream)
    assert done.status == "answered"
    assert done.prediction.answer.encode("utf-8")
    assert done.executed.trajectory.steps[0].result is not None
    assert done.executed.trajectory.steps[0].result.error_kind == "unknown_tool"
