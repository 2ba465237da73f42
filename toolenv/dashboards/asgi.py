"""One request to an ASGI application in this process: no socket, no HTTP client, no server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple
from urllib.parse import unquote

Application = Callable[
    [MutableMapping[str, Any], Callable[[], Awaitable[MutableMapping[str, Any]]], Callable[[Any], Awaitable[None]]],
    Awaitable[None],
]


class Reply(NamedTuple):
    """Status, headers (names in lower case) and body of an answer."""

    status: int
    headers: dict[str, str]
    body: bytes


async def request(app: Application, method: str, path: str, query: str = "", body: bytes = b"") -> Reply:
    """The answer to one request. ``path`` and ``query`` are percent-encoded, without host and ``?``."""
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method.upper(),
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode("ascii"),
        "query_string": query.encode("ascii"),
        "root_path": "",
        "headers": [(b"host", b"in-process"), (b"content-type", b"application/json")],
        "client": None,
        "server": None,
        "state": {},
    }
    status = 500
    headers: dict[str, str] = {}
    chunks: list[bytes] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
            for name, value in message.get("headers", ()):
                headers[name.decode("latin-1").lower()] = value.decode("latin-1")
        elif message["type"] == "http.response.body":
            chunks.append(message.get("body", b""))

    await app(scope, receive, send)
    return Reply(status, headers, b"".join(chunks))
