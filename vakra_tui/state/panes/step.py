"""The step pane: one step in tabs (call, response, messages, provenance)."""

from __future__ import annotations

import json
from typing import Literal

from sessions.trajectory import Message
from toolenv.model import Json
from vakra_tui.state import response as responses
from vakra_tui.state.database import PAGE, RowsSource
from vakra_tui.state.json_tree import scalar_line
from vakra_tui.state.lines import BLANK, HANG, Line, Lines, LineSource, Role, Span, line
from vakra_tui.state.panes.head import answer_text
from vakra_tui.state.panes.truth import short_json
from vakra_tui.state.response import RawText
from vakra_tui.state.scene import ArgumentRow, Scene, StepRow
from vakra_tui.text import one_line, size_words

Tab = Literal["call", "response", "table", "raw", "messages", "provenance"]
TABS: tuple[Tab, ...] = ("call", "response", "table", "raw", "messages", "provenance")

PEEK_LINES = 14
"""Lines of a response that the call tab shows under the arguments."""

READ_IN_WORKER = 100_000
"""Characters from which on a response is read and laid out in a worker."""


def tab_bar(chosen: Tab) -> Line:
    """The names of the tabs, the chosen one in brackets."""
    parts: list[Span] = []
    for tab in TABS:
        if tab == chosen:
            parts.append(Span(f"[{tab}]", "title"))
        else:
            parts.append(Span(f" {tab} ", "dim"))
    return tuple(parts)


def title(row: StepRow | None) -> str:
    """``step 2: query_beer_factory`` for the border of the pane."""
    if row is None:
        return "step"
    if row.number == 0:
        return f"opening: {one_line(row.tool, 80)}"
    if row.outcome in ("answer", "gave up"):
        return f"step {row.number}: final answer"
    return f"step {row.number}: {one_line(row.tool, 80)}"


def text_of(row: StepRow) -> str | None:
    """The response text of a step, None where it has none."""
    if row.step is None or row.step.result is None:
        return None
    return row.step.result.text


def source(tab: Tab, row: StepRow | None, scene: Scene) -> LineSource:
    """The lines of one tab. Reads the whole response, so for large ones it is called in a worker."""
    if row is None:
        return Lines([line(("No step yet.", "dim")), *_how_to_start(scene)])
    if tab == "call":
        return Lines([*pause_lines(row, scene), *call_lines(row, scene)])
    if tab == "response":
        return _response(row)
    if tab == "table":
        return _table(row)
    if tab == "raw":
        return _raw(row)
    if tab == "messages":
        return Lines(message_lines(row, scene))
    return Lines(provenance_lines(row))


def _how_to_start(scene: Scene) -> list[Line]:
    if scene.problem:
        return [BLANK, line((scene.problem, "warn"))]
    if scene.wheel == "human":
        return [
            BLANK,
            line(
                "You are at the wheel. ",
                ("n", "accent"),
                " calls a tool, ",
                ("a", "accent"),
                " answers, ",
                ("x", "accent"),
                " declines, ",
                ("o", "accent"),
                " gives a hint, ",
                ("v", "accent"),
                " evaluates.",
            ),
        ]
    return [BLANK, line(("s", "accent"), " runs the next step, ", ("c", "accent"), " runs to the end.")]


def pause_lines(row: StepRow, scene: Scene) -> list[Line]:
    """Why a breakpoint stopped at this step."""
    pause = scene.pause
    if pause is None or pause.number > len(scene.rows) or scene.rows[pause.number - 1] is not row:
        return []
    when = "before this step" if pause.before else "after this step"
    return [line((f"\u25a0 paused {when}  ", "warn"), HANG, (pause.reason, "")), BLANK]


def call_lines(row: StepRow, scene: Scene) -> list[Line]:
    """The call, where each argument comes from, notes, and the head of the response."""
    lines: list[Line] = []
    if row.outcome == "answer":
        lines += [line(("final answer", "label")), line(("  ", ""), (row.answer or "", "strong"))]
        if not (row.answer or "").strip():
            lines.append(line(("  (empty)", "warn")))
        return [*lines, *_beside_answer(scene)]
    if row.outcome == "gave up":
        lines.append(line(("gave up without an answer", "warn")))
        if row.answer:
            lines.append(line(("  ", ""), (row.answer, "")))
        return lines
    if row.step is not None and isinstance(row.step.decision, Message):
        return [line((row.step.decision.role, "label")), line(("  ", ""), (row.step.decision.text, ""))]
    if row.policy:
        lines += [line(("! POLICY  ", "fail"), (row.policy, "")), BLANK]
    lines.append(line(("arguments", "label")))
    lines += argument_lines(row)
    if row.reference:
        role: Role = "dim" if row.reference.endswith("same arguments") else "warn"
        lines.append(line(("  \u2016 ", "dim"), (row.reference, role)))
    for check in row.step.checks if row.step is not None else ():
        if check.outcome != "ok" and check.name == "schema":
            lines.append(line(("  ! schema  ", "fail"), (check.reason, "")))
    lines.append(BLANK)
    lines += response_head(row)
    return lines


