"""A real HTTP server that speaks the OpenAI protocol and misbehaves on demand."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import anyio.to_thread
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


class Server:
    """One server for all tests; each test has an endpoint of its own under its own path."""

    def __init__(self) -> None:
        self.endpoints: dict[str, Endpoint] = {}
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._server = uvicorn.Server(uvicorn.Config(self._application(), log_level="critical", lifespan="off"))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listener]}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=10)
        self._listener.close()

    def _application(self) -> FastAPI:
        app = FastAPI()

        @app.post("/{name}/v1/{path:path}")
        async def post(request: Request, name: str, path: str) -> Response:
            body = json.loads(await request.body())
            authorization = request.headers.get("authorization", "")
            return await anyio.to_thread.run_sync(self._answer, self.endpoints[name], body, authorization)

        return app

    def _answer(self, endpoint: Endpoint, body: dict[str, Any], authorization: str) -> Response:
        with self._lock:
            endpoint.requests.append(body)
            endpoint.authorizations.append(authorization)
            endpoint.in_flight += 1
            endpoint.most_in_flight = max(endpoint.most_in_flight, endpoint.in_flight)
            answerer = endpoint.take(body)
        try:
            said = answerer(body)
        finally:
            with self._lock:
                endpoint.in_flight -= 1
        return said if isinstance(said, Response) else Response(json.dumps(said), media_type="application/json")


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


@pytest.fixture
def endpoint(server: Server) -> Endpoint:
    """An endpoint that no other test uses."""
    state = Endpoint()
    name = f"e{len(server.endpoints)}"
    server.endpoints[name] = state
    state.base_url = f"{server.url}/{name}/v1"
    return state


@pytest.fixture
def said() -> Callable[..., dict[str, Any]]:
    return completion


@pytest.fixture
def failed() -> Callable[..., Response]:
    return failure
