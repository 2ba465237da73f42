"""What models say, for the server of the tests, and what a request body holds."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any

from endpoint_server import USAGE, Answerer, Body, Endpoint, Server, completion, events, failure

__all__ = [
    "USAGE",
    "Answerer",
    "Body",
    "Endpoint",
    "Server",
    "calls",
    "completion",
    "embeddings",
    "events",
    "failure",
    "results_of",
    "text",
    "tools_of",
]


def text(content: str | None, finish: str = "stop", **more: Any) -> Body:
    return completion({"content": content, **more}, finish)


def calls(*made: tuple[Any, ...], finish: str = "tool_calls", content: str | None = None, **more: Any) -> Body:
    """A completion with tool calls, each (name, arguments[, id]); arguments that are no text are encoded."""
    listed = []
    for number, (name, arguments, *rest) in enumerate(made):
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        identity = rest[0] if rest else f"call_{number}"
        listed.append({"id": identity, "type": "function", "function": {"name": name, "arguments": written}})
    return completion({"content": content, "tool_calls": listed, **more}, finish)


def embeddings(body: Body, size: int = 512) -> Body:
    """Vectors that count the words of a text, each word in a place of its own as far as there are places."""
    data = []
    for position, words in enumerate(body["input"]):
        vector = [0.0] * size
        for word in words.lower().split():
            vector[zlib.crc32(word.encode()) % size] += 1.0
        data.append({"object": "embedding", "index": position, "embedding": vector})
    return {"object": "list", "model": body["model"], "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def results_of(body: Body) -> list[str]:
    """The tool results in a request, in order."""
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


def tools_of(body: Body) -> Sequence[str]:
    return [tool["function"]["name"] for tool in body.get("tools") or ()]
