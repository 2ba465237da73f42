"""The step pane: one step in tabs (call, response, table, raw, difference, messages, provenance, protocol)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal

from sessions.trajectory import Message
from vakra_tui.state import response as responses
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.diff import difference_lines
from vakra_tui.state.json_tree import scalar_line
from vakra_tui.state.lines import BLANK, HANG, Headed, Line, Lines, LineSource, Role, Span, line
from vakra_tui.state.panes.call import CallLines, also_words, argument_blocks, argument_rows
from vakra_tui.state.panes.head import answer_text, replay_words
from vakra_tui.state.panes.no_table import no_table
from vakra_tui.state.panes.truth import short_json
from vakra_tui.state.quirks import quirks
from vakra_tui.state.response import RawText
from vakra_tui.state.scene import ArgumentRow, Scene, StepRow
from vakra_tui.text import one_line, size_words

Tab = Literal["call", "response", "table", "raw", "difference", "messages", "provenance", "protocol"]
TABS: tuple[Tab, ...] = ("call", "response", "table", "raw", "difference", "messages", "provenance", "protocol")

PEEK_LINES = 14
"""Lines of a response that the call tab shows under the arguments."""

READ_IN_WORKER = 100_000
"""Characters from which on a response is read and laid out in a worker."""


def title(row: StepRow | None) -> str:
    """``step 2: query_beer_factory`` for the border of the pane."""
    if row is None:
        return "step"
    if row.outcome == "message":
        return f"message of the {one_line(row.tool, 80)}"
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
    """The lines of one tab. Reads the whole response, so it is called in a worker where ``is_long`` says so.

    The rows of a table and the messages of the wire belong to the engine: for these tabs it gives what is said where
    there are none.
    """
    if row is None:
        return Lines([line(("No step yet.", "dim")), *_how_to_start(scene)])
    if tab == "call":
        return call_source(row, scene)
    if tab == "response":
        return _response(row)
    if tab == "table":
        return no_table(row, scene)
    if tab == "raw":
        return _raw(row)
    if tab == "difference":
        return Lines(_difference(row))
    if tab == "protocol":
        return Lines([line(("nothing was sent for this step", "dim"))])
    if tab == "messages":
        return Lines(message_lines(row, scene))
    return Lines(provenance_lines(row))


def is_long(tab: Tab, row: StepRow | None) -> bool:
    """Whether making a tab's lines may take longer than a screen may wait."""
    text = text_of(row) if row is not None else None
    if row is None or text is None:
        return False
    if tab == "difference":
        return row.response_differs
    if tab == "raw" and row.call is not None and sum(map(_size, row.call.arguments.values())) > READ_IN_WORKER:
        return True
    return tab in ("response", "raw") and len(text) > READ_IN_WORKER


def _size(value: object) -> int:
    """About how many characters a value is long when written, without writing it."""
    if isinstance(value, str):
        return len(value)
    return 10 * len(value) if isinstance(value, list | dict) else 10


def _how_to_start(scene: Scene) -> list[Line]:
    if scene.problem:
        return [BLANK, line((scene.problem, "warn"))]
    if scene.wheel == "human":
        return [
            BLANK,
            line(
                "You are at the wheel. ",
                (key("debugger.call-a-tool"), "accent"),
                " calls a tool, ",
                (key("debugger.answer"), "accent"),
                " answers, ",
                (key("debugger.decline"), "accent"),
                " declines, ",
                (key("debugger.hint"), "accent"),
                " gives a hint, ",
                (key("debugger.evaluate"), "accent"),
                " evaluates.",
            ),
        ]
    steps, runs = key("debugger.step"), key("debugger.continue")
    return [BLANK, line((steps, "accent"), " runs the next step, ", (runs, "accent"), " runs to the end.")]


def pause_lines(row: StepRow, scene: Scene) -> list[Line]:
    """Why a breakpoint stopped at this step."""
    pause = scene.pause
    if pause is None or pause.number > len(scene.rows) or scene.rows[pause.number - 1] is not row:
        return []
    when = "before this step" if pause.before else "after this step"
    return [line((f"\u25a0 paused {when}  ", "warn"), HANG, (pause.reason, "")), BLANK]


