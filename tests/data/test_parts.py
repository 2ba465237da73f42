"""What is done with long texts part by part gives what it gives for the whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolenv import parts, values
from toolenv.parts import cuts

PIECES = st.sampled_from(
    [
        " ", "\n", "\u00a0", "\u2003", "a", "Ab", "e", "E5", "1", "12", ",", ".", "-", "+", ":", "/", "_", ")", "(",
        '"', "'", "\u2212", "\u00a8", "\u0301", "e\u0301", "\u03a3", "\u00df", "\ufb01", "\u0130", "\u1100", "\u1161",
        "\u6f22", "\ud800", "1,234", "1e+05", "2013-07-26", "10:30", "sk-", "Bearer ", "\x1f", "\x85",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES | st.characters(), max_size=40).map("".join)


@contextmanager
def in_small_parts(size: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (parts, values):
            patch.setattr(module, "PART", size)
        yield


@given(TEXTS, st.integers(min_value=1, max_value=6))
@settings(max_examples=1500, deadline=None)
def test_words_and_numbers_of_a_text_in_parts(text: str, size: int) -> None:
    normal, numbers = values.normal_text(text), list(values.numbers_in(text))
    with in_small_parts(size):
        assert values.normal_text(text) == normal
        assert list(values.numbers_in(text)) == numbers


@given(st.text(alphabet="ab ", max_size=60), st.integers(min_value=1, max_value=6))
@settings(deadline=None)
def test_parts_are_the_whole_and_end_at_borders(text: str, size: int) -> None:
    with in_small_parts(size):
        found = list(cuts(text, re.compile(" ")))
    assert "".join(text[start:end] for start, end in found) == text
    assert all(text[end] == " " and end - start >= size for start, end in found[:-1])


def test_the_parts_of_a_long_text_are_short() -> None:
    words = '{"name": "a river of 12,345 words and \u00e4"}, ' * 20_000
    for border in (values._TEXT_BORDER, values._NUMBER_BORDER):
        assert max(end - start for start, end in cuts(words, border)) <= 2 * parts.PART
    assert len(list(cuts("\u6f22" * 500_000, values._TEXT_BORDER))) == 1
