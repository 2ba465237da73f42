"""The plain state behind the step's tabs: trees, searches, differences, large texts."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolenv.decoding import decoded
from toolenv.model import Json
from vakra_tui.state.diff import difference_lines
from vakra_tui.state.json_tree import JsonTree, Unfolded
from vakra_tui.state.lines import Lines, line, plain, text_of
from vakra_tui.state.response import RawText, peek_lines, read
from vakra_tui.state.rows import same_response
from vakra_tui.state.search import WINDOW, LineByLine, Needle, Search, marked, shifted
from vakra_tui.text import sanitize
from vakra_tui.wrap import clean

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=4), inner, max_size=5),
    max_leaves=25,
)


def never() -> bool:
    return False


# --- the tree ---------------------------------------------------------------------------------------------------------


def unfolded_rows(node: Unfolded, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Json]]:
    """The visible members of an unfolded container, one after the other: what the tree must be equal to."""
    for position in range(len(node.value)):
        yield (*path, position), node.member(position)[1]
        if position in node.inner:
            yield from unfolded_rows(node.inner[position], (*path, position))


@given(JSON, st.lists(st.integers(min_value=0, max_value=10_000), max_size=12))
@settings(max_examples=150, deadline=None)
def test_folding_and_unfolding_keeps_every_row_in_its_place(value: Json, presses: list[int]) -> None:
    tree = JsonTree(value)
    for press in presses:
        tree.toggle(press % tree.layout(80))
        expected: list[tuple[tuple[int, ...], Json]] = [((), value)]
        if tree._root is not None and tree._open:
            expected += unfolded_rows(tree._root)
        assert tree.layout(80) == len(expected)
        for index, (path, inner) in enumerate(expected):
            row = tree.row(index)
            assert (row.path, row.value) == (path, inner)
            if tree._open:
                assert tree.row_of(path) == index
            assert plain(tree.line(index))


def test_a_list_of_a_hundred_thousand_costs_what_a_short_one_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted: members looked at for unfolding, scrolling to the end and drawing a screenful."""
    looked = 0
    member = Unfolded.member

    def counting(self: Unfolded, position: int) -> tuple[str | int, Json]:
        nonlocal looked
        looked += 1
        return member(self, position)

    monkeypatch.setattr(Unfolded, "member", counting)
    costs = []
    for size in (1_000, 100_000):
        tree = JsonTree({"rows": [{"id": index} for index in range(size)]})
        looked = 0
        tree.toggle(1)
        rows = tree.layout(80)
        for index in range(rows - 40, rows):
            tree.line(index)
        costs.append(looked)
    assert costs[0] == costs[1] < 100


def test_a_match_in_a_folded_part_is_unfolded_and_found() -> None:
    tree = JsonTree({"rows": [{"id": index, "name": f"name {index}"} for index in range(50_000)], "Name": 1})
    places = tree.find(Needle("NAME 49999"), never)
    assert places == [(0, 49_999, 1)]
    row = tree.row_of(places[0])
    assert plain(tree.line(row)).strip() == 'name: "name 49999"'
    assert plain(tree.line(tree.parent_of(row))).strip() == "\u25be 49999: 2 keys"
    assert len(tree.find(Needle("name"), never)) == 50_001
    assert JsonTree("a scalar").find(Needle("SCALAR"), never) == [()]
    assert len(tree.find(Needle("name"), lambda: True)) < 50_001


def test_a_match_far_into_a_long_string_is_shown() -> None:
    tree = JsonTree({"text": "x" * 900 + " needle " + "y" * 900})
    assert "needle" not in plain(tree.line(1))[:120]
    assert "needle" in plain(tree.line_found(1, Needle("needle")))[:60]


# --- searching --------------------------------------------------------------------------------------------------------


@given(st.text(max_size=80), st.text(min_size=1, max_size=4), st.integers(min_value=1, max_value=30))
@settings(max_examples=200, deadline=None)
def test_each_place_in_a_text_is_found_and_lies_on_its_row(text: str, wanted: str, width: int) -> None:
    needle = Needle(wanted)
    for source in (RawText(text), Lines([line(text)])):
        count = source.layout(width)
        for place in source.find(needle, never):
            assert 0 <= source.row_of(place) < count
            assert source.place_at(source.row_of(place))[0] == place[0]


def test_matches_across_the_windows_of_a_long_line_are_found_once() -> None:
    text = "x" * (WINDOW - 2) + "needle" + "y" * (2 * WINDOW - 3) + "NEEDLE"
    assert list(Needle("needle").starts(text)) == [text.index("needle"), text.index("NEEDLE")]
    assert Needle("needle").first(text) == WINDOW - 2
    assert list(Needle("aa").starts("aaaaa")) == [0, 2]


def test_a_match_that_is_broken_over_two_rows_is_marked_on_both() -> None:
    raw = RawText("0123456789")
    raw.layout(4)
    needle = Needle("345")
    assert [span for span in raw.line_found(0, needle) if span.role == "match"] == [("3", "match")]
    assert [span for span in raw.line_found(1, needle) if span.role == "match"] == [("45", "match")]
    wrapped = Lines([line("one two three four")])
    wrapped.layout(8)
    assert [wrapped.row_of(place) for place in wrapped.find(Needle("three"), never)] == [1]


