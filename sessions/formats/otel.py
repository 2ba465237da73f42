"""OpenTelemetry spans of the GenAI conventions, in OTLP's JSON form, where they carry tool calls.

A trajectory is one conversation (``gen_ai.conversation.id``), else one trace. Its calls are the ``execute_tool`` spans
in order of their start; where there are none, the ``tool_call`` parts of the chats' output messages. Responses stand in
``gen_ai.tool.call.result``, else in the ``tool_call_response`` part of a later chat's input. The question is the last
user message of the first chat, the answer the text of the last chat.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sessions.formats.model import Entry, Exchange, Imported, call_of, instance_of, text_of, trajectory_of
from toolenv.decoding import decoded, seconds_of
from toolenv.model import Json

AGENT = "gen_ai.agent.name"

_ERROR_STATUS = ("STATUS_CODE_ERROR", 2)


@dataclass
class _Span:
    name: str
    start: int
    end: int
    attributes: dict[str, Json]
    failed: str | None


@dataclass
class _Conversation:
    key: str
    spans: list[_Span] = field(default_factory=list)


def is_otlp(value: Json) -> bool:
    return isinstance(value, Mapping) and ("resourceSpans" in value or "resource_spans" in value)


def imported(values: Sequence[Json], name: str) -> Iterator[Imported]:
    """The trajectories of one or several OTLP requests."""
    conversations: dict[str, _Conversation] = {}
    named: dict[str, str] = {}
    spans = [found for value in values for found in _spans(value)]
    for trace, span in spans:
        conversation = span.attributes.get("gen_ai.conversation.id")
        if isinstance(conversation, str) and conversation:
            named.setdefault(trace, conversation)
    for trace, span in spans:
        own = span.attributes.get("gen_ai.conversation.id")
        key = own if isinstance(own, str) and own else named.get(trace, trace)
        conversations.setdefault(key, _Conversation(key)).spans.append(span)
    for conversation in conversations.values():
        found = _trajectory(conversation, name)
        if found is not None:
            yield found


def _trajectory(conversation: _Conversation, name: str) -> Imported | None:
    spans = sorted(conversation.spans, key=lambda span: (span.start, span.end))
    chats = [span for span in spans if "gen_ai.input.messages" in span.attributes or _is(span, "chat")]
    tools = [span for span in spans if _is(span, "execute_tool") or "gen_ai.tool.name" in span.attributes]
    answered = _responses(chats)
    entries: list[Entry] = [_executed(span, answered) for span in tools] or list(_asked(chats, answered))
    if not entries:
        return None
    problems = []
    query = next(filter(None, map(_question, spans)), "")
    if not query:
        problems.append("no span carries the question (gen_ai.input.messages)")
    answers = (_answer(span) for span in reversed(spans))
    answer = next((given for given in answers if given is not None), None)
    agent = next((span.attributes[AGENT] for span in spans if AGENT in span.attributes), "")
    instance = instance_of(conversation.key, text_of(agent) or "", query)
    where = f"{name}: {conversation.key}"
    return Imported(
        name=where,
        form="otel",
        trajectory=trajectory_of(
            instance, entries, answer, gave_up=None if answer is not None else "The spans carry no answer."
        ),
        problems=tuple(f"{where}: {problem}" for problem in problems),
    )


def _is(span: _Span, operation: str) -> bool:
    return span.attributes.get("gen_ai.operation.name") == operation


def _executed(span: _Span, answered: Mapping[str, Json]) -> Exchange:
    attributes = span.attributes
    name = attributes.get("gen_ai.tool.name") or span.name.removeprefix("execute_tool ")
    call = call_of(name, attributes.get("gen_ai.tool.call.arguments"), attributes.get("gen_ai.tool.call.id"))
    result = attributes.get("gen_ai.tool.call.result")
    if result is None and call.id is not None:
        result = answered.get(call.id)
    if result is None and span.failed is not None:
        result = span.failed if span.failed else None
    seconds = seconds_of(max(0, span.end - span.start)) / 1e9
    return Exchange(call=call, text=text_of(result), is_error=span.failed is not None, duration_s=seconds)


def _asked(chats: Sequence[_Span], answered: Mapping[str, Json]) -> Iterator[Exchange]:
    for span in chats:
        for part in _parts(span, "gen_ai.output.messages", "assistant"):
            if part.get("type") == "tool_call":
                call = call_of(part.get("name"), part.get("arguments"), part.get("id"))
                yield Exchange(call=call, text=text_of(answered.get(call.id)) if call.id is not None else None)


def _responses(chats: Sequence[_Span]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for span in chats:
        for part in _parts(span, "gen_ai.input.messages", None):
            if part.get("type") == "tool_call_response" and isinstance(part.get("id"), str):
                found[part["id"]] = part.get("response", part.get("result"))
    return found


def _question(span: _Span) -> str:
    texts = [text for part in _parts(span, "gen_ai.input.messages", "user") if (text := _text(part))]
    return texts[-1] if texts else ""


def _answer(span: _Span) -> str | None:
    parts = list(_parts(span, "gen_ai.output.messages", "assistant"))
    if any(part.get("type") == "tool_call" for part in parts):
        return None
    texts = [text for part in parts if (text := _text(part))]
    return "\n".join(texts) if texts else None


def _text(part: Mapping[str, Json]) -> str | None:
    text = part.get("content", part.get("text"))
    return text if part.get("type") == "text" and isinstance(text, str) else None


def _parts(span: _Span, key: str, role: str | None) -> Iterator[Mapping[str, Json]]:
    messages = span.attributes.get(key)
    if isinstance(messages, str):
        try:
            messages = decoded(messages)
        except ValueError:
            return
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, Mapping) or (role is not None and message.get("role") != role):
            continue
        parts = message.get("parts")
        if isinstance(message.get("content"), str):
            parts = [{"type": "text", "content": message["content"]}]
        yield from (part for part in parts if isinstance(part, Mapping)) if isinstance(parts, list) else ()


def _spans(value: Json) -> Iterator[tuple[str, _Span]]:
    for resource in _list(value, "resourceSpans", "resource_spans"):
        for scope in _list(resource, "scopeSpans", "scope_spans", "instrumentationLibrarySpans"):
            for span in _list(scope, "spans"):
                if not isinstance(span, Mapping):
                    continue
                status = span.get("status")
                failed = None
                if isinstance(status, Mapping) and status.get("code") in _ERROR_STATUS:
                    failed = text_of(status.get("message")) or "the span reports an error"
                yield (
                    str(_get(span, "traceId", "trace_id") or ""),
                    _Span(
                        name=str(span.get("name") or ""),
                        start=_number(_get(span, "startTimeUnixNano", "start_time_unix_nano")),
                        end=_number(_get(span, "endTimeUnixNano", "end_time_unix_nano")),
                        attributes=dict(_attributes(span.get("attributes"))),
                        failed=failed,
                    ),
                )


def _attributes(listed: Json) -> Iterator[tuple[str, Json]]:
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, Mapping) and isinstance(entry.get("key"), str):
            yield entry["key"], _value(entry.get("value"))


def _value(value: Json) -> Json:
    if not isinstance(value, Mapping):
        return value
    for key in ("stringValue", "string_value", "boolValue", "bool_value", "doubleValue", "double_value"):
        if key in value:
            return value[key]
    for key in ("intValue", "int_value"):
        if key in value:
            return _number(value[key])
    for key in ("arrayValue", "array_value"):
        if key in value:
            return [_value(item) for item in _list(value[key], "values")]
    for key in ("kvlistValue", "kvlist_value"):
        if key in value and isinstance(value[key], Mapping):
            return dict(_attributes(value[key].get("values")))
    return None


def _get(value: Mapping[str, Json], *names: str) -> Json:
    return next((value[name] for name in names if name in value), None)


def _list(value: Json, *names: str) -> list[Json]:
    found = _get(value, *names) if isinstance(value, Mapping) else None
    return found if isinstance(found, list) else []


def _number(value: Json) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return 0
