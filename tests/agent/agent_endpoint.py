"""A server on real HTTP that speaks the OpenAI protocol, streaming and not, and does whatever its answerer says."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import anyio.to_thread
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse

Body = dict[str, Any]
Answerer = Callable[[Body], "Response | Body | bytes"]

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def completion(message: Body, finish: str = "stop", usage: Body | None = USAGE) -> Body:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def text(content: str | None, finish: str = "stop", **more: Any) -> Body:
    return completion({"content": content, **more}, finish)


def calls(*made: tuple[Any, ...], finish: str = "tool_calls", content: str | None = None) -> Body:
    """A completion with tool calls, each (name, arguments[, id]); arguments that are no text are encoded."""
    listed = []
    for number, (name, arguments, *rest) in enumerate(made):
        written = arguments if isinstance(arguments, str) else json.dumps(arguments)
        identity = rest[0] if rest else f"call_{number}"
        listed.append({"id": identity, "type": "function", "function": {"name": name, "arguments": written}})
    return completion({"content": content, "tool_calls": listed}, finish)


def failure(status: int, message: str, headers: dict[str, str] | None = None, **error: Any) -> Response:
    body = json.dumps({"error": {"message": message, **error}})
    return Response(body, status_code=status, headers=headers, media_type="application/json")


def events(body: Body, piece: int = 7) -> Iterator[str]:
    """A completion as an event stream, texts and arguments in fragments."""
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


class Endpoint:
    """One endpoint of the server: ``script`` is used up first, then ``default`` answers; ``requests`` keeps bodies."""

    def __init__(self) -> None:
        self.requests: list[Body] = []
        self.raw: list[bytes] = []
        self.script: list[Answerer | Body | bytes] = []
        self.default: Answerer = lambda body: text("done")
        self.base_url = ""

    def says(self, *said: Answerer | Body | bytes) -> None:
        self.script.extend(said)


class Server:
    """All endpoints, each under its own path."""

    def __init__(self) -> None:
        self.endpoints: dict[str, Endpoint] = {}
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._server = uvicorn.Server(uvicorn.Config(self._application(), log_level="critical", lifespan="off"))
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
            return await anyio.to_thread.run_sync(self._answer, self.endpoints[name], await request.body())

        return app

    def _answer(self, endpoint: Endpoint, raw: bytes) -> Response:
        body = json.loads(raw)
        with self._lock:
            endpoint.requests.append(body)
            endpoint.raw.append(raw)
            answer = endpoint.script.pop(0) if endpoint.script else endpoint.default
        said = answer(body) if callable(answer) and not isinstance(answer, Response) else answer
        if isinstance(said, Response):
            return said
        if isinstance(said, bytes):
            kind = "text/event-stream" if said.startswith(b"data:") else "text/html"
            return Response(said, media_type=kind)
        streams = body.get("stream") and isinstance(said.get("choices"), list) and said["choices"]
        if streams:
            return StreamingResponse(iter(list(events(said))), media_type="text/event-stream")
        return Response(json.dumps(said), media_type="application/json")


def results_of(body: Body) -> list[str]:
    """The tool results in a request, in order."""
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


def tools_of(body: Body) -> Sequence[str]:
    return [tool["function"]["name"] for tool in body.get("tools") or ()]
