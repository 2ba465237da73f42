"""Replies and answers of nothing but blanks and marks: read once from end to end, whatever they hold.

The long texts here would take minutes by patterns that look at a run again from each of its characters.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.judges.replies import _BARE_LABEL, Unreadable, read_reply
from eval.offline.reading import _BOLD, _TABLE_RULE, read_answer
from sessions.agent.texts import _FENCED, _REACT, call_in_text, calls_in_text

LONG = 150_000

PLAIN_REACT = re.compile(r"^Action:\s*([\w.-]+)\s*\n+\s*Action Input:", re.I | re.MULTILINE)
PLAIN_FENCED = re.compile(r"```(?:json|tool_call|tool_code|xml)?\s*\n(.*?)```", re.DOTALL)
PLAIN_BOLD = re.compile(r"\*+|__+(?=\W|$)|(?<!\w)__+")
PLAIN_RULE = re.compile(r"\|?[\s:|-]*-{2,}[\s:|-]*")
PLAIN_LABEL = re.compile(r"^(?:\d+[.)]\s*)?[\W_]*(yes|no|partial|unsure|pass|fail)[\W_]*$", re.I)


@pytest.mark.parametrize("head", ["Action: a", "Action:", "```", "```json", ""])
@pytest.mark.parametrize("blank", ["\n", " ", " \n", "\t"])
@pytest.mark.parametrize("tail", ["", "x"])
def test_a_reply_of_blanks_is_read_once(head: str, blank: str, tail: str) -> None:
    text = head + blank * (LONG // len(blank)) + tail
    assert call_in_text(text, {"a"}) is None
    assert calls_in_text(text) == []


@pytest.mark.parametrize("text", ["1." + " " * LONG + "x", "1)" + "_" * LONG, "label:" + "\t" * LONG + "x"])
def test_a_ruling_of_blanks_is_no_ruling(text: str) -> None:
    with pytest.raises(Unreadable):
        read_reply(text)


def test_a_ruling_behind_many_thoughts_and_objects_is_read_once() -> None:
    crowd = "</think>" * (LONG // 2) + "{}" * 9_000
    with pytest.raises(Unreadable):
        read_reply(crowd)
    assert read_reply(crowd + '{"ruling": "pass", "reason": "a </think> inside"}').reason == "a </think> inside"


def test_an_answer_of_underscores_is_read_once() -> None:
    assert read_answer("a" + "_" * LONG + "x", []).text == "a" + "_" * LONG + "x"
    assert read_answer("a" + "_" * LONG, []).text == 'a"'


def test_a_line_of_dashes_is_read_once() -> None:
    rule = "|" + "-" * LONG
    assert read_answer(f"| a | b |\n{rule}x\n| 1 | 2 |", []).text.count("-" * LONG) == 1
    assert "-" * LONG not in read_answer(f"| a | b |\n{rule}\n| 1 | 2 |", []).text


PIECES = st.lists(
    st.sampled_from(["Action: ", "Action:", "a", "b.c", "\n", " ", "\t", "Action Input:", "```", "json", "{}", "_"]),
    max_size=14,
)


@given(PIECES)
def test_calls_in_text_are_found_as_plain_patterns_find_them(pieces: list[str]) -> None:
    text = "".join(pieces)
    found, plain = _REACT.search(text), PLAIN_REACT.search(text)
    assert (found and found.span(1)) == (plain and plain.span(1))
    assert [each.group(1).strip() for each in _FENCED.finditer(text)] == [
        each.group(1).strip() for each in PLAIN_FENCED.finditer(text)
    ]


@given(st.lists(st.sampled_from(["__", "_", "a", "*", " ", "\n", "."]), max_size=14))
def test_bold_marks_are_found_as_a_plain_pattern_finds_them(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert _BOLD.sub('"', text) == PLAIN_BOLD.sub('"', text)


@given(st.text("|-: x", max_size=12))
def test_rules_of_tables_are_found_as_a_plain_pattern_finds_them(text: str) -> None:
    assert bool(_TABLE_RULE.fullmatch(text)) == bool(PLAIN_RULE.fullmatch(text))


@given(st.lists(st.sampled_from(["1", "2.", ")", " ", "_", "*", "yes", "fail", "x"]), max_size=10))
def test_labels_are_found_as_a_plain_pattern_finds_them(pieces: list[str]) -> None:
    text = "".join(pieces)
    found, plain = _BARE_LABEL.match(text), PLAIN_LABEL.match(text)
    assert (found and found.group(1)) == (plain and plain.group(1))
