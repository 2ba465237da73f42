"""The messages tab: what the agent's model was sent for a step and what it said, request by request."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from toolenv.model import Json
from vakra_tui.state.folded import Folded, Section
from vakra_tui.state.lines import HANG, Line, Part, Role, line
from vakra_tui.text import count_words, one_line, size_words

if TYPE_CHECKING:
    from sessions.agent.conversation import SaidCall, SaidMessage
    from sessions.store.records import RequestRecord

SHUT_FROM = 600
"""Characters of a sent message from which on it is folded at first."""

LONGEST = 50_000
"""Characters of one message that are shown; the protocol tab and exports have the whole body."""

LARGEST_COST = 1e15
"""A record may hold any number; one of hundreds of digits is no cost."""

ROLES: Mapping[str, Role] = {"system": "label", "user": "accent", "assistant": "ok", "tool": "key"}


def messages_source(records: Sequence[RequestRecord]) -> Folded:
    """The lines of the messages tab for the requests that led to one step."""
    from sessions.agent.conversation import conversation_of

    sections: list[Section] = []
    for record in records:
        told = conversation_of(record)
        sections.append(Section(head=_request_head(record, told.streamed), body=tuple(_request_details(record))))
        if told.tools:
            head = line(("tools  ", "label"), (_tools_words(record), ""))
            notes = [line(("note: ", "label"), HANG, note) for note in notes_of(record)[0]]
            sections.append(Section(head=head, body=(*notes, line((", ".join(told.tools), "dim"))), shut=True))
        sections += [_message(message, sent=True) for message in told.sent]
        if told.reply is not None:
            sections += reply_sections(told.reply, told.finish)
        else:
            sections.append(Section(head=line(("no completion came back", "fail")), body=_body(told.raw), shut=True))
    return Folded(sections)


def reply_sections(reply: SaidMessage, finish: str) -> list[Section]:
    """What the model said: its reasoning folded, its text, its calls."""
    sections: list[Section] = []
    if reply.reasoning:
        size = size_words(len(reply.reasoning))
        head = line(("reasoning  ", "label"), (f"{size}, never sent back", "dim"))
        sections.append(Section(head=head, body=_body(reply.reasoning, "dim"), shut=True))
    words = f"  ended: {one_line(finish, 40)}" if finish else "  gave no reason for its end"
    sections.append(
        Section(
            head=line(("\u2190 the model said", "ok"), (words, "dim")),
            body=(*_body(reply.text), *(_call(call) for call in reply.calls)) or (line(("nothing", "warn")),),
        )
    )
    return sections


def _request_head(record: RequestRecord, streamed: bool) -> Line:
    usage = record.usage
    parts = [f"{record.duration_s:.1f} s"]
    given, made = usage.get("input_tokens"), usage.get("output_tokens")
    if isinstance(given, int) and isinstance(made, int):
        about = "about " if usage.get("estimated") else ""
        parts.append(f"{about}{given:,} tokens in, {made:,} out")
    cost = usage.get("cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool):
        parts.append(f"cost {cost:.6g}" if abs(cost) < LARGEST_COST else "cost beyond all measure")
    attempts = usage.get("attempts")
    if isinstance(attempts, int) and attempts > 1:
        parts.append(f"{attempts} attempts")
    if streamed:
        parts.append("streamed")
    return line(("request to ", "title"), (one_line(record.model, 80), "strong"), (f"  {', '.join(parts)}", "dim"))


def _request_details(record: RequestRecord) -> list[Line]:
    lines: list[Line] = []
    if record.error:
        lines.append(line(("! ", "fail"), HANG, (record.error, "fail")))
    for failure in _texts(record.usage.get("failures")):
        lines.append(line(("attempt failed: ", "warn"), HANG, failure))
    for note in notes_of(record)[1]:
        lines.append(line(("note: ", "label"), HANG, note))
    body = record.request if isinstance(record.request, Mapping) else {}
    rest = {name: value for name, value in body.items() if name not in ("messages", "tools", "model")}
    if rest:
        written = json.dumps(rest, ensure_ascii=False, default=str)
        lines.append(line(("parameters ", "label"), HANG, (one_line(written, 1000), "code")))
    return lines


def _tools_words(record: RequestRecord) -> str:
    body = record.request if isinstance(record.request, Mapping) else {}
    tools = body.get("tools")
    sent = len(tools) if isinstance(tools, list) else 0
    listed = record.usage.get("tools_listed")
    more = f" of {listed}" if isinstance(listed, int) and listed != sent else ""
    return f"{sent}{more} offered"


def _message(message: SaidMessage, *, sent: bool) -> Section:
    role = ROLES.get(message.role, "warn")
    size = len(message.text)
    shut = sent and (size > SHUT_FROM or message.role == "system")
    head: list[Part] = [("\u2192 ", role), (one_line(message.role, 20) or "(no role)", role)]
    if message.calls:
        head.append((f"  {count_words(len(message.calls), 'call')}", "dim"))
    if shut:
        head.append((f"  {size_words(size)}  {one_line(message.text, 60)}", "dim"))
    body = (*_body(message.text), *(_call(call) for call in message.calls))
    return Section(head=line(*head), body=body, shut=shut)


def _call(call: SaidCall) -> Line:
    name = one_line(call.name, 100) or "(no name)"
    return line(("call ", "label"), HANG, (name, "strong"), " ", (call.arguments[:LONGEST], "code"))


def _body(text: str, role: Role = "") -> tuple[Line, ...]:
    if not text:
        return ()
    lines = [line((part, role)) for part in text[:LONGEST].split("\n")]
    if len(text) > LONGEST:
        lines.append(line((f"\u2026 the beginning of {size_words(len(text))}", "dim")))
    return tuple(lines)


def notes_of(record: RequestRecord) -> tuple[list[str], list[str]]:
    """What was noted about the list of tools that was sent, and what about the completion."""
    notes = _texts(record.usage.get("notes"))
    count = record.usage.get("notes_on_tools")
    on_tools = count if isinstance(count, int) else 0
    return notes[:on_tools], notes[on_tools:]


def _texts(value: Json) -> list[str]:
    return [part for part in value if isinstance(part, str)] if isinstance(value, list) else []
