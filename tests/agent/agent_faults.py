"""What real endpoints do wrong (the kinds of the LLM cases), each as a change of the right answer, dealt out at random.

A fault is drawn from the request itself and from how often it came, so that the same seed deals out the same faults in
whatever order requests arrive.
"""

from __future__ import annotations

import copy
import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from random import Random
from typing import Any

from agent_endpoint import Answerer, Body, calls, completion, failure, text, tools_of
from fastapi import Response
from fastapi.responses import StreamingResponse

Said = Response | Body | bytes
Make = Callable[[Body, Body, Random], Said]


@dataclass(frozen=True)
class Fault:
    """One kind: the case that it comes from, and what is said in the place of the right answer."""

    case: str
    make: Make


class Injected:
    """Answers as ``right`` does, at a ``rate`` with one of some kinds of fault; ``counts`` tells how many of each."""

    def __init__(self, right: Answerer, kinds: Sequence[str], rate: float = 0.1, seed: str = "1") -> None:
        self.counts: Counter[str] = Counter()
        self.answers = 0
        self._right = right
        self._kinds = tuple(kinds)
        self._rate = rate
        self._seed = seed
        self._times: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, body: Body) -> Said:
        right = self._right(body)
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        with self._lock:
            self.answers += 1
            self._times[digest] += 1
            random = Random(f"{self._seed} {digest} {self._times[digest]}")
            if random.random() >= self._rate:
                return right
            kind = random.choice(self._kinds)
            self.counts[kind] += 1
        assert isinstance(right, dict)
        return FAULTS[kind].make(body, copy.deepcopy(right), random)


def _some_tool(body: Body) -> str:
    tools = tools_of(body)
    return tools[0] if tools else "no_tool"


def _as_call(body: Body, right: Body) -> Body:
    """The right answer where it makes a call, else a call of some tool."""
    made = right["choices"][0]["message"].get("tool_calls")
    return right if made else calls((_some_tool(body), {}))


def _arguments(change: Callable[[str, Random], Any]) -> Make:
    """A fault of the arguments of every call of an answer; ``...`` takes them away."""

    def make(body: Body, right: Body, random: Random) -> Body:
        said = _as_call(body, right)
        for call in said["choices"][0]["message"]["tool_calls"]:
            written = change(call["function"]["arguments"], random)
            if written is ...:
                del call["function"]["arguments"]
            else:
                call["function"]["arguments"] = written
        return said

    return make


def _finish(reason: str) -> Make:
    def make(body: Body, right: Body, random: Random) -> Body:
        said = _as_call(body, right)
        said["choices"][0]["finish_reason"] = reason
        return said

    return make


def _named(change: Callable[[str], str]) -> Make:
    def make(body: Body, right: Body, random: Random) -> Body:
        said = _as_call(body, right)
        for call in said["choices"][0]["message"]["tool_calls"]:
            call["function"]["name"] = change(call["function"]["name"])
        return said

    return make


def _says(said: Callable[[Body], Said]) -> Make:
    return lambda body, right, random: said(body)


def _retry_after(body: Body, right: Body, random: Random) -> Said:
    form = random.choice(("0", "0.05", formatdate(1445412480, usegmt=True), "86400", "soon", None, "-1"))
    return failure(random.choice((429, 503)), "slow down", {} if form is None else {"retry-after": form})


def _same_ids(body: Body, right: Body, random: Random) -> Body:
    said = _as_call(body, right)
    for call in said["choices"][0]["message"]["tool_calls"]:
        call["id"] = random.choice(("", "0"))
    return said


def _twice(body: Body, right: Body, random: Random) -> Body:
    said = _as_call(body, right)
    made = said["choices"][0]["message"]["tool_calls"]
    said["choices"][0]["message"]["tool_calls"] = [*made, *copy.deepcopy(made)]
    return said


