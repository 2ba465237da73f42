"""The reference path as a graph: each hop's call, which value feeds which argument, who recovered it, the answer."""

from __future__ import annotations

from collections.abc import Sequence

from vakra_tui.state.commands.chosen import key
from vakra_tui.state.diagnosis import gap_words, value_words
from vakra_tui.state.lines import BLANK, HANG, Line, Lines, LineSource, Role, Span, line
from vakra_tui.state.panes.head import answer_text
from vakra_tui.state.panes.hop_graph import GraphRow, HopGraph
from vakra_tui.state.response import read
from vakra_tui.state.scene import FlowRow, Gap, HopRow, Scene
from vakra_tui.text import count_words, one_line, size_words

RESPONSE_READ = 200_000
"""Characters up to which a response of the reference is read for its shape."""

NEEDS_SHOWN = 4
"""Missing facts that a hop lists before it says how many more there are."""

BESIDE_SHOWN = 6
"""Steps that stand for no hop which are listed by name."""

ANSWER_NODE = -1
"""The number of the answer as a node of the graph."""


def source(scene: Scene) -> LineSource:
    """The ground-truth pane."""
    if scene.truth.state in ("none", "unavailable", "no calls"):
        return Lines(_without_hops(scene))
    return HopGraph(_head(scene), _rows(scene))


def truth_lines(scene: Scene) -> list[Line]:
    """All lines of the ground-truth pane, without the edges that are drawn beside them."""
    shown = source(scene)
    assert isinstance(shown, Lines | HopGraph)
    return list(shown.lines)


def _without_hops(scene: Scene) -> list[Line]:
    truth = scene.truth
    if truth.state == "none":
        return [
            line(("No ground truth in this dataset.", "warn")),
            BLANK,
            line(("The instance can be stepped and answered; gates that need a reference are not decided.", "dim")),
        ]
    if truth.state == "unavailable":
        return [line(("The reference path cannot be executed.", "warn")), BLANK, line((truth.detail, ""))]
    lines = [
        line(("The reference path has no calls.", "warn")),
        line(("Its tool sequence is matched by anything (vacuous).", "dim")),
        BLANK,
    ]
    return [*lines, *_beside(scene), *(row.content for row in _answer(scene))]


def _head(scene: Scene) -> list[Line]:
    truth = scene.truth
    lines: list[Line] = [chain(truth.hops), line(("one reference path; others may be right", "dim"))]
    if truth.state == "failed":
        lines += [BLANK, line(("x THE REFERENCE ITSELF FAILS", "fail")), line(("  ", ""), (truth.detail, ""))]
    if truth.state == "running":
        lines += [BLANK, line(("executing the reference path \u2026", "dim"))]
    return [*lines, BLANK]


def _rows(scene: Scene) -> list[GraphRow]:
    truth = scene.truth
    rows: list[GraphRow] = []
    feeding = {flow.source for flow in truth.flows}
    for place, hop in enumerate(truth.hops, start=1):
        inputs = [flow for flow in truth.flows if flow.target == hop.number]
        shown = scene.reference_shown or place <= scene.hints
        rows += _hop(hop, inputs, shown=shown, feeds=hop.number in feeding, ended=truth.ended)
    if not (scene.reference_shown or scene.hints >= len(truth.hops)):
        words = f"{key('debugger.hint')} shows the next hop; everything below it stays hidden until then"
        rows.append(GraphRow(line((words, "dim"))))
        return rows
    rows += [GraphRow(content) for content in _beside(scene)]
    return rows + _answer(scene)


def _answer(scene: Scene) -> list[GraphRow]:
    takes = tuple(dict.fromkeys(flow.source for flow in scene.truth.flows if flow.target == 0))
    return [
        GraphRow(line(("reference answer", "label")), node=ANSWER_NODE),
        GraphRow(line(" ", HANG, (answer_text(scene.truth.answer), "strong")), takes=takes, node=ANSWER_NODE),
    ]


def _beside(scene: Scene) -> list[Line]:
    """The steps that stand for no hop."""
    steps = [row for row in scene.rows if row.beside]
    if not steps:
        return []
    shown = ", ".join(f"{row.number} {one_line(row.tool, 60)}" for row in steps[:BESIDE_SHOWN])
    more = len(steps) - BESIDE_SHOWN
    tail = f" and {more} more" if more > 0 else ""
    return [line(("beside this path: ", "label"), (shown + tail, "warn")), BLANK]


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
    if hop.forbidden:
        return "!", "fail"
    if hop.recovered_at is not None:
        return "\u2713", "ok"
    return "\u2717", "fail"


