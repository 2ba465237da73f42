"""What a file says a tool answered, beside what it answered now: signed lines, equal stretches left out.

JSON is compared as JSON, each value on a line of its own and keys in order, so that only content counts. Reads both
sides whole, so for large ones it is called in a worker.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from toolenv.decoding import decoded
from toolenv.model import Json
from vakra_tui.state.lines import BLANK, HANG, Line, Role, Span, line
from vakra_tui.state.response import passages
from vakra_tui.text import count_words

AROUND = 2
"""Equal lines that are shown on each side of a difference."""

ALIGNED = 3000
"""Lines of both sides together that are aligned; more are compared in their places, else shown as two blocks."""

MOST = 2000
"""Lines of one side of a block that are shown."""


def difference_lines(told: Json, executed: str) -> list[Line]:
    """The difference of the file's response and the executed one; signs and colours say which side a line is of."""
    left, right = texts(told), texts(executed)
    found = [*_stretches(left, right)]
    gone = sum(len(old) for old, new in found if old != new)
    come = sum(len(new) for old, new in found if old != new)
    if not gone and not come:
        return [line(("= the file's response and the executed one say the same", "ok"))]
    lines: list[Line] = [
        line(("- in the file  ", "removed"), ("+ executed now", "added"), ("   the file's is never trusted", "dim")),
        line((f"  {count_words(gone, 'line')} gone, {count_words(come, 'line')} new", "dim")),
        BLANK,
    ]
    for number, (old, new) in enumerate(found):
        if old == new:
            lines += _equal(old, first=number == 0, last=number == len(found) - 1)
        else:
            lines += _changed(old, new)
    return lines


def texts(value: Json) -> list[str]:
    """A response as lines: JSON indented with its keys in order, passages as their texts, other text as it is."""
    if isinstance(value, str):
        try:
            value = decoded(value)
        except ValueError:
            return str(value).split("\n")
    found = passages(value)
    if found:
        value = [each["text"] for each in found]
    if isinstance(value, str):
        return value.split("\n")
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, default=str).split("\n")


def _stretches(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Both sides cut into stretches that are equal or differ; what begins and ends alike is not aligned."""
    shorter = min(len(left), len(right))
    head = 0
    while head < shorter and left[head] == right[head]:
        head += 1
    tail = 0
    while tail < shorter - head and left[-1 - tail] == right[-1 - tail]:
        tail += 1
    if head:
        yield left[:head], left[:head]
    old, new = left[head : len(left) - tail], right[head : len(right) - tail]
    if len(old) + len(new) <= ALIGNED:
        for _, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            yield old[i:j], new[k:m]
    elif len(old) == len(new):
        yield from _line_by_line(old, new)
    else:
        yield old, new
    if tail:
        yield left[-tail:], left[-tail:]


def _line_by_line(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Stretches of two sides of the same length, each line compared with the one in its place."""
    start = 0
    while start < len(left):
        same = left[start] == right[start]
        end = start + 1
        while end < len(left) and (left[end] == right[end]) == same:
            end += 1
        yield left[start:end], left[start:end] if same else right[start:end]
        start = end


def _equal(lines: Sequence[str], *, first: bool, last: bool) -> Iterator[Line]:
    above = 0 if first else AROUND
    below = 0 if last else AROUND
    if len(lines) <= above + below + 1:
        yield from (line(("  ", ""), HANG, (text, "dim")) for text in lines)
        return
    yield from (line(("  ", ""), HANG, (text, "dim")) for text in lines[:above])
    yield line((f"  \u2026 {count_words(len(lines) - above - below, 'equal line')}", "dim"))
    yield from (line(("  ", ""), HANG, (text, "dim")) for text in lines[len(lines) - below :])


def _changed(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    """Lines of both sides; where as many came as went, what differs inside each pair stands out."""
    if len(old) == len(new) <= MOST:
        for before, now in zip(old, new, strict=True):
            head, tail = _alike(before, now)
            yield _signed("- ", before, head, tail, "removed")
            yield _signed("+ ", now, head, tail, "added")
        return
    yield from _block("- ", old, "removed")
    yield from _block("+ ", new, "added")


def _block(sign: str, lines: Sequence[str], role: Role) -> Iterator[Line]:
    yield from (line((sign, role), HANG, (text, role)) for text in lines[:MOST])
    if len(lines) > MOST:
        yield line((f"{sign}\u2026 {count_words(len(lines) - MOST, 'more line')}", role))


def _alike(before: str, now: str) -> tuple[int, int]:
    """How many characters two lines have in common at their beginning and, apart from these, at their end."""
    shorter = min(len(before), len(now))
    head = 0
    while head < shorter and before[head] == now[head]:
        head += 1
    tail = 0
    while tail < shorter - head and before[-1 - tail] == now[-1 - tail]:
        tail += 1
    return head, tail


def _signed(sign: str, text: str, head: int, tail: int, role: Role) -> Line:
    end = len(text) - tail
    return (Span(sign, role), HANG, Span(text[:head], "code"), Span(text[head:end], role), Span(text[end:], "code"))
