"""The protocol tab: the raw messages of one step, those of the agent's requests that led to it, a server's stderr."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from toolenv.exchange import KEPT_TEXT, WireExchange
from toolenv.model import Json, Value
from vakra_tui.state.lines import BLANK, HANG, Line, Lines, Span, line
from vakra_tui.text import count_words, one_line, size_words

if TYPE_CHECKING:
    from sessions.store.records import RequestRecord

LONGEST = 20_000
"""Characters of one message that are shown; the pane says how many there are."""


class StepProtocol(Value, frozen=True):
    """What is known of the wire of one step: its exchange, or a sentence that says why there is none."""

    exchange: WireExchange | None = None
    why: str = ""
    requests: tuple[RequestRecord, ...] = ()


def protocol_source(told: StepProtocol) -> Lines:
    """The lines of the protocol tab."""
    lines: list[Line] = []
    for record in told.requests:
        lines += [*_request(record), BLANK]
    if told.exchange is not None:
        lines += _exchange(told.exchange)
    elif told.why:
        lines.append(line((told.why, "dim")))
    return Lines(lines)


def _exchange(exchange: WireExchange) -> list[Line]:
    count = count_words(len(exchange.messages), "message")
    lines = [
        line(
            ("JSON-RPC  ", "label"),
            HANG,
            (one_line(exchange.tool, 80), "strong"),
            ("  to ", "dim"),
            (one_line(exchange.server, 200), "accent"),
            (f"  {count}", "dim"),
        )
    ]
    if exchange.dropped:
        lines.append(line((f"  {count_words(exchange.dropped, 'more message')} in between, not kept", "dim")))
    for message in exchange.messages:
        arrow = Span("\u2192 sent      ", "accent") if message.direction == "sent" else Span("\u2190 received  ", "ok")
        head = f"  {message.head}" if message.head else ""
        lines += [
            BLANK,
            line(arrow, (f"{message.at_s * 1000:,.0f} ms  {size_words(message.size)}", "dim"), (head, "label")),
            *body_lines(message.text, message.size, "; the response tab has the result whole"),
        ]
    lines.append(BLANK)
    if exchange.stderr is None:
        lines.append(line(("a server over HTTP: its stderr is not seen here", "dim")))
    elif not exchange.stderr:
        lines.append(line(("the server printed nothing on stderr", "dim")))
    else:
        lines.append(line(("stderr of the server, its last lines", "label")))
        lines += [line(("  ", ""), HANG, (text, "code")) for text in exchange.stderr]
    return lines


def _request(record: RequestRecord) -> list[Line]:
    lines = [
        line(
            ("HTTP  ", "label"),
            HANG,
            (f"request of the {record.kind} to its model  ", "strong"),
            (one_line(record.model, 80), "accent"),
            (f"  {record.duration_s * 1000:,.0f} ms", "dim"),
        )
    ]
    if record.error:
        lines.append(line(("  ! ", "fail"), HANG, (record.error, "fail")))
    sent = _written(record.request)
    lines += [line(("\u2192 sent      ", "accent"), (size_words(len(sent)), "dim")), *body_lines(sent, len(sent))]
    if record.response is not None:
        came = _written(record.response)
        lines += [line(("\u2190 received  ", "ok"), (size_words(len(came)), "dim")), *body_lines(came, len(came))]
    if record.usage:
        lines.append(line(("  usage ", "label"), (_written(dict(record.usage)), "dim")))
    return lines


def _written(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def body_lines(text: str, size: int, whole: str = "") -> list[Line]:
    """A body: JSON indented, anything else as it came; at most its beginning, which the last line says.

    ``whole`` says where the rest is.
    """
    shown = text
    if len(text) <= LONGEST and text[:1] in "{[":
        try:
            shown = json.dumps(json.loads(text), ensure_ascii=False, indent=1)
        except (ValueError, RecursionError):
            shown = text
    lines = [line(("  ", ""), HANG, (part, "code")) for part in shown[:LONGEST].split("\n")]
    if len(text) >= KEPT_TEXT or len(shown) > LONGEST:
        lines.append(line((f"  \u2026 the beginning of {size_words(size)}{whole}", "dim")))
    return lines