def _hop(hop: HopRow, inputs: Sequence[FlowRow], *, shown: bool, feeds: bool, ended: bool) -> list[GraphRow]:
    """The rows of one hop: its state, its call, the arguments that something is to be said about, what it gives."""
    node = hop.number
    rows = [GraphRow((*_hop_head(hop), *_aligned(hop, ended)), node=node)]
    if not shown:
        return rows
    fed: dict[str, list[FlowRow]] = {}
    for flow in inputs:
        fed.setdefault(flow.argument, []).append(flow)
    gaps = {gap.argument: gap for gap in hop.gaps}
    rows.append(GraphRow(_call(hop, set(fed) | set(gaps)), node=node))
    for name, value in hop.call.arguments.items():
        if name in fed or name in gaps:
            takes = tuple(dict.fromkeys(flow.source for flow in fed.get(name, ())))
            rows.append(GraphRow(_argument(name, value, takes, gaps.get(name), hop), takes=takes, node=node))
    for gap in hop.gaps:
        if gap.argument not in hop.call.arguments:
            rows.append(GraphRow(line(" ", HANG, (f"step {hop.aligned}: {gap_words(gap)}", "warn")), node=node))
    gives = _gives(hop)
    if gives:
        rows.append(GraphRow(gives, gives=hop.number if feeds else 0, node=node))
    if hop.response is not None:
        role: Role = "fail" if hop.failed else "dim"
        words = one_line(hop.response, 300) if hop.failed else _response_words(hop.response)
        rows.append(
            GraphRow(
                line((" \u2192 ", "dim"), HANG, (words, role)),
                gives=hop.number if feeds and not gives else 0,
                node=node,
            )
        )
    return [*rows, GraphRow(BLANK)]


def _hop_head(hop: HopRow) -> Line:
    head = [Span(f"hop {hop.number} ", "label"), Span(f"{hop.source:<4}", _source_role(hop.source))]
    if hop.failed:
        head.append(Span("FAILED", "fail"))
    elif not hop.known:
        head.append(Span("not reached yet", "dim"))
    elif hop.forbidden:
        head.append(Span(f"! only by step {hop.recovered_at}, which breaks the policy", "fail"))
    elif hop.recovered_at is not None:
        where = f"@{hop.recovered_at}" if hop.recovered_at else "by the opening"
        head.append(Span(f"\u2713 recovered {where}", "ok"))
    else:
        head.append(Span("\u2717 MISSING", "fail"))
    return tuple(head)


def _aligned(hop: HopRow, ended: bool) -> Line:
    """Which step stands for the hop, where that says more than where it was recovered."""
    if hop.aligned is None:
        return line(("  no step calls it", "warn")) if ended and hop.known and hop.recovered_at is None else ()
    if hop.gaps:
        return line((f"  \u2260\u00a0step\u00a0{hop.aligned}", "warn"))
    return line((f"  =\u00a0step\u00a0{hop.aligned}", "dim")) if hop.aligned != hop.recovered_at else ()


def _call(hop: HopRow, apart: set[str]) -> Line:
    """The call; arguments with a row of their own are left out."""
    inside = [f"{name}={value_words(value, 40)}" for name, value in hop.call.arguments.items() if name not in apart]
    if any(name in apart for name in hop.call.arguments):
        inside.append("\u2026")
    return line((hop.call.name, "strong"), (f"({', '.join(inside)})", "dim"))


def _argument(name: str, value: object, takes: Sequence[int], gap: Gap | None, hop: HopRow) -> Line:
    """An argument with the hops that feed it, and what the step that stands for the hop has instead."""
    parts: list[Span] = [Span(" "), Span(one_line(name, 80), "key"), Span(" = ", "punct")]
    parts.append(Span(value_words(value, 40), "string" if isinstance(value, str) else "number"))
    if takes:
        parts.append(Span(f"  \u25c2\u00a0hop\u00a0{','.join(map(str, takes))}", "dim"))
    if gap is not None and gap.kind == "missing":
        parts.append(Span(f"  step {hop.aligned} lacks it", "warn"))
    elif gap is not None and gap.given == value:
        parts.append(Span(f"  in step {hop.aligned} it is not this table", "warn"))
    elif gap is not None:
        parts.append(Span(f"  step {hop.aligned} has {value_words(gap.given, 40)}", "warn"))
    return tuple(parts)


def _gives(hop: HopRow) -> Line:
    """What later hops or the answer need of it; where something is missing, only that."""
    if hop.known and hop.recovered_at is None and not hop.failed and hop.missing:
        label: tuple[str, Role] = (" needs: ", "warn")
        facts, limit = hop.missing, 60
    elif hop.needs:
        label, facts, limit = (" gives: ", "label"), hop.needs, 40
    else:
        return ()
    text = ", ".join(one_line(fact, limit) for fact in facts[:NEEDS_SHOWN])
    more = len(facts) - NEEDS_SHOWN
    return line(label, HANG, (text, ""), (f" and {more} more" if more > 0 else "", "dim"))


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
    return value_words(value, limit)


def hops_words(scene: Scene) -> str:
    """``2/3 hops`` for titles; an ellipsis for what is not computed yet."""
    hops = scene.truth.hops
    if not hops:
        return ""
    if scene.truth.state == "running" or (scene.working and not any(hop.known or hop.failed for hop in hops)):
        return f"\u2026/{count_words(len(hops), 'hop')}"
    done = sum(hop.recovered_at is not None and not hop.forbidden for hop in hops)
    return f"{done}/{count_words(len(hops), 'hop')}"
