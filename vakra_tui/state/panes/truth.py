"""The reference path: hop chain, what each hop gave, which step recovered it, the reference answer."""

from __future__ import annotations

import json

from vakra_tui.state.lines import BLANK, HANG, Line, Role, Span, line
from vakra_tui.state.panes.head import answer_text
from vakra_tui.state.response import read
from vakra_tui.state.scene import HopRow, Scene
from vakra_tui.text import count_words, one_line, size_words

RESPONSE_READ = 200_000
"""Characters up to which a response of the reference is read for its shape."""

NEEDS_SHOWN = 4
"""Missing facts that a hop lists before it says how many more there are."""


def truth_lines(scene: Scene) -> list[Line]:
    """All lines of the ground-truth pane."""
    truth = scene.truth
    if truth.state == "none":
        return [
            line(("No ground truth in this dataset.", "warn")),
            BLANK,
            line(("The instance can be stepped and answered; gates that need a reference are not decided.", "dim")),
        ]
    if truth.state == "unavailable":
        return [line(("The reference path cannot be executed.", "warn")), BLANK, line((truth.detail, ""))]
    if truth.state == "no calls":
        return [
            line(("The reference path has no calls.", "warn")),
            line(("Its tool sequence is matched by anything (vacuous).", "dim")),
            BLANK,
            *_answer(scene),
        ]
    lines: list[Line] = [chain(truth.hops)]
    lines.append(line(("one reference path; others may be right", "dim")))
    if truth.state == "failed":
        lines += [BLANK, line(("x THE REFERENCE ITSELF FAILS", "fail")), line(("  ", ""), (truth.detail, ""))]
    if truth.state == "running":
        lines += [BLANK, line(("executing the reference path \u2026", "dim"))]
    lines.append(BLANK)
    hinted = scene.reference_shown or scene.hints >= len(truth.hops)
    for hop in truth.hops:
        lines += _hop(hop, shown=scene.reference_shown or hop.number <= scene.hints)
    if not hinted:
        lines.append(line(("o shows the next hop; everything below it stays hidden until then", "dim")))
    else:
        lines += _answer(scene)
    return lines


def _answer(scene: Scene) -> list[Line]:
    return [
        line(("reference answer", "label")),
        line(("  ", ""), (answer_text(scene.truth.answer), "strong")),
    ]


def chain(hops: tuple[HopRow, ...]) -> Line:
    """``API --> RAG --> API``, each with its mark."""
    parts: list[Span] = []
    for index, hop in enumerate(hops):
        if index:
            parts.append(Span(" \u2500\u2192 ", "dim"))
        parts.append(Span(hop.source, _source_role(hop.source)))
        mark, role = _mark(hop)
        parts.append(Span(mark, role))
    return tuple(parts) if parts else line(("no hops", "dim"))


def _source_role(source: str) -> Role:
    return "rag" if source == "RAG" else "api"


def _mark(hop: HopRow) -> tuple[str, Role]:
    if hop.failed:
        return "!", "fail"
    if not hop.known:
        return "", "dim"
    if hop.recovered_at is not None:
        return "\u2713", "ok"
    return "\u2717", "fail"


def _hop(hop: HopRow, *, shown: bool) -> list[Line]:
    head: list[Span] = [Span(f"hop {hop.number} ", "label"), Span(f"{hop.source:<4}", _source_role(hop.source))]
    if hop.failed:
        head.append(Span("FAILED", "fail"))
    elif not hop.known:
        head.append(Span("not reached yet", "dim"))
    elif hop.recovered_at is not None:
        where = f"@{hop.recovered_at}" if hop.recovered_at else "by the opening"
        head.append(Span(f"\u2713 recovered {where}", "ok"))
    else:
        head.append(Span("\u2717 MISSING", "fail"))
    lines: list[Line] = [tuple(head)]
    if not shown:
        return lines
    arguments = ", ".join(f"{name}={short_json(value)}" for name, value in hop.call.arguments.items())
    lines.append(line(("  ", ""), (hop.call.name, "strong"), (f"({arguments})", "dim")))
    if hop.known and hop.recovered_at is None and not hop.failed:
        missing = hop.missing[:NEEDS_SHOWN]
        more = len(hop.missing) - len(missing)
        if missing:
            text = ", ".join(one_line(fact, 60) for fact in missing)
            lines.append(
                line(("  needs: ", "warn"), HANG, (text, ""), (f" and {more} more" if more > 0 else "", "dim"))
            )
    elif hop.needs:
        shown_needs = ", ".join(one_line(fact, 40) for fact in hop.needs[:NEEDS_SHOWN])
        more = len(hop.needs) - NEEDS_SHOWN
        lines.append(
            line(("  gives: ", "label"), HANG, (shown_needs, ""), (f" and {more} more" if more > 0 else "", "dim"))
        )
    if hop.response is not None and not hop.failed:
        lines.append(line(("  \u2192 ", "dim"), HANG, (_response_words(hop.response), "dim")))
    elif hop.response is not None:
        lines.append(line(("  \u2192 ", "dim"), HANG, (one_line(hop.response, 300), "fail")))
    lines.append(BLANK)
    return lines


def _response_words(text: str) -> str:
    """A response in few words: the size of a table or of passages, else its beginning."""
    if len(text) > RESPONSE_READ:
        return f"{size_words(len(text))}: {one_line(text, 80)}"
    shape = read(text)
    if shape.kind == "table":
        return f"{shape.value.get('handle') or 'table'}, {shape.words}"
    if shape.kind == "passages":
        return shape.words
    return one_line(text, 120)


def short_json(value: object, limit: int = 40) -> str:
    """A value as JSON on one line, cut to ``limit`` characters."""
    if isinstance(value, str) and len(value) > limit:
        return json.dumps(value[:limit], ensure_ascii=False)[:-1] + '\u2026"'
    return one_line(json.dumps(value, ensure_ascii=False, default=str), limit)


def hops_words(scene: Scene) -> str:
    """``2/3 hops`` for titles."""
    hops = scene.truth.hops
    if not hops:
        return ""
    done = sum(hop.recovered_at is not None for hop in hops)
    return f"{done}/{count_words(len(hops), 'hop')}"
