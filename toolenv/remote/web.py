"""The streamable HTTP transport: the protocol library's, without its limit on a result's size."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx2
from mcp.client.streamable_http import streamable_http_client

_CONNECT_S: Final = 10.0
_ESCAPES = re.compile(rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_HALF = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_ANY_HALF = re.compile(rb"\\u[dD][89a-fA-F]")


@asynccontextmanager
async def web_streams(url: str, headers: Mapping[str, str]) -> AsyncIterator[tuple[Any, Any]]:
    """(read stream, write stream) of a server at a URL; its session is ended afterwards."""
    timeout = httpx2.Timeout(_CONNECT_S, read=None)
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=timeout, transport=_Mending()) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=None) as streams,
    ):
        yield streams[0], streams[1]


def mended(text: bytes) -> bytes:
    """JSON text with the escapes of half a surrogate pair, which no strict parser takes, turned into U+FFFD."""
    if _ANY_HALF.search(text) is None:
        return text
    return _ESCAPES.sub(lambda match: rb"\ufffd" if _HALF.fullmatch(match[0]) else match[0], text)


class _Mending(httpx2.AsyncHTTPTransport):
    """Answers with ``mended`` bodies; a body is passed on line by line as it comes."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if "content-encoding" not in response.headers:
            response.headers.pop("content-length", None)
            response.stream = _MendedStream(response.stream)
        return response


class _MendedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        held: list[bytes] = []
        async for chunk in self._stream:
            whole, newline, rest = chunk.rpartition(b"\n")
            if newline:
                yield mended(b"".join((*held, whole, newline)))
                held = []
            if rest:
                held.append(rest)
        if held:
            yield mended(b"".join(held))

    async def aclose(self) -> None:
        await self._stream.aclose()
