"""A chat completion as it came over the wire, read without trusting its shape."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from toolenv.model import Json, Value
from toolenv.openai_compat.exchange import Exchange
from toolenv.openai_compat.faults import ProviderError, error_of
from toolenv.openai_compat.ledger import Usage

_SHOWN = 300


class RawToolCall(Value, frozen=True):
    """A call as the model wrote it; ``arguments`` is whatever stood there: text, object, null or nothing."""

    id: str
    name: str
    arguments: Json


class Completion(Value, frozen=True):
    """The first choice of a completion. ``content`` is "" where there was none, ``reasoning`` is kept apart."""

    content: str
    reasoning: str
    tool_calls: tuple[RawToolCall, ...]
    finish_reason: str | None
    model: str | None
    body: Mapping[str, Any]


class ChatReply(Value, frozen=True):
    """A completion together with what it cost and the exchange that led to it."""

    completion: Completion
    usage: Usage
    exchange: Exchange

    @property
    def content(self) -> str:
        return self.completion.content

    @property
    def finish_reason(self) -> str | None:
        return self.completion.finish_reason


def decode(body: bytes) -> Mapping[str, Any]:
    """The JSON object of a successful response. Raises ``ProviderError`` (malformed) for anything else."""
    try:
        value = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        start = body[:_SHOWN].decode("utf-8", "replace")
        what = "nothing" if not body.strip() else "HTML" if body.lstrip()[:1] == b"<" else "no JSON"
        raise ProviderError("malformed", f"the body is {what}: {start!r}", status=None) from None
    if not isinstance(value, Mapping):
        raise ProviderError("malformed", f"the body is a JSON {type(value).__name__}, not an object", status=None)
    return value


def read_completion(body: Mapping[str, Any]) -> Completion:
    """The first choice. Raises ``ProviderError`` for an error inside the body and for a body without a choice."""
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if isinstance(choice, Mapping) and choice.get("error") and not message:
        raise error_of(choice, None)
    if not isinstance(message, Mapping):
        if body.get("error"):
            raise error_of(body, None)
        raise ProviderError("malformed", "the body has no choice with a message", status=None)
    assert isinstance(choice, Mapping)
    finish = choice.get("finish_reason")
    completion = Completion(
        content=_text_of(message.get("content")),
        reasoning=_text_of(message.get("reasoning_content")) or _text_of(message.get("reasoning")),
        tool_calls=tuple(_calls(message)),
        finish_reason=finish if isinstance(finish, str) else None,
        model=body["model"] if isinstance(body.get("model"), str) else None,
        body=body,
    )
    odd = _unreadable(message)
    if odd and not (completion.content or completion.tool_calls or completion.reasoning):
        raise ProviderError("malformed", f"the message has {odd}", status=None)
    return completion


def _unreadable(message: Mapping[str, Any]) -> str:
    """What of a message has a shape that says nothing, in words; "" where a message without words is whole."""
    content, calls = message.get("content"), message.get("tool_calls")
    if content is not None and not isinstance(content, str | list):
        return f"a content that is a JSON {type(content).__name__}"
    if calls is not None and not isinstance(calls, list):
        return f"tool_calls that are a JSON {type(calls).__name__}"
    return "tool_calls that name no function" if calls else ""


def _text_of(content: Json) -> str:
    """Text of a message's content: a text, or a list of parts of which the text parts count. Half characters go."""
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
        content = "".join(part for part in parts if isinstance(part, str))
    return sendable(content) if isinstance(content, str) else ""


def sendable(text: str) -> str:
    """``text`` with lone surrogates, which no encoding can carry, replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _calls(message: Mapping[str, Any]) -> list[RawToolCall]:
    found = message.get("tool_calls")
    calls = []
    for call in found if isinstance(found, list) else []:
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            name, written = function.get("name"), call.get("id")
            calls.append(
                RawToolCall(
                    id=sendable(written) if isinstance(written, str) else "",
                    name=name if isinstance(name, str) else "",
                    arguments=function.get("arguments"),
                )
            )
    return calls


def read_embeddings(body: Mapping[str, Any], expected: int) -> list[list[float]]:
    """The vectors in the order of their texts. Raises ``ProviderError`` where one is missing or is not numbers."""
    data = body.get("data")
    if not isinstance(data, list):
        if body.get("error"):
            raise error_of(body, None)
        raise ProviderError("malformed", "the body has no embeddings", status=None)
    vectors: dict[int, list[float]] = {}
    for position, entry in enumerate(data):
        vector = entry.get("embedding") if isinstance(entry, Mapping) else None
        index = entry.get("index", position) if isinstance(entry, Mapping) else position
        if not isinstance(vector, list) or not vector or not all(isinstance(x, int | float) for x in vector):
            raise ProviderError("malformed", f"embedding {position} is not a list of numbers", status=None)
        vectors[index if isinstance(index, int) else position] = [float(x) for x in vector]
    if set(vectors) != set(range(expected)):
        raise ProviderError("malformed", f"{len(vectors)} embeddings came back for {expected} texts", status=None)
    if len({len(vector) for vector in vectors.values()}) > 1:
        raise ProviderError("malformed", "the embeddings differ in length", status=None)
    return [vectors[index] for index in range(expected)]
