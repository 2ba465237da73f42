"""The streamable HTTP transport: the protocol library's, without its limit on a result's size."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx2
from mcp.client.streamable_http import streamable_http_client

from toolenv.exchange import KEPT_TEXT
from toolenv.remote.tap import Tap, Wire

_CONNECT_S: Final = 10.0
_ESCAPES = re.compile(rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_HALF = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_ANY_HALF = re.compile(rb"\\u[dD][89a-fA-F]")


@asynccontextmanager
async def web_streams(url: str, headers: Mapping[str, str], wire: Wire) -> AsyncIterator[tuple[Any, Any]]:
    """(read stream, write stream) of a server at a URL; its session is ended afterwards.

    ``wire`` is told of the bodies of both directions; headers, which may hold credentials, are not kept.
    """
    timeout = httpx2.Timeout(_CONNECT_S, read=None)
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=timeout, transport=_Mending(wire)) as client,
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

    def __init__(self, wire: Wire) -> None:
        super().__init__()
        self._wire = wire

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        tap = self._tap_of(request)
        response = await super().handle_async_request(request)
        if "content-encoding" not in response.headers:
            response.headers.pop("content-length", None)
            response.stream = _MendedStream(response.stream, tap, _status(response))
        elif tap is not None:
            tap.note("received", "(a compressed body, which is not kept)", 0, _status(response))
        return response

    def _tap_of(self, request: httpx2.Request) -> Tap | None:
        """The tap of the call that a request carries, which is told of the request."""
        if request.method != "POST" or not isinstance(request.stream, httpx2.ByteStream):
            return None
        body = request.read()
        try:
            message = json.loads(body)
        except ValueError:
            return None
        tap = self._wire.tap_of(message) if isinstance(message, dict) else None
        if tap is not None:
            tap.note("sent", body[: 4 * KEPT_TEXT].decode("utf-8", "replace"), len(body), f"POST {_place(request.url)}")
        return tap


def _place(url: httpx2.URL) -> str:
    """A URL without user, password and query, which may hold credentials."""
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace').rpartition('@')[2]}{url.path}"


def _status(response: httpx2.Response) -> str:
    return f"HTTP {response.status_code} {response.headers.get('content-type', '')}".rstrip()


class _MendedStream(httpx2.AsyncByteStream):
    """A mended body; its beginning is told to the tap of its call once it has come to its end."""

    def __init__(self, stream: Any, tap: Tap | None, status: str) -> None:
        self._stream = stream
        self._tap = tap
        self._status = status
        self._head: list[bytes] = []
        self._size = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        held: list[bytes] = []
        async for chunk in self._stream:
            if self._tap is not None:
                if self._size < 4 * KEPT_TEXT:
                    self._head.append(chunk)
                self._size += len(chunk)
            whole, newline, rest = chunk.rpartition(b"\n")
            if newline:
                yield mended(b"".join((*held, whole, newline)))
                held = []
            if rest:
                held.append(rest)
        if held:
            yield mended(b"".join(held))

    async def aclose(self) -> None:
        if self._tap is not None:
            text = b"".join(self._head)[: 4 * KEPT_TEXT].decode("utf-8", "replace")
            self._tap.note("received", text, self._size, self._status)
            self._tap = None
        await self._stream.aclose()