@given(st.text(max_size=40), st.text(min_size=1, max_size=3))
@settings(max_examples=200, deadline=None)
def test_marking_changes_roles_and_no_character(text: str, wanted: str) -> None:
    content = (*line(text[:7]), *line((text[7:], "key")))
    shown = marked(content, Needle(wanted))
    assert plain(shown) == plain(clean(content))


def test_a_line_that_is_too_long_begins_at_its_match() -> None:
    content = line(("  key: ", "key"), "a" * 200 + "needle")
    shown = plain(shifted(content, Needle("needle"), 60))
    assert shown.startswith("\u2026")
    assert "needle" in shown[:60]
    assert shifted(content, Needle("nowhere"), 60) == content


def test_a_search_goes_round_and_begins_at_what_is_in_view() -> None:
    source = Lines([line(f"row {index}") for index in range(50)])
    source.layout(80)
    search = Search(Needle("row 4"), source, source, source.find(Needle("row 4"), never))
    assert search.words == "\u201crow 4\u201d: 1 of 11"
    search.go_behind(41)
    assert search.row() == 41
    search.go(-1)
    assert search.row() == 40
    search.go(11)
    assert search.row() == 40
    nothing = Search(Needle("x"), source, source, [])
    nothing.go(1)
    nothing.go_behind(3)
    assert nothing.row() == -1
    assert "no match" in nothing.words
    assert LineByLine(source, 50).find(Needle("row 49"), never) == [49]


# --- differences ------------------------------------------------------------------------------------------------------


def test_a_difference_names_both_sides_and_leaves_out_what_is_equal() -> None:
    told = {"brand": "Other", "rows": list(range(30)), "same": True}
    shown = text_of(difference_lines(told, json.dumps({"same": True, "rows": list(range(30)), "brand": "Dixie"})))
    assert '-  "brand": "Other",' in shown
    assert '+  "brand": "Dixie",' in shown
    assert "equal lines" in shown
    assert "1 line gone, 1 line new" in shown
    assert '"same"' in shown or "equal lines" in shown


def test_passages_are_compared_by_their_texts() -> None:
    shown = text_of(difference_lines(["one", "two"], json.dumps({"results": [{"text": "one", "distance": 0.1}]})))
    assert '-  "two"' in shown
    assert "0.1" not in shown


def test_equal_responses_say_so_and_text_is_compared_as_text() -> None:
    assert "say the same" in text_of(difference_lines('{"a": 1, "b": 2}', '{"b":2,"a":1}'))
    shown = text_of(difference_lines("ok", "Error calling API: 422"))
    assert "- ok" in shown
    assert "+ Error calling API: 422" in shown


def test_large_responses_are_compared_line_by_line() -> None:
    old = [{"id": index, "n": f"x{index}"} for index in range(20_000)]
    new = [dict(each) for each in old]
    new[500]["n"] = "changed"
    new[19_000]["n"] = "also"
    lines = difference_lines(old, json.dumps(new))
    assert len(lines) < 40
    assert "changed" in text_of(lines)
    assert "also" in text_of(lines)
    whole = difference_lines(old, json.dumps(new[:-1]))
    assert "more lines" in text_of(whole) or len(whole) < 40


@given(JSON, JSON)
@settings(max_examples=80, deadline=None)
def test_any_two_values_can_be_compared(left: Json, right: Json) -> None:
    assert difference_lines(left, json.dumps(right))


# --- large texts ------------------------------------------------------------------------------------------------------


def test_a_large_text_is_read_as_a_small_one_is() -> None:
    value = {"rows": [{"id": index, "name": "x" * 20} for index in range(10_000)], "n": [float("inf"), None]}
    assert decoded(json.dumps(value, indent=1)) == value
    assert read(json.dumps(value) + " trailing").kind == "text"
    assert read(json.dumps(value)).kind == "json"


@given(st.text(max_size=60), st.integers(min_value=1, max_value=25))
@settings(max_examples=200, deadline=None)
def test_the_rows_of_a_raw_text_hold_all_of_it(text: str, width: int) -> None:
    source = RawText(text)
    shown = "".join(plain(source.line(index)) for index in range(source.layout(width)))
    assert shown == "".join(sanitize(part) for part in text.split("\n"))


def test_a_response_that_is_nested_too_deeply_is_shown_as_text() -> None:
    nested = "[" * 700 + "]" * 700
    assert read(nested).kind == "text"
    assert same_response(nested, nested) and not same_response(nested, "[]")
    assert "[[[" in text_of(difference_lines(nested, "[]"))


def test_a_peek_without_a_number_of_rows_names_none() -> None:
    shape = read('{"key_details": [{"name": "a"}]}')
    assert "0 rows" not in shape.words and "unknown" in shape.words
    assert "0 rows" not in text_of(peek_lines(shape.value))
