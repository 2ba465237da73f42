"""A server on real HTTP that speaks the OpenAI protocol and does whatever an endpoint's answerer says."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import anyio.to_thread
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse

Body = dict[str, Any]
Answerer = Callable[[Body], "Response | Body | bytes"]

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def completion(message: Body, finish: str = "stop", usage: Body | None = USAGE, **more: Any) -> Body:
    """A chat completion with one choice; ``more`` are further fields of the body."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    return {**body, **more}


def failure(status: int, message: str = "broken", headers: dict[str, str] | None = None, **error: Any) -> Response:
    body = json.dumps({"error": {"message": message, **error}})
    return Response(body, status_code=status, headers=headers, media_type="application/json")


def is_probe(body: Body) -> bool:
    messages = body.get("messages") or [{}]
    return len(messages) == 1 and '{"ok": true}' in str(messages[0].get("content"))


class Endpoint:
    """One endpoint of the server: ``script`` is used up first, then ``default`` answers.

    An answer is a body, a response, bytes, or a function of the request that gives one; a body with a choice is
    streamed where the request asks for it and ``streams`` is set. ``requests`` and ``raw`` keep what came, ``heads``
    the query and the headers of each. Probes are kept and answered at once where ``answer_probes`` is set.
    """

    def __init__(self) -> None:
        self.requests: list[Body] = []
        self.raw: list[bytes] = []
        self.authorizations: list[str] = []
        self.heads: list[tuple[str, dict[str, str]]] = []
        self.script: list[Answerer | Response | Body | bytes] = []
        self.default: Answerer = lambda body: completion({"content": "done"})
        self.answer_probes = False
        self.streams = True
        self.in_flight = 0
        self.most_in_flight = 0
        self.base_url = ""

    @property
    def asked(self) -> list[Body]:
        """The requests that are not probes."""
        return [body for body in self.requests if not is_probe(body)]

    def says(self, *said: Answerer | Response | Body | bytes) -> None:
        self.script.extend(said)

    def take(self, body: Body) -> Answerer | Response | Body | bytes:
        if self.answer_probes and is_probe(body):
            return completion({"content": '{"ok": true}'})
        return self.script.pop(0) if self.script else self.default


class Server:
    """One server for all tests; each test has an endpoint of its own under its own path."""

    def __init__(self) -> None:
        self.endpoints: dict[str, Endpoint] = {}
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._server = uvicorn.Server(
            uvicorn.Config(self._application(), log_level="critical", lifespan="off", timeout_keep_alive=600)
        )
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listener]}, daemon=True)
        self._thread.start()

    def endpoint(self) -> Endpoint:
        made = Endpoint()
        name = f"e{len(self.endpoints)}"
        self.endpoints[name] = made
        made.base_url = f"{self.url}/{name}/v1"
        return made

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=10)
        self._listener.close()

    def _application(self) -> FastAPI:
        app = FastAPI()

        @app.post("/{name}/v1/{path:path}")
        async def post(request: Request, name: str, path: str) -> Response:
            head = str(request.url.query), dict(request.headers)
            return await anyio.to_thread.run_sync(self._answer, self.endpoints[name], await request.body(), head)

        return app

    def _answer(self, endpoint: Endpoint, raw: bytes, head: tuple[str, dict[str, str]]) -> Response:
        body = json.loads(raw)
        with self._lock:
            endpoint.requests.append(body)
            endpoint.raw.append(raw)
            endpoint.heads.append(head)
            endpoint.authorizations.append(head[1].get("authorization", ""))
            endpoint.in_flight += 1
            endpoint.most_in_flight = max(endpoint.most_in_flight, endpoint.in_flight)
            answer = endpoint.take(body)
        try:
            said = answer(body) if callable(answer) and not isinstance(answer, Response) else answer
        finally:
            with self._lock:
                endpoint.in_flight -= 1
        return _response(said, endpoint.streams and bool(body.get("stream")))


def _response(said: Response | Body | bytes, streamed: bool) -> Response:
    if isinstance(said, Response):
        return said
    if isinstance(said, bytes):
        return Response(said, media_type="text/event-stream" if said.startswith(b"data:") else "text/html")
    if streamed and isinstance(said.get("choices"), list) and said["choices"]:
        return StreamingResponse(iter(list(events(said))), media_type="text/event-stream")
    return Response(json.dumps(said), media_type="application/json")


def events(body: Body, piece: int = 7) -> Iterator[str]:
    """A completion as an event stream, texts and arguments in fragments of ``piece`` characters."""
    message = body["choices"][0]["message"]

    def chunk(delta: Body, finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        said = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        return f"data: {json.dumps(said)}\n\n"

    yield chunk({"role": "assistant", "content": None})
    for name in ("reasoning_content", "content"):
        whole = message.get(name) or ""
        for start in range(0, len(whole), piece):
            yield chunk({name: whole[start : start + piece]})
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        head = {"index": index, "id": call["id"], "type": "function", "function": {"name": function["name"]}}
        yield chunk({"tool_calls": [{**head, "function": {"name": function["name"], "arguments": ""}}]})
        written = function.get("arguments")
        if isinstance(written, str):
            for start in range(0, len(written), piece):
                yield chunk(
                    {"tool_calls": [{"index": index, "function": {"arguments": written[start : start + piece]}}]}
                )
        elif written is not None:
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": written}}]})
    yield chunk({}, body["choices"][0]["finish_reason"])
    if body.get("usage"):
        yield f"data: {json.dumps({'id': 'c', 'choices': [], 'usage': body['usage']})}\n\n"
    yield "data: [DONE]\n\n"
