"""A real HTTP server that speaks the OpenAI protocol and misbehaves on demand."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

import endpoint_server
from endpoint_server import Endpoint, Server, failure
from fastapi import Response


def completion(content: str | None, **more: Any) -> dict[str, Any]:
    """A chat completion with one choice; ``finish_reason``, ``reasoning_content`` and ``usage`` may be given."""
    message = {"content": content}
    if "reasoning_content" in more:
        message["reasoning_content"] = more.pop("reasoning_content")
    return endpoint_server.completion(message, more.pop("finish_reason", "stop"), **more)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


@pytest.fixture
def endpoint(server: Server) -> Endpoint:
    """An endpoint that no other test uses; it answers probes, and every question with a pass."""
    state = server.endpoint()
    state.answer_probes = True
    state.streams = False
    state.default = lambda body: completion('{"ruling": "pass", "reason": "same"}')
    return state


@pytest.fixture
def said() -> Callable[..., dict[str, Any]]:
    return completion


@pytest.fixture
def failed() -> Callable[..., Response]:
    return failure
