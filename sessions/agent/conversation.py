"""A stored request to a model, read for people: what was sent, what came back; what cannot be read stays as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from sessions.agent.texts import said
from sessions.store.records import RequestRecord
from toolenv.model import Json, Value
from toolenv.openai_compat.faults import ProviderError
from toolenv.openai_compat.replies import Completion, decode, read_completion
from toolenv.openai_compat.streams import assembled


class SaidCall(Value, frozen=True):
    """A call as it stands in a message; ``arguments`` is the text as written."""

    name: str
    arguments: str


class SaidMessage(Value, frozen=True):
    """One message: of a system, a user, an assistant (``reasoning`` apart from ``text``) or a tool."""

    role: str
    text: str = ""
    reasoning: str = ""
    calls: tuple[SaidCall, ...] = ()


class Conversation(Value, frozen=True):
    """One request and its reply. ``reply`` is None where the response holds no completion; ``raw`` is it as text.

    ``tools`` are the names that were sent; ``parameters`` is everything else in the request.
    """

    sent: tuple[SaidMessage, ...]
    tools: tuple[str, ...]
    parameters: Mapping[str, Json]
    reply: SaidMessage | None
    raw: str
    finish: str = ""
    streamed: bool = False


def conversation_of(record: RequestRecord) -> Conversation:
    """Read a request record; never fails."""
    body = record.request if isinstance(record.request, Mapping) else {}
    messages = body.get("messages")
    tools = body.get("tools")
    raw = record.response if isinstance(record.response, str) else _text(record.response)
    completion = completion_of(raw)
    return Conversation(
        sent=tuple(_message(each) for each in messages) if isinstance(messages, list) else (),
        tools=tuple(_tool_name(tool) for tool in tools) if isinstance(tools, list) else (),
        parameters={name: value for name, value in body.items() if name not in ("messages", "tools")},
        reply=None if completion is None else _reply(completion),
        raw=raw,
        finish=(completion.finish_reason or "") if completion is not None else "",
        streamed=_is_stream(raw),
    )


def completion_of(response: str) -> Completion | None:
    """The completion in a response body or in the text of an event stream; None where there is none."""
    try:
        if _is_stream(response):
            return read_completion(decode(assembled(iter(response.split("\n")))))
        return read_completion(decode(response.encode("utf-8", "replace")))
    except ProviderError:
        return None


def request_of(records: Sequence[RequestRecord], position: int) -> RequestRecord | None:
    """The request whose completion made the step at ``position``: its own, or the one whose later call the step is."""
    for record in reversed(records):
        if record.position is None or record.position > position:
            continue
        completion = completion_of(record.response) if isinstance(record.response, str) else None
        calls = len(completion.tool_calls) if completion is not None else 0
        if record.position == position or position < record.position + calls:
            return record
        if not record.error:
            return None
    return None


def _is_stream(response: str) -> bool:
    return response.lstrip().startswith(("data:", "event:", ":"))


def _reply(completion: Completion) -> SaidMessage:
    content = said(completion.content)
    thoughts = [part for part in (completion.reasoning, content.reasoning) if part]
    calls = tuple(SaidCall(name=call.name, arguments=_text(call.arguments)) for call in completion.tool_calls)
    return SaidMessage(role="assistant", text=content.text, reasoning="\n".join(thoughts), calls=calls)


def _message(message: Json) -> SaidMessage:
    if not isinstance(message, Mapping):
        return SaidMessage(role="", text=_text(message))
    found = message.get("tool_calls")
    calls = tuple(_call(call) for call in found) if isinstance(found, list) else ()
    return SaidMessage(role=str(message.get("role", "")), text=_text(message.get("content")), calls=calls)


def _call(call: Json) -> SaidCall:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        return SaidCall(name="", arguments=_text(call))
    return SaidCall(name=str(function.get("name", "")), arguments=_text(function.get("arguments")))


def _tool_name(tool: Json) -> str:
    function = tool.get("function") if isinstance(tool, Mapping) else None
    return str(function.get("name", "")) if isinstance(function, Mapping) else _text(tool)


def _text(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