def remark_lines(row: StepRow) -> list[Line]:
    """What a person left at this step: a mark, notes."""
    lines = [line(("\u25c6 marked", "accent"))] if row.marked else []
    lines += [line(("\u270e ", "accent"), HANG, (text, "strong")) for text in row.remarks]
    return [*lines, BLANK] if lines else []


def call_source(row: StepRow, scene: Scene) -> CallLines:
    """The call tab: why the run paused here, the call with its arguments, and the head of the response."""
    lines = [*pause_lines(row, scene), *remark_lines(row)]
    plain = _decision_lines(row, scene)
    if plain:
        return CallLines([*lines, *plain], ())
    stops: list[tuple[int, ArgumentRow]] = []
    if row.policy:
        lines.append(line(("! POLICY  ", "fail"), HANG, (row.policy, "")))
        if row.recovers:
            told = f"its response would complete {_hops(row.recovers)}, but the policy forbids the call"
            lines.append(line(("          ", ""), HANG, (told, "warn")))
        lines.append(BLANK)
    what = one_line(row.spec.description, 110) if row.spec is not None else ""
    lines.append(line(("arguments", "label"), (f"   {what}" if what else "", "dim")))
    for argument, block in argument_blocks(row):
        if argument is not None:
            stops.append((len(lines), argument))
        lines += block
    if row.reference:
        role: Role = "dim" if row.reference.endswith("same arguments") else "warn"
        lines.append(line(("  \u2016 ", "dim"), HANG, (row.reference, role)))
    for check in row.step.checks if row.step is not None else ():
        if check.outcome != "ok" and check.name == "schema":
            lines.append(line(("  ! schema  ", "fail"), HANG, (check.reason, "")))
    lines += [BLANK, *response_head(row, replay_words(scene))]
    return CallLines(lines, stops)


def _hops(numbers: Sequence[int]) -> str:
    """``hop 1``, ``hops 1, 2``."""
    return f"hop{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def _decision_lines(row: StepRow, scene: Scene) -> list[Line]:
    """What stands in the call tab of a step that is no call; empty for a call."""
    if row.outcome == "answer":
        again = "   the recording's old answer again" if row.actor == "recording" and replay_words(scene) else ""
        lines = [line(("final answer", "label"), (again, "warn")), line(("  ", ""), (row.answer or "", "strong"))]
        if not (row.answer or "").strip():
            lines.append(line(("  (empty)", "warn")))
        return [*lines, *_beside_answer(scene)]
    if row.outcome == "gave up":
        lines = [line(("gave up without an answer", "warn"))]
        return [*lines, line(("  ", ""), (row.answer, ""))] if row.answer else lines
    if row.step is not None and isinstance(row.step.decision, Message):
        return [line((row.step.decision.role, "label")), line(("  ", ""), (row.step.decision.text, ""))]
    return []


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


def _pending_lines(replays: str) -> list[Line]:
    lines = [line(("not executed yet", "dim"))]
    if replays:
        lines.append(
            line(("the recording ", "dim"), HANG, (replays, "warn"), (", whatever this branch answered", "dim"))
        )
    return lines


def response_head(row: StepRow, replays: str = "") -> list[Line]:
    """The state of the response and its first lines; ``replays`` is said of a step that is still to come."""
    text = text_of(row)
    if text is None or row.step is None or row.step.result is None:
        return _pending_lines(replays) if row.outcome == "pending" else []
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
        lines.append(line((f"  large response: {key('debugger.next-tab')} opens the response tab", "dim")))
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
        opens = f"{key('debugger.next-tab')} opens the response tab"
        lines.append(line((f"  \u2026 {count - PEEK_LINES} more lines: {opens}", "dim")))
    return lines


