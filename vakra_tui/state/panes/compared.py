"""What differs in one row of a comparison: arguments and responses value by value, hops, rulings with their reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eval.scored import gate_rulings
from sessions.comparison import (
    Difference,
    Differences,
    argument_differences,
    arguments,
    differences,
    response_differences,
    responses,
)
from sessions.trajectory import CallTool
from toolenv.model import Json
from vakra_tui.state.comparison import SIGNS, Compared, Item, Where, gate_words, hop_words, outcome_words
from vakra_tui.state.lines import BLANK, HANG, Line, Role, Span, line
from vakra_tui.state.panes.truth import short_json
from vakra_tui.state.panes.waterfall import outcome_span
from vakra_tui.state.scene import StepRow
from vakra_tui.text import count_words, one_line, size_words

SHOWN = 12
"""Differing values of a response that are shown before they are only counted."""

READ_IN_WORKER = 50_000
"""Characters of both responses from which on a row is compared beside the event loop."""

VALUE = 300
"""Characters of a value that are shown."""


def detail_lines(item: Item, found: Compared) -> list[Line]:
    """Everything about one row."""
    if item.kind == "step":
        return _step(item, found)
    if item.kind == "hop":
        return _hop(item, found)
    if item.kind == "gate":
        return _gate(item, found)
    return [line((item.name, "label"))]


def response_size(item: Item, found: Compared) -> int:
    """Characters of the responses that a row compares."""
    size = 0
    for side, index in ((found.left, item.left), (found.right, item.right)):
        step = side.scene.rows[index].step if item.kind == "step" and index is not None else None
        size += len(step.result.text) if step is not None and step.result is not None else 0
    return size


def problem_lines(found: Compared) -> list[Line]:
    """Why a side could not be executed, where one could not."""
    return [
        line((f"! {one_line(side.name, 40)} cannot be executed: ", "warn"), HANG, (side.scene.problem, ""))
        for side in (found.left, found.right)
        if side.scene.problem
    ]


def _names(found: Compared) -> tuple[str, str]:
    return one_line(found.left.name, 40), one_line(found.right.name, 40)


def _step(item: Item, found: Compared) -> list[Line]:
    one = found.left.scene.rows[item.left] if item.left is not None else None
    other = found.right.scene.rows[item.right] if item.right is not None else None
    sign, word, role = SIGNS[item.state]
    lines = [line((f"{sign} {word}  ", role), HANG, (item.name, "strong"), (_places(one, other, found), "dim"))]
    if one is not None and other is not None and one.step is not None and other.step is not None:
        if isinstance(one.step.decision, CallTool):
            lines += [line(("arguments", "label")), *_arguments(one, other, found)]
        else:
            lines += _answers(one, other)
        lines += _responses(one, other, found)
    else:
        row = one if one is not None else other
        assert row is not None, "a row has a step"
        lines += _elsewhere(item, found)
        lines += _alone(row)
    lines += _said("left", one) + _said("right", other)
    return lines


def _elsewhere(item: Item, found: Compared) -> list[Line]:
    """Where the other side makes this call, or one of this tool, at another place."""
    pair = item.pair
    if pair is None or pair.elsewhere is None:
        return []
    there = found.right if pair.right is None else found.left
    row = there.scene.rows[pair.elsewhere]
    place = f"step {row.number} of {one_line(there.name, 40)}"
    if pair.likewise:
        return [line((f"  the same call is {place}", "accent"))]
    lines = [line((f"  the same tool is called in {place}, where these arguments differ", "accent"))]
    own = found.left.scene.rows[pair.left] if pair.left is not None else row
    other = row if pair.left is not None else found.right.scene.rows[pair.right or 0]
    if own.step is not None and other.step is not None:
        lines += difference_lines(argument_differences(own.step, other.step, found.handles), made=_makers(found))
    return lines


def _places(one: StepRow | None, other: StepRow | None, found: Compared) -> str:
    names = _names(found)
    told = [f"step {row.number} of {name}" for row, name in zip((one, other), names, strict=True) if row is not None]
    return f"   {', '.join(told)}"


def _arguments(one: StepRow, other: StepRow, found: Compared) -> list[Line]:
    assert one.step is not None and other.step is not None
    different = argument_differences(one.step, other.step, found.handles)
    lines = difference_lines(different, made=_makers(found))
    theirs = arguments(other.step)
    same = [
        (name, value)
        for name, value in arguments(one.step).items()
        if name and name in theirs and not differences(value, theirs[name], found.handles).total
    ]
    lines += [line((f"  = {name}  ", "dim"), HANG, (short_json(value, VALUE), "dim")) for name, value in same]
    return lines or [line(("  none", "dim"))]


def _answers(one: StepRow, other: StepRow) -> list[Line]:
    if one.answer == other.answer and one.outcome == other.outcome:
        return [line(("  = ", "dim"), HANG, (one.answer or "(empty)", ""))]
    lines = []
    for sign, row, role in (("<", one, "removed"), (">", other, "added")):
        words = row.answer or "(empty)"
        gave_up = "gave up: " if row.outcome == "gave up" else ""
        lines.append(line((f"  {sign} ", role), HANG, (f"{gave_up}{words}", "")))  # type: ignore[arg-type]
    return lines


def _responses(one: StepRow, other: StepRow, found: Compared) -> list[Line]:
    assert one.step is not None and other.step is not None
    state = responses(one.step, other.step, found.handles)
    if state == "none":
        return []
    lines: list[Line] = [BLANK]
    if state == "same":
        lines.append(line(("response  ", "label"), ("= the same", "dim"), _size(one), _failure(one)))
        return lines
    sizes = (_size(one), _failure(one), Span("  against", "dim"), _size(other), _failure(other))
    lines.append((Span("response  ", "label"), Span("~ differs", "warn"), *sizes))
    if state == "differs":
        lines += difference_lines(response_differences(one.step, other.step, found.handles), SHOWN)
    return lines


def _size(row: StepRow) -> Span:
    result = row.step.result if row.step is not None else None
    return Span(f"  {size_words(len(result.text))}" if result is not None else "", "dim")


def _failure(row: StepRow) -> Span:
    result = row.step.result if row.step is not None else None
    return Span("  x failed" if result is not None and result.failed else "", "fail")


Makers = tuple[Mapping[str, str], Mapping[str, str]]
"""For each side: handle -> the step that made it, in words."""


def _makers(found: Compared) -> Makers:
    return _makers_of(found.left.scene.rows), _makers_of(found.right.scene.rows)


def _makers_of(rows: Sequence[StepRow]) -> dict[str, str]:
    made = {}
    for row in rows:
        result = row.step.result if row.step is not None else None
        if result is not None and result.handle:
            made[result.handle] = f"the table of step {row.number} {row.tool}" if row.number else "the opened table"
    return made


def _maker(value: Json, own: Mapping[str, str], other: Mapping[str, str]) -> tuple[str, Role]:
    """What a handle stands for on its own side: equal names may be other tables, or none."""
    if not isinstance(value, str) or (value not in own and value not in other):
        return "", "dim"
    return (f"   {own[value]}", "dim") if value in own else ("   no step of this side made it", "warn")


def difference_lines(found: Differences, shown: int = 50, *, made: Makers = ({}, {})) -> list[Line]:
    """Each value that differs, on the left and on the right, the values below each other."""
    lines: list[Line] = []
    left_made, right_made = made
    for each in found.listed[:shown]:
        lines.append(line(("  \u2260 ", "warn"), (each.path or "all of it", "key"), (_only(each), "dim")))
        if each.kind != "only_right":
            maker = _maker(each.left, left_made, right_made)
            lines.append(line(("      < ", "removed"), HANG, (short_json(each.left, VALUE), ""), maker))
        if each.kind != "only_left":
            maker = _maker(each.right, right_made, left_made)
            lines.append(line(("      > ", "added"), HANG, (short_json(each.right, VALUE), ""), maker))
    more = found.total - min(len(found.listed), shown)
    if more > 0:
        lines.append(line((f"  and {count_words(more, 'more value', 'more values')} that differ", "dim")))
    return lines


def _only(each: Difference) -> str:
    return {"value": "", "only_left": "  only left", "only_right": "  only right"}[each.kind]


def _alone(row: StepRow) -> list[Line]:
    """A step that the other side does not have."""
    lines: list[Line] = []
    if row.call is not None:
        lines.append(line(("arguments", "label")))
        if row.call.raw_arguments is not None:
            lines.append(line(("  not a JSON object: ", "fail"), HANG, (row.call.raw_arguments, "code")))
        pairs = list(row.call.arguments.items())
        lines += [line((f"  {name}  ", "key"), HANG, (short_json(value, VALUE), "")) for name, value in pairs]
        if not pairs and row.call.raw_arguments is None:
            lines.append(line(("  none", "dim")))
    elif row.answer is not None:
        lines.append(line(("  ", ""), HANG, (row.answer or "(empty)", "")))
    result = row.step.result if row.step is not None else None
    if result is not None:
        lines.append((Span("response", "label"), _size(row), _failure(row)))
        lines.append(line(("  ", ""), HANG, (one_line(result.text, VALUE), "code")))
    return lines


def _said(where: Where, row: StepRow | None) -> list[Line]:
    """What the debugger says about a step of one side: policy broken, hops recovered."""
    if row is None:
        return []
    role: Role = "removed" if where == "left" else "added"
    sign = "<" if where == "left" else ">"
    lines = []
    if row.policy:
        lines.append(line((f"  {sign} ", role), HANG, ("breaks the policy: ", "fail"), (row.policy, "")))
    if row.recovers and not row.policy:
        hops = ", ".join(f"hop {hop}" for hop in row.recovers)
        lines.append(line((f"  {sign} ", role), HANG, (f"recovers {hops}", "ok")))
    return lines


def _hop(item: Item, found: Compared) -> list[Line]:
    lines: list[Line] = [line((item.name, "strong"))]
    for sign, role, side in (("<", "removed", found.left), (">", "added", found.right)):
        hop = side.scene.truth.hops[item.place]
        words, said = hop_words(hop)
        missing = f"  lacks {', '.join(one_line(fact, 60) for fact in hop.missing[:4])}" if hop.missing else ""
        parts: Sequence[tuple[str, Role]] = ((f"  {sign} ", role), (f"{one_line(side.name, 40)}  ", "label"))  # type: ignore[assignment]
        lines.append(line(*parts, HANG, (words, said), (missing if hop.recovered_at is None else "", "warn")))
    return lines


def _gate(item: Item, found: Compared) -> list[Line]:
    lines: list[Line] = [line((gate_words(item.name), "strong"))]
    for sign, role, side in (("<", "removed", found.left), (">", "added", found.right)):
        verdict = found.verdict_of(side)
        assert verdict is not None, "gates are compared where both sides have a verdict"
        parts = [Span(f"  {sign} ", role), Span(f"{one_line(side.name, 40)}  ", "label"), HANG]  # type: ignore[arg-type]
        ruling = gate_rulings(verdict).get(item.name)
        if item.name == "verdict":
            sieve = f", broke at {verdict.sieve.replace('_', ' ')}" if verdict.sieve not in (None, "none") else ""
            parts.append(Span(f"{outcome_words(verdict)}{sieve}"))
        elif ruling is None:
            parts.append(outcome_span("skipped"))
        else:
            by = f" by {ruling.decided_by}: " if ruling.decided_by else " "
            parts += [outcome_span(ruling.outcome), Span(by, "dim"), Span(ruling.reason)]
        lines.append(tuple(parts))
    return lines