def _one_index(body: Body, right: Body, random: Random) -> bytes:
    """A stream in which all calls carry the index 0."""
    made = _as_call(body, right)["choices"][0]["message"]["tool_calls"]
    chunks: list[Body] = []
    for call in (*made, {**made[0], "id": "another"}):
        delta = {"tool_calls": [{"index": 0, **call}]}
        chunks.append({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    return b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks) + b"data: [DONE]\n\n"


def _cut_stream(body: Body) -> bytes:
    chunk = {"choices": [{"index": 0, "delta": {"content": "The answer is"}, "finish_reason": None}]}
    return f"data: {json.dumps(chunk)}\n\n".encode()


def _dropped(body: Body) -> Response:
    """The connection breaks in the middle of the body."""

    def pieces() -> Iterator[bytes]:
        yield b'{"id": "c", "choices": ['
        raise ConnectionAbortedError

    return StreamingResponse(pieces(), media_type="application/json", headers={"content-length": "5000"})


def _text_call(body: Body) -> Body:
    return text(f'<tool_call>\n{{"name": "{_some_tool(body)}", "arguments": {{}}}}\n</tool_call>')


def _invoke(body: Body) -> Body:
    return text(f'<invoke name="{_some_tool(body)}">\n</invoke>')


FAULTS: Mapping[str, Fault] = {
    "arguments cut": Fault("LLM-01", _arguments(lambda written, random: written[: len(written) // 2] or "{")),
    "no arguments in four forms": Fault(
        "LLM-02", _arguments(lambda written, random: random.choice(("", None, ..., "null")))
    ),
    "arguments encoded twice": Fault("LLM-03", _arguments(lambda written, random: json.dumps(written))),
    "arguments as an object": Fault("LLM-04", _arguments(lambda written, random: json.loads(written))),
    "literal control characters": Fault("LLM-05", _arguments(lambda written, random: '{"a": "b\nc"}')),
    "invalid escape": Fault("LLM-05", _arguments(lambda written, random: '{"a": "\\d"}')),
    "arguments a list": Fault("LLM-05", _arguments(lambda written, random: "[1]")),
    "calls of one index": Fault("LLM-06", _one_index),
    "cut off, arguments whole": Fault("LLM-08", _finish("length")),
    "cut off, reason relabelled": Fault("LLM-08", _arguments(lambda written, random: '{"team": "Boston", "season"')),
    "call as text": Fault("LLM-09", _says(_text_call)),
    "call as an invoke block": Fault("LLM-09", _says(_invoke)),
    "control tokens in a name": Fault("LLM-11", _named(lambda name: f"{name}<|channel|>commentary")),
    "call leaked into content": Fault("LLM-11", _says(lambda body: text('assistantcode{"a": 1}'))),
    "error in a 200 body": Fault(
        "LLM-13", _says(lambda body: {"choices": None, "error": {"code": "quota_exceeded", "message": "none left"}})
    ),
    "rate limit in a 200 body": Fault(
        "LLM-13", _says(lambda body: {"choices": None, "error": {"code": 429, "message": "rate limit"}})
    ),
    "no choices": Fault("LLM-13", _says(lambda body: {"id": "x", "choices": [], "usage": None})),
    "HTML in a 200": Fault("LLM-13", _says(lambda body: b"<html>502</html>")),
    "budget spent on reasoning": Fault("LLM-14", _says(lambda body: text(None, "length", reasoning_content="hm"))),
    "forms of Retry-After": Fault("LLM-15", _retry_after),
    "ids that collide": Fault("LLM-16", _same_ids),
    "unknown tool": Fault("LLM-17", _named(lambda name: f"{name}_of_nobody")),
    "too many tools, 400": Fault(
        "LLM-18", _says(lambda body: failure(400, "tools: array too long, at most 64", type="invalid_request_error"))
    ),
    "name too long, 400": Fault(
        "LLM-19", _says(lambda body: failure(400, "tools.3.function.name: at most 64", type="invalid_request_error"))
    ),
    "refused for good, 400": Fault(
        "LLM-21", _says(lambda body: failure(400, "messages.1.content: invalid type", type="invalid_request_error"))
    ),
    "server error, 500": Fault("", _says(lambda body: failure(500, "boom", {"retry-after": "0"}))),
    "context exceeded": Fault(
        "", _says(lambda body: failure(400, "maximum context length exceeded", code="context_length_exceeded"))
    ),
    "connection dropped": Fault("", _says(_dropped)),
    "stream cut": Fault("LLM-08", _says(_cut_stream)),
    "empty reply": Fault("", _says(lambda body: text(""))),
    "filtered": Fault("", _says(lambda body: completion({"content": None}, "content_filter"))),
    "every call twice": Fault("", _twice),
}
