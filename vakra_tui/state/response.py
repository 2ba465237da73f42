"""What a response is made of, and the lines that show it: table peek, passages, JSON, plain text."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, TypeGuard

import msgspec

from toolenv.decoding import decoded
from toolenv.long_json import SHORT
from toolenv.model import Json
from vakra_tui.state.json_tree import JsonTree, scalar_line
from vakra_tui.state.lines import BLANK, HANG, Line, Lines, LineSource, Span, line
from vakra_tui.state.uncollected import no_cycles
from vakra_tui.text import count_words, one_line, sanitize, size_words

if TYPE_CHECKING:
    from vakra_tui.state.search import Needle

Kind = Literal["table", "passages", "json", "text"]


SCORES = ("score", "distance", "similarity", "relevance")
"""Names under which retrievers say how near a passage is to the question."""

_ENORMOUS = 10**15
"""From which on a number is written as it is: an integer may be too large for any other form."""

MOST_PASSAGES = 500
"""Longer lists of texts are shown as JSON, which is made row by row."""


class Shape(msgspec.Struct, frozen=True):
    """A response text and what it was read as; ``value`` is the decoded JSON, or None for plain text."""

    kind: Kind
    text: str
    value: Json = None

    @property
    def words(self) -> str:
        """``table, 44 rows, 1.2 KB``."""
        size = size_words(len(self.text))
        if self.kind == "table":
            return f"table, {_rows_words(self.value)}, {size}"
        if self.kind == "passages":
            found = passages(self.value)
            return f"{count_words(len(found), 'passage')}, {size}" + ("" if scored(found) else ", without scores")
        if self.kind == "json":
            return f"JSON, {size}"
        return f"text, {size}"


def read(text: str) -> Shape:
    """The shape of a response; work proportional to its length, so large ones are read in a worker."""
    head = text.lstrip()[:1]
    if head and head in '{["-0123456789tfnNI':
        try:
            value = _decoded(text)
        except ValueError:
            return Shape(kind="text", text=text)
        if _is_peek(value):
            return Shape(kind="table", text=text, value=value)
        if passages(value):
            return Shape(kind="passages", text=text, value=value)
        if isinstance(value, dict | list):
            return Shape(kind="json", text=text, value=value)
    return Shape(kind="text", text=text)


def _decoded(text: str) -> Json:
    if len(text) <= SHORT:
        return decoded(text)
    with no_cycles():
        return decoded(text)


def of_value(value: Json) -> Shape:
    """The shape of a response that a file holds as JSON or as text."""
    if isinstance(value, str):
        return read(value)
    text = json.dumps(value, ensure_ascii=False, indent=1)
    return Shape(kind="passages" if passages(value) else "json", text=text, value=value)


def _is_peek(value: Json) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("key_details"), list)
        and all(isinstance(column, dict) for column in value["key_details"])
    )


def _rows_words(value: Json) -> str:
    number = value.get("num_records") if isinstance(value, dict) else None
    if not isinstance(number, int) or isinstance(number, bool):
        return "an unknown number of rows"
    return count_words(number, "row")


def passages(value: Json) -> list[dict[str, Json]]:
    """The retrieved passages in any envelope that carries ``text``; empty where it is something else."""
    if isinstance(value, dict):
        lists = [inner for inner in value.values() if isinstance(inner, list)]
        value = lists[0] if len(lists) == 1 else None
    if not isinstance(value, list) or not 0 < len(value) <= MOST_PASSAGES:
        return []
    if all(isinstance(item, dict) and isinstance(item.get("text"), str) for item in value):
        return list(value)
    return []


def document(shape: Shape) -> LineSource:
    """The lines of a response in its own form."""
    if shape.kind == "table":
        return Lines(peek_lines(shape.value), wrapped=False)
    if shape.kind == "passages":
        return Lines(passage_lines(passages(shape.value)))
    if shape.kind == "json":
        return JsonTree(shape.value)
    return RawText(shape.text)


def peek_lines(value: Json) -> list[Line]:
    """A table peek: handle, size, and each column with its type and first values."""
    columns = value["key_details"]
    handle = value.get("handle")
    lines = [
        line(
            ("handle ", "label"),
            (str(handle), "strong") if handle else ("none", "dim"),
            (f"   {_rows_words(value)}, {count_words(len(columns), 'column')}", "dim"),
        )
    ]
    names = [str(column.get("name")) for column in columns]
    width = min(max((len(name) for name in names), default=0), 34)
    for name, column in zip(names, columns, strict=True):
        values = column.get("first_3_values")
        values = values if isinstance(values, list) else [values]
        parts: list[Span] = [Span(f"{one_line(name):<{width}} ", "key"), Span(f"{column.get('dtype')!s:<8}", "dim")]
        for index, cell in enumerate(values):
            parts.append(Span(" | " if index else " ", "punct"))
            parts.append(scalar_line(cell, 40))
        lines.append(tuple(parts))
    if not columns:
        lines.append(line(("no columns", "dim")))
    return lines


def passage_lines(found: list[dict[str, Json]]) -> list[Line]:
    """Passages, numbered, with their id, how near they are where that is known, and what else is known of them."""
    lines: list[Line] = []
    for number, passage in enumerate(found, start=1):
        name = passage.get("id", passage.get("doc_id", ""))
        head = [Span(f"[{number}] ", "rag"), Span(str(name), "label")]
        for key in SCORES:
            value = passage.get(key)
            if _is_score(value):
                head.append(Span(f"  {key} {value:.4g}" if abs(value) < _ENORMOUS else f"  {key} {value}", "number"))
        about = passage.get("metadata")
        if isinstance(about, dict) and about:
            told = ", ".join(
                f"{key}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
                for key, value in list(about.items())[:4]
            )
            head += [Span("  "), Span(one_line(told, 160), "dim")]
        lines += [tuple(head), line("    ", HANG, str(passage["text"])), BLANK]
    return lines[:-1]


def scored(found: list[dict[str, Json]]) -> bool:
    """Whether the retriever said how near each passage is."""
    return any(_is_score(passage.get(key)) for passage in found for key in SCORES)


def _is_score(value: Json) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


class RawText:
    """Plain text of any size, cut into rows of the pane's width when they are looked at.

    Rows are measured in characters, two cells each where a line has characters beyond ASCII, so that laying out
    5 MB costs one pass over the line lengths. A place of a search is (line, character of it).
    """

    def __init__(self, text: str) -> None:
        texts = text.split("\n")
        if not all(part.isascii() and part.isprintable() for part in texts):
            texts = [sanitize(part) for part in texts]
        self._texts = texts
        self._lengths = list(map(len, texts))
        self._longest = max(self._lengths)
        self._plain = text.isascii()
        self._first: Sequence[int] = ()
        self._width = 0
        self._rows = 0

    def layout(self, width: int) -> int:
        if width == self._width:
            return self._rows
        self._width = width
        if self._plain and self._longest <= width:
            self._first = range(len(self._texts))
            self._rows = len(self._texts)
            return self._rows
        half = max(width // 2, 1)
        steps = [width if self._plain or text.isascii() else half for text in self._texts]
        taken = [-(-length // step) or 1 for length, step in zip(self._lengths, steps, strict=True)]
        self._first = list(accumulate(taken, initial=0))
        self._rows = self._first[-1]
        del self._first[-1]
        return self._rows

    def _step(self, position: int) -> int:
        """Characters of a line that one row takes."""
        return self._width if self._plain or self._texts[position].isascii() else max(self._width // 2, 1)

    def line(self, index: int) -> Line:
        position, start, step = self._slice(index)
        return line((self._texts[position][start : start + step], "code"))

    def _slice(self, index: int) -> tuple[int, int, int]:
        """(line, first character, number of characters) of a row."""
        position = bisect_right(self._first, index) - 1
        step = self._step(position)
        return position, (index - self._first[position]) * step, step

    @property
    def cells(self) -> int:
        return 0

    def find(self, needle: Needle, stop: Callable[[], bool]) -> list[tuple[int, int]]:
        """All places of the needle; reads every line."""
        found: list[tuple[int, int]] = []
        for position, text in enumerate(self._texts):
            if position % 1000 == 0 and stop():
                break
            if needle.first(text) >= 0:
                found.extend((position, start) for start in needle.starts(text, stop))
        return found

    def row_of(self, place: tuple[int, int]) -> int:
        position, start = place
        return self._first[position] + start // self._step(position)

    def place_at(self, row: int) -> tuple[int, int]:
        return self._slice(row)[:2]

    def line_found(self, index: int, needle: Needle) -> Line:
        """The row with its matches marked, also those that begin or end on another row."""
        position, start, step = self._slice(index)
        text = self._texts[position]
        length = len(needle.text)
        begin = max(start - length + 1, 0)
        around = text[begin : start + step + length - 1]
        parts: list[Span] = []
        here = start
        for found in needle.starts(around):
            first, last = max(begin + found, start), min(begin + found + length, start + step)
            if last <= here:
                continue
            parts += [Span(text[here:first], "code"), Span(text[first:last], "match")]
            here = last
        return (*parts, Span(text[here : start + step], "code"))