def note_lines(row: StepRow) -> list[Line]:
    """Known quirks of the result, and that the file holds another response."""
    lines: list[Line] = []
    if row.step is not None and row.step.result is not None:
        lines += [line(("  quirk: ", "warn"), HANG, (note, "")) for note in quirks(row.call, row.step.result)]
    if row.response_differs:
        words = "the file holds another response (never trusted): the difference tab shows both"
        lines.append(line(("  \u2260 ", "warn"), HANG, (words, "warn")))
    return lines


def _response(row: StepRow) -> LineSource:
    text = text_of(row)
    if text is None:
        lines = [line(("not executed yet", "dim") if row.outcome == "pending" else ("no response", "dim"))]
        if row.has_file_response:
            lines += [BLANK, line(("in the file ", "label"), ("(shown, never trusted)", "dim"))]
            return Headed(lines, responses.document(responses.of_value(row.file_response)))
        return Lines(lines)
    shape = responses.read(text)
    words = [Span(shape.words, "label")]
    if shape.kind == "json":
        words.append(Span(f"   {key('step.choose')} or {key('step.left')} and {key('step.right')} fold", "dim"))
    if row.table is not None and row.table.num_records:
        words.append(Span(f"   {key('debugger.next-tab')}: the whole table", "dim"))
    return Headed([tuple(words), *note_lines(row), BLANK], responses.document(shape))


def _difference(row: StepRow) -> list[Line]:
    """The response that the prediction's file holds, beside the executed one."""
    if not row.has_file_response:
        return [line(("the file holds no response of this step, so there is nothing to compare", "dim"))]
    text = text_of(row)
    if text is None:
        return [line(("not executed yet, so there is nothing to compare", "dim"))]
    if not row.response_differs:
        return [line(("= the file's response and the executed one say the same", "ok"))]
    return difference_lines(row.file_response, text)


def _raw(row: StepRow) -> LineSource:
    """The call as it was written and the response as it came, both whole."""
    text = text_of(row)
    call = row.call
    if call is None:
        return RawText(text if text is not None else row.answer or "no response")
    written = call.raw_arguments
    if written is None:
        written = json.dumps(dict(call.arguments), ensure_ascii=False, default=str)
    told = text if text is not None else "not executed yet" if row.outcome == "pending" else "no response"
    return RawText(f"{call.name} {written}\n\n{told}")


def message_lines(row: StepRow, scene: Scene) -> list[Line]:
    """What was said around the step. A recording holds calls and answers only, and the pane says so."""
    lines: list[Line] = []
    last = next((index for index, other in enumerate(scene.rows) if other is row), len(scene.rows) - 1)
    for other in scene.rows[: last + 1]:
        if other.step is not None and isinstance(other.step.decision, Message):
            message = other.step.decision
            lines += [line((message.role, "label")), line(("  ", ""), (message.text, ""))]
    if not lines:
        why = "a recorded prediction holds its calls and its answer only"
        told = f"No messages: {why}." if row.actor == "recording" else "No messages were exchanged up to this step."
        lines.append(line((told, "dim")))
    return lines


MOST_OTHERS = 12
"""Further places of a value that the provenance tab names."""


def provenance_lines(row: StepRow) -> list[Line]:
    """Each argument with the place that its value came from, in full."""
    if row.call is None:
        return [line(("no arguments", "dim"))]
    if row.call.raw_arguments is not None:
        return [line(("not a JSON object: ", "fail"), HANG, (row.call.raw_arguments, "code"))]
    lines: list[Line] = []
    for argument in argument_rows(row):
        origin = argument.origin or "not looked into"
        role: Role = "warn" if argument.grounded is False else "ok" if argument.grounded else "dim"
        mark = {True: "\u2713 ", False: "? ", None: "  "}[argument.grounded]
        lines.append(line((mark, role), (argument.name, "key"), (" = ", "punct"), scalar_line(argument.value)))
        lines.append(
            line(("    \u2190 ", "dim"), (origin, role), (f"  {argument.note}" if argument.note else "", "warn"))
        )
        also = also_words(argument.origins, MOST_OTHERS)
        if also:
            lines.append(line(("      ", ""), HANG, (also, "dim")))
    if not lines:
        lines.append(line(("the call has no arguments", "dim")))
    return lines