def _beside_answer(scene: Scene) -> list[Line]:
    """What the reference has beside a final answer: its own answer, and the hops that were never recovered."""
    truth = scene.truth
    if not scene.reference_shown or truth.state not in ("ready", "no calls"):
        return []
    lines = [BLANK, line(("reference answer", "label")), line(("  ", ""), HANG, (answer_text(truth.answer), "strong"))]
    missing = [hop for hop in truth.hops if hop.known and hop.recovered_at is None]
    if missing:
        lines += [BLANK, line(("\u2717 never recovered before this answer", "fail"))]
    for hop in missing:
        arguments = ", ".join(f"{name}={short_json(value)}" for name, value in hop.call.arguments.items())
        lines.append(
            line((f"  hop {hop.number} ", "label"), HANG, (hop.call.name, "strong"), (f"({arguments})", "dim"))
        )
        lines.append(line(("        needs ", "warn"), HANG, ", ".join(hop.missing[:4])))
    return lines


def argument_lines(row: StepRow) -> list[Line]:
    """One line an argument: name, value as written, and its origin."""
    call = row.call
    if call is None:
        return []
    if call.raw_arguments is not None:
        return [line(("  not a JSON object: ", "fail"), (call.raw_arguments, "code"))]
    if not row.arguments:
        plain = [ArgumentRow(name=name, value=value) for name, value in call.arguments.items()]
    else:
        plain = list(row.arguments)
    if not plain:
        return [line(("  none", "dim"))]
    width = min(max(len(argument.name) for argument in plain), 24)
    return [_argument(argument, width) for argument in plain]


def _argument(argument: ArgumentRow, width: int) -> Line:
    parts = [Span(f"  {one_line(argument.name, 80):<{width}}  ", "key"), HANG, scalar_line(argument.value)]
    if argument.coerced:
        parts += [
            Span(" ~> ", "dim"),
            Span(short_json(argument.executed), "number"),
            Span(" as the schema says", "dim"),
        ]
    if argument.origin:
        role = "warn" if argument.grounded is False else "dim"
        parts += [Span("   \u2190 ", "dim"), Span(argument.origin, role)]  # type: ignore[arg-type]
    if argument.note:
        parts.append(Span(f"  {argument.note}", "warn"))
    return tuple(parts)


def response_head(row: StepRow) -> list[Line]:
    """The state of the response and its first lines."""
    text = text_of(row)
    if text is None or row.step is None or row.step.result is None:
        return [line(("not executed yet", "dim"))] if row.outcome == "pending" else []
    result = row.step.result
    lines: list[Line] = []
    head = [Span("response  ", "label")]
    if result.failed:
        head.append(Span("\u2717 failed", "fail"))
        head.append(Span(f" ({(result.error_kind or 'tool_failed').replace('_', ' ')})", "dim"))
    head.append(Span(f"  {size_words(len(text))}", "dim"))
    if result.duration_s >= 0.001:
        head.append(Span(f"  {result.duration_s * 1000:.0f} ms", "dim"))
    lines.append(tuple(head))
    lines += note_lines(row)
    if len(text) > READ_IN_WORKER:
        lines.append(line(("  large response: t opens the response tab", "dim")))
        lines.append(line(("  ", ""), (one_line(text, 300), "code")))
        return lines
    shape = responses.read(text)
    document = responses.document(shape)
    if isinstance(document, RawText):
        lines += [line(("  ", ""), (text, "code"))] if text else [line(("  (empty)", "dim"))]
        return lines
    count = document.layout(200)
    lines += [(Span("  "), *document.line(index)) for index in range(min(count, PEEK_LINES))]
    if count > PEEK_LINES:
        lines.append(line((f"  \u2026 {count - PEEK_LINES} more lines: t opens the response tab", "dim")))
    return lines


