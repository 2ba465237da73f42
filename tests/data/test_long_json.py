"""A long JSON text is decoded in parts, to the values and with the errors of the standard library's decoder."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolenv import long_json
from toolenv.decoding import decoded
from toolenv.model import Json

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from([10**40, -0.0, 1e308, "\ud800", "],", '"},', "\u2028", ""])
    | st.text(max_size=5)
)
JSON: st.SearchStrategy[Json] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
)


@contextmanager
def in_small_parts() -> Iterator[None]:
    """Short texts are decoded as long ones are."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("SHORT", 0), ("BATCH", 3), ("FEW", 2), ("AGAIN", 2), ("OPENED", 3)):
            patch.setattr(long_json, name, value)
        yield


def outcome(decode: Callable[[Any], Json], text: str | bytes) -> str:
    """The value so that NaN, -0.0, 1 and 1.0 are what they are, or the error with its place."""
    try:
        return repr(decode(text))
    except (ValueError, RecursionError) as error:
        return f"{type(error).__name__}: {error}"


@given(JSON, st.integers(min_value=0, max_value=2), st.text(max_size=3), st.integers(min_value=0), st.booleans())
@settings(max_examples=300, deadline=None)
def test_values_and_errors_are_those_of_the_whole(
    value: Json, indent: int, other: str, where: int, plain: bool
) -> None:
    several = [value, {"b": value}, value, 1, "],", value, {"c": "},"}, value]
    for whole in (value, {"a": several, "": value, "z": [several] * 3}, [*several, 1] * 2, [1, 12, 2] * 9):
        text = json.dumps(whole, indent=indent or None, ensure_ascii=plain)
        at = where % (len(text) + 1)
        for each in (text, text + other, text[:at], text[:at] + other + text[at:], text[:at] + text[at + 1 :]):
            encoded = each.encode("utf-8", "surrogatepass")
            with in_small_parts():
                found = outcome(long_json.loads, each), outcome(long_json.loads, encoded)
            assert found == (outcome(json.loads, each), outcome(json.loads, encoded))


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "b": 2, "a": 3}',
        '[{"a": NaN}, Infinity, -Infinity, NaN]',
        '["\\ud83d", "\\ud83d\\ude00", "\\u0000"]',
        "[1, 2.50, 1e5, 1E-7, -0, -0.0, 123456789012345678901234567890]",
        f"[1, {'9' * (sys.get_int_max_str_digits() + 1)}]",
        "\ufeff[1]",
        '["\n"]',
        "",
        "  ",
        "[1,]",
        '{"a": 1,}',
        '{"a" 1}',
        "[1 2]",
        "[" * 100_000,
    ],
)
def test_odd_texts(text: str) -> None:
    with in_small_parts():
        found = outcome(long_json.loads, text)
    assert found == outcome(json.loads, text)


class Turns:
    """Counts how often the interpreter could let another thread in, by the text that is decoded in one call."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.longest = 0
        self._end = 0
        scan, loads = long_json._SCAN, json.loads

        def scanned(text: str, start: int) -> tuple[Json, int]:
            value, end = scan(text, start)
            if not isinstance(value, dict):  # within an object there are others, each of which is a turn
                self.longest = max(self.longest, end - start)
            return value, end

        def piece(text: str, **named: Any) -> Json:
            self.longest = max(self.longest, len(text))
            return loads(text, **named)

        monkeypatch.setattr(long_json, "_SCAN", scanned)
        monkeypatch.setattr(json, "loads", piece)


ROWS = [{"id": number, "name": f"name {number}", "tags": ["one", "two"]} for number in range(12_000)]
LARGE: dict[str, Json] = {
    "rows": {"count": 1, "rows": ROWS},
    "a list": ROWS,
    "texts": {"locations": [f"city number {number}" for number in range(50_000)]},
    "numbers": [[number * 1.5 for number in range(50_000)], list(range(50_000))],
    "columns": {"a": {"b": {"c": {"names": ["x" * 10] * 50_000}}}},
    "by name": {f"key {number}": {"id": number} for number in range(20_000)},
    "mixed": ["], a", 1, None] * 40_000,
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("indent", [None, 1])
def test_no_long_piece_is_decoded_in_one_call(name: str, indent: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps(LARGE[name], indent=indent)
    assert len(text) > long_json.SHORT
    turns = Turns(monkeypatch)
    assert decoded(text) == LARGE[name]
    assert 0 < turns.longest <= 4 * long_json.BATCH + 2


def test_the_value_of_a_long_text_is_that_of_a_short_one() -> None:
    value = {"rows": ROWS, "n": [math.inf, None, "\ud800"]}
    assert decoded(json.dumps(value)) == value
    assert decoded(json.dumps(value).encode()) == value
