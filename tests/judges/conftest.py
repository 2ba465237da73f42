"""A real HTTP server that speaks the OpenAI protocol and misbehaves on demand."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI, Request, Response

Answerer = Callable[[dict[str, Any]], "Response | dict[str, Any]"]


def completion(content: str | None, **more: Any) -> dict[str, Any]:
    """A chat completion with one choice; ``finish_reason``, ``reasoning_content`` and ``usage`` may be given."""
    message = {"role": "assistant", "content": content}
    if "reasoning_content" in more:
        message["reasoning_content"] = more.pop("reasoning_content")
    choice = {"index": 0, "message": message, "finish_reason": more.pop("finish_reason", "stop")}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return {"id": "c1", "object": "chat.completion", "model": "fake", "choices": [choice], "usage": usage, **more}


def failure(status: int, message: str = "broken", headers: dict[str, str] | None = None, **error: Any) -> Response:
    body = json.dumps({"error": {"message": message, **error}})
    return Response(body, status_code=status, headers=headers, media_type="application/json")


class Endpoint:
    """The server: ``script`` is used up answer by answer, then ``default`` answers. ``requests`` keeps what came."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.authorizations: list[str] = []
        self.script: list[Answerer] = []
        self.default: Answerer = lambda body: completion('{"ruling": "pass", "reason": "same"}')
        self.answer_probes = True
        self.in_flight = 0
        self.most_in_flight = 0
        self.base_url = ""

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The requests that are not probes."""
        return [body for body in self.requests if not is_probe(body)]

    def take(self, body: dict[str, Any]) -> Answerer:
        if self.answer_probes and is_probe(body):
            return lambda body: completion('{"ok": true}')
        return self.script.pop(0) if self.script else self.default


def is_probe(body: dict[str, Any]) -> bool:
    messages = body.get("messages") or [{}]
    return len(messages) == 1 and '{"ok": true}' in str(messages[0].get("content"))


def application(endpoint: Endpoint) -> FastAPI:
    app = FastAPI()
    lock = threading.Lock()

    def answer(body: dict[str, Any], authorization: str) -> Response:
        with lock:
            endpoint.requests.append(body)
            endpoint.authorizations.append(authorization)
            endpoint.in_flight += 1
            endpoint.most_in_flight = max(endpoint.most_in_flight, endpoint.in_flight)
            answerer = endpoint.take(body)
        try:
            said = answerer(body)
        finally:
            with lock:
                endpoint.in_flight -= 1
        return said if isinstance(said, Response) else Response(json.dumps(said), media_type="application/json")

    @app.post("/v1/{path:path}")
    async def post(request: Request, path: str) -> Response:
        import anyio.to_thread

        body = json.loads(await request.body())
        return await anyio.to_thread.run_sync(answer, body, request.headers.get("authorization", ""))

    return app


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """A fresh server on a loopback port for each test."""
    state = Endpoint()
    listener = socket.create_server(("127.0.0.1", 0))
    state.base_url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    server = uvicorn.Server(uvicorn.Config(application(state), log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    yield state
    server.should_exit = True
    thread.join(timeout=10)
    listener.close()


@pytest.fixture
def said() -> Callable[..., dict[str, Any]]:
    return completion


@pytest.fixture
def failed() -> Callable[..., Response]:
    return failure