def note_lines(row: StepRow) -> list[Line]:
    """Known quirks of the result, and that the file holds another response."""
    lines: list[Line] = []
    if row.step is not None and row.step.result is not None:
        lines += [line(("  quirk: ", "warn"), (note, "")) for note in row.step.result.notes]
    if row.response_differs:
        lines.append(
            line(("  \u2260 the file holds another response (shown in the response tab, never trusted)", "warn"))
        )
    return lines


def _response(row: StepRow) -> LineSource:
    text = text_of(row)
    if text is None:
        lines = [line(("not executed yet", "dim") if row.outcome == "pending" else ("no response", "dim"))]
        if row.has_file_response:
            lines += [BLANK, *_file_lines(row)]
        return Lines(lines)
    shape = responses.read(text)
    if shape.kind == "json" and not row.response_differs:
        return responses.document(shape)
    if len(text) > READ_IN_WORKER:
        return responses.document(shape)
    head = [line((shape.words, "label")), *note_lines(row), BLANK]
    document = responses.document(shape)
    if isinstance(document, Lines):
        body: list[Line] = list(document.lines)
    elif isinstance(document, RawText):
        body = [line((text, "code"))]
    else:
        body = [document.line(index) for index in range(document.layout(200))]
    if row.response_differs:
        body += [BLANK, *_file_lines(row)]
    return Lines([*head, *body])


def _file_lines(row: StepRow) -> list[Line]:
    """The response that the prediction's file holds, beside the executed one."""
    lines = [line(("in the file ", "label"), ("(shown, never trusted)", "dim"))]
    return [*lines, *value_lines(row.file_response)]


def value_lines(value: Json, limit: int = 200) -> list[Line]:
    """A response from a file in its own form, at most ``limit`` lines."""
    shape = responses.of_value(value)
    document = responses.document(shape)
    if isinstance(document, Lines):
        return list(document.lines)[:limit]
    count = document.layout(160)
    lines = [document.line(index) for index in range(min(count, limit))]
    if count > limit:
        lines.append(line((f"\u2026 {count - limit} more lines", "dim")))
    return lines


def _table(row: StepRow) -> LineSource:
    """The whole table behind the handle that this step made; its rows are read when they are looked at."""
    view = row.table
    if view is None:
        return Lines([line(("this step made no table that can be shown", "dim"))])

    def fetch(start: int) -> None:
        rows.put(start, list(view.rows(start, min(start + PAGE, view.num_records))))

    rows = RowsSource([column.name for column in view.columns], view.num_records, fetch, at_once=True)
    return rows


def _raw(row: StepRow) -> LineSource:
    text = text_of(row)
    call = row.call
    lead: list[Line] = []
    if call is not None:
        written = call.raw_arguments
        if written is None:
            written = json.dumps(dict(call.arguments), ensure_ascii=False, default=str)
        lead += [line((call.name, "strong"), " ", (one_line(written, 4000), "code")), BLANK]
    if text is None:
        return Lines([*lead, line((row.answer or "no response", "" if row.answer else "dim"))])
    return RawText(text, lead=tuple(lead))


def message_lines(row: StepRow, scene: Scene) -> list[Line]:
    """What was said around the step. A recording holds calls and answers only, and the pane says so."""
    lines: list[Line] = []
    for other in scene.rows:
        if other.step is not None and isinstance(other.step.decision, Message) and other.number <= row.number:
            message = other.step.decision
            lines += [line((message.role, "label")), line(("  ", ""), (message.text, ""))]
    if not lines:
        lines.append(line(("No messages: a recorded prediction holds its calls and its answer only.", "dim")))
    return lines


def provenance_lines(row: StepRow) -> list[Line]:
    """Each argument with the place that its value came from, in full."""
    if row.call is None:
        return [line(("no arguments", "dim"))]
    if not row.arguments:
        return argument_lines(row)
    lines: list[Line] = []
    for argument in row.arguments:
        origin = argument.origin or "not looked into"
        role: Role = "warn" if argument.grounded is False else "ok" if argument.grounded else "dim"
        mark = {True: "\u2713 ", False: "? ", None: "  "}[argument.grounded]
        lines.append(line((mark, role), (argument.name, "key"), (" = ", "punct"), scalar_line(argument.value)))
        lines.append(
            line(("    \u2190 ", "dim"), (origin, role), (f"  {argument.note}" if argument.note else "", "warn"))
        )
    if not lines:
        lines.append(line(("the call has no arguments", "dim")))
    return lines
