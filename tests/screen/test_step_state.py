"""The plain state behind the step's tabs: trees, searches, tables, differences, quirks, schemas beside arguments."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
import screen_toy as toy
from hypothesis import given, settings
from hypothesis import strategies as st
from screen_tables import View

from sessions.trajectory import CallTool, Step
from toolenv.decoding import decoded
from toolenv.errors import DataError
from toolenv.exchange import KEPT_TEXT, RawMessage, WireExchange
from toolenv.model import Json, ToolCall, ToolResult, ToolSpec
from vakra_tui.state.diff import difference_lines
from vakra_tui.state.form import fields_of, parse_line, value_of
from vakra_tui.state.json_tree import JsonTree, Unfolded
from vakra_tui.state.lines import Lines, line, plain, text_of
from vakra_tui.state.panes.call import CallLines, argument_blocks, jumpable
from vakra_tui.state.panes.no_table import no_table
from vakra_tui.state.panes.protocol import StepProtocol, protocol_source
from vakra_tui.state.panes.steps import step_line
from vakra_tui.state.quirks import quirks
from vakra_tui.state.response import RawText, document, passage_lines, passages, peek_lines, read, scored
from vakra_tui.state.rows import same_response
from vakra_tui.state.scene import ArgumentRow, Origin, Scene, StepRow
from vakra_tui.state.search import WINDOW, LineByLine, Needle, Search, marked, shifted
from vakra_tui.state.table_order import Order, page, positions, rows_with, terms_of
from vakra_tui.state.table_rows import TableRows
from vakra_tui.text import sanitize
from vakra_tui.wrap import clean, width_of

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


# --- tables -----------------------------------------------------------------------------------------------------------


def cities(count: int) -> View:
    chance = random.Random(5)
    names = ["Ulm", "Bonn", "Denver", None, "Biloxi \x1b[31m"]
    return View(
        ["T_id", "T_city", "T_age"],
        [
            (index, chance.choice(names), chance.choice([None, chance.randrange(90), chance.random() * 90]))
            for index in range(count)
        ],
    )


async def test_sorting_puts_nulls_last_and_keeps_equal_rows_in_their_order() -> None:
    view = cities(25_000)
    for descending in (False, True):
        for column in (1, 2):
            shown = await positions(view, Order(column=column, descending=descending))
            assert shown is not None
            values = list(view.column(column))
            cells = [values[position] for position in shown]
            known = [cell for cell in cells if cell is not None]
            assert known == sorted(known, reverse=descending)
            assert cells[len(known) :] == [None] * (len(cells) - len(known))
            assert sorted(shown) == list(range(25_000))
            beside = zip(cells, cells[1:], shown, shown[1:], strict=False)
            assert all(left < right for one, other, left, right in beside if one == other)


async def test_filters_hold_numbers_texts_and_nulls_apart() -> None:
    view = View(
        ["name", "Age", "age group"], [("Ann", 30, "x=1"), ("Bob", 9, "y"), (None, 100, "x"), ("ann", None, "")]
    )

    async def kept(text: str) -> list[int]:
        found = await positions(view, Order(filter=text))
        return list(range(view.num_records)) if found is None else list(found)

    assert await kept("") == [0, 1, 2, 3]
    assert await kept("ann") == [0, 3]
    assert await kept("name=ANN") == [0, 3]
    assert await kept("name!=ann") == [1, 2]
    assert await kept("Age>9") == [0, 2]
    assert await kept("Age>=9 ann") == [0]
    assert await kept("Age=null") == [3]
    assert await kept("group~x") == [0, 2]
    assert await kept("'age group=x=1'") == [0]
    assert await kept("name=null") == [2]
    for wrong in ("height=3", "'unclosed"):
        with pytest.raises(DataError):
            terms_of(wrong, view.columns)
    with pytest.raises(DataError, match="could be called"):
        terms_of("a=1", view.columns)


async def test_a_table_of_a_hundred_thousand_rows_reads_the_pages_in_view() -> None:
    view = View(["id", "name"], [(index, f"name {index}") for index in range(100_000)])
    asked: list[int] = []
    source = TableRows(view, asked.append)
    assert source.layout(80) == 100_002
    assert plain(source.line(50_002)).endswith("\u2026")
    start = asked[0]
    source.put(start, await page(view, None, start))
    assert "name 50000" in plain(source.line(50_002))
    assert view.read < 200
    order = Order().turned(0).turned(0)
    assert (order.column, order.descending) == (0, True)
    source.show(order, await positions(view, order))
    source.put(0, await page(view, source.positions, 0))
    assert "name 99999" in plain(source.line(2))
    assert source.words == "100,000 rows, by id (descending)"
    assert order.turned(0) == Order()
    assert list(await rows_with(view, source.positions, Needle("NAME 99998"))) == [1]
    assert view.read < 100_000 + 400


async def test_cells_and_names_of_any_kind_line_up() -> None:
    hostile = [
        "[/]",
        "\x1b[2J",
        "a\nb",
        "\u202edlrow",
        "\u6f22\u5b57" * 30,
        "",
        None,
        True,
        float("nan"),
        {"$base64": "AA=="},
    ]
    view = View([f"n\u200b{index}" for index in range(len(hostile))], [tuple(hostile), tuple(reversed(hostile))])
    source = TableRows(view, lambda start: None)
    source.put(0, await page(view, None, 0))
    for column in range(-2, 14):
        start, end = source.place_column(column)
        assert end > start
        assert source.column_at(start) == source.column
    assert all(plain(source.line(index)) for index in range(source.layout(80)))
    assert source.column_at(3) is None
    empty = TableRows(View([], []), lambda start: None)
    assert empty.layout(80) == 2
    assert empty.place_column(1)[0] == 10


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


# --- passages ---------------------------------------------------------------------------------------------------------


def test_passages_tell_how_near_they_are_where_that_is_known() -> None:
    near = {"id": "d1", "text": "one", "distance": 0.25, "metadata": {"page": 3}}
    shape = read(json.dumps({"results": [near, {"id": "d2", "text": "two\x1b[2J", "score": True}]}))
    assert shape.words.startswith("2 passages")
    assert "without scores" not in shape.words
    source = document(shape)
    shown = text_of([source.line(index) for index in range(source.layout(60))])
    assert "[1] d1  distance 0.25  page=3" in shown
    assert "score" not in shown
    assert "without scores" in read('[{"text": "one"}]').words


# --- quirks -----------------------------------------------------------------------------------------------------------


def told(
    name: str, text: str, *, failed: bool = False, is_error: bool = False, notes: tuple[str, ...] = (), **args: Json
) -> str:
    result = ToolResult(text=text, failed=failed, is_error=is_error, notes=notes)
    return "\n".join(quirks(ToolCall(name=name, arguments=args), result))


def test_a_score_of_any_size_is_shown() -> None:
    found = passages(json.loads('[{"text": "a", "score": 1' + "0" * 400 + '}, {"text": "b", "score": 7.25}]'))
    assert "score 1000" in text_of(passage_lines(found)) and "score 7.25" in text_of(passage_lines(found))
    assert not scored(passages([{"text": "a", "score": True}]))


def test_quirks_are_told_for_every_environment() -> None:
    assert "(R2)" in told("get_city", "Error calling API: Client error '422'", failed=True)
    assert "(S9)" in told("Calculator", "nan", input_1=1, input_2=-2, operation="divide")
    assert told("Calculator", "-0.5", input_1=1, input_2=-2, operation="divide") == ""
    assert "(S5)" in told("aggregate_data", '{"error": "Invalid key_name [\'\']."}', failed=True)
    assert "(S15)" in told("filter_data", "Input validation error: list index out of range", failed=True)
    assert "(S14)" in told("get_data", '{"key_details": [{"first_3_values": [NaN]}]}')
    assert "(S13)" in told("truncate", "Input validation error: 'x' is not of type 'array'", failed=True, is_error=True)
    assert "no row" in told("get_names", '{"names": []}')
    assert told("get_names", '{"names": ["NaN"]}') == ""


def test_words_of_a_failure_inside_an_answer_are_no_quirk() -> None:
    for words in ("there is no table tennis club", "it should be a valid dictionary", "is not JSON serializable"):
        assert told("query_towns", json.dumps({"results": [{"text": words}]})) == ""


def test_a_quirk_that_the_environment_tells_is_not_told_again() -> None:
    note = "division by a negative number or by zero gives nan here (S9)"
    found = told("Calculator", "nan", notes=(note,), input_1=1, input_2=0, operation="divide")
    assert found.count("(S9)") == 1


# --- the call beside its schema ---------------------------------------------------------------------------------------

SPEC = ToolSpec(
    name="find",
    description="finds a city",
    input_schema={
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "name of the city"},
            "limit": {"type": "integer", "default": 10},
            "order": {"enum": ["up", "down"]},
        },
        "required": ["city"],
        "additionalProperties": False,
    },
)


def blocks(**arguments: Json) -> str:
    row = StepRow(
        number=1, actor="agent", tool="find", outcome="ok", call=ToolCall(name="find", arguments=arguments), spec=SPEC
    )
    return text_of([each for _, lines in argument_blocks(row) for each in lines])


def test_arguments_stand_beside_what_the_schema_says() -> None:
    shown = blocks(city="Ulm", limit="many", order="sideways", colour="red")
    assert "string, required" in shown
    assert "name of the city" in shown
    assert '"many"  integer, default 10' in shown
    assert "\u2717 a string where the schema wants integer" in shown
    assert "one of up | down" in shown
    assert "\u2717 none of the values that the schema allows" in shown
    assert "\u2717 the tool has no such argument" in shown
    assert "\u2717 missing" not in shown


def test_what_is_typed_is_nested_no_deeper_than_what_is_read() -> None:
    nested = "[" * 200 + "]" * 200
    (field,) = fields_of(ToolSpec(name="find", description="", input_schema={"properties": {"a": {}}}))
    assert value_of(field, nested) == (True, nested), "a text, for it is no value that could be shown or kept"
    assert value_of(field, "[[1]]") == (True, [[1]])
    assert "nested too deeply" in str(parse_line(f'find {{"a": {nested}}}', ()))


def test_a_definition_that_names_itself_many_times_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from vakra_tui.state import form

    looked: list[Any] = []
    resolved = form._resolved

    def counting(part: Any, root: Any) -> Any:
        looked.append(part)
        return resolved(part, root)

    monkeypatch.setattr(form, "_resolved", counting)
    itself = {"$ref": "#/$defs/A"}
    union = {"anyOf": [*[itself] * 6, {"type": "null"}, {"oneOf": [{"type": "string"}, itself]}]}
    schema: Any = {"properties": {"a": itself}, "$defs": {"A": union}}
    (field,) = fields_of(ToolSpec(name="find", description="", input_schema=schema))
    assert field.types == ("null", "string") and len(looked) < 10


def test_arguments_that_are_left_out_are_told() -> None:
    shown = blocks(limit=5.0)
    assert "city   \u2717 missing  string, required: name of the city" in shown
    assert "not given  order (any, one of up | down)" in shown
    assert "wants integer" not in shown


def test_arguments_that_are_no_object_and_tools_without_schema_are_shown_as_they_are() -> None:
    call = ToolCall(name="find", arguments={}, raw_arguments="[not json")
    row = StepRow(number=1, actor="agent", tool="find", outcome="refused", call=call, spec=SPEC)
    assert "[not json" in text_of([each for _, lines in argument_blocks(row) for each in lines])
    bare = StepRow(number=1, actor="agent", tool="x", outcome="ok", call=ToolCall(name="x", arguments={"a": None}))
    assert "null" in text_of([each for _, lines in argument_blocks(bare) for each in lines])


@pytest.mark.parametrize("number", [7, 100, 3000, 123456])
@pytest.mark.parametrize("paused", [False, True])
def test_a_long_trajectory_keeps_numbers_and_outcomes_whole(number: int, paused: bool) -> None:
    shown = step_line(StepRow(number=number, actor="agent", tool="find", outcome="failed"), 30, paused=paused)
    assert width_of(shown) == 30
    assert plain(shown).replace("\u25a0", " ").split()[0] == str(number)
    assert plain(shown).endswith(" err")


def test_the_places_that_can_be_gone_to_are_each_named_once() -> None:
    origins = (
        Origin(seen="response", value="a", step=1),
        Origin(seen="response", value="b", step=1),
        Origin(seen="context", value="c", turn=0),
        Origin(seen="nowhere", value="d"),
        Origin(seen="schema", value="e"),
    )
    assert [place.value for place in jumpable(ArgumentRow(name="x", value=[], origins=origins))] == ["a", "c"]


def test_stops_follow_their_lines_when_the_width_changes() -> None:
    arguments = [ArgumentRow(name="a", value=1), ArgumentRow(name="b", value=2)]
    lines = CallLines(
        [line("a long head that wraps"), line("  a  1"), line("  b  2")], [(1, arguments[0]), (2, arguments[1])]
    )
    lines.layout(80)
    assert [lines.stop_row(number) for number in (0, 1)] == [1, 2]
    lines.layout(8)
    assert plain(lines.line(lines.stop_row(1))).strip() == "b  2"


# --- the wire ---------------------------------------------------------------------------------------------------------


def test_the_protocol_tells_messages_their_size_and_stderr() -> None:
    exchange = WireExchange(
        server="python server.py",
        tool="ask",
        messages=(
            RawMessage(direction="sent", text='{"jsonrpc":"2.0","id":7}', size=24),
            RawMessage(direction="received", text="x" * KEPT_TEXT, size=5_000_000, at_s=0.25, head="HTTP 200"),
        ),
        dropped=3,
        stderr=("Traceback", "\x1b[31mValueError\x1b[0m"),
    )
    source = protocol_source(StepProtocol(exchange=exchange))
    shown = text_of(source.lines)
    assert '"jsonrpc": "2.0"' in shown
    assert "250 ms  5.0 MB  HTTP 200" in shown
    assert "the beginning of 5.0 MB" in shown
    assert "3 more messages" in shown
    assert "ValueError" in shown
    assert source.layout(20) > 10


@pytest.mark.parametrize(
    ("stderr", "words"), [(None, "its stderr is not seen here"), ((), "printed nothing on stderr")]
)
def test_a_server_without_words_says_so(stderr: tuple[str, ...] | None, words: str) -> None:
    exchange = WireExchange(server="s", tool="t", stderr=stderr)
    assert words in text_of(protocol_source(StepProtocol(exchange=exchange)).lines)


def test_the_agents_requests_stand_above_the_tools_messages() -> None:
    from sessions.store.records import RequestRecord

    record: Any = RequestRecord(
        kind="agent",
        model="m",
        request={"messages": []},
        response={"choices": []},
        usage={"total_tokens": 7},
        error="late",
    )
    shown = text_of(protocol_source(StepProtocol(requests=(record,), why="nothing went over a wire")).lines)
    assert shown.index('"messages"') < shown.index('"choices"') < shown.index("nothing went over a wire")
    assert "total_tokens" in shown
    assert "late" in shown


def test_a_table_that_stays_with_the_server_says_why_and_what_to_do() -> None:
    peek = json.dumps(
        {
            "handle": "data_1",
            "num_records": 44,
            "key_details": [{"name": "city", "dtype": "str", "first_3_values": ["Ulm", "Bonn", "[/b]"]}],
        }
    )
    call = ToolCall(name="select", arguments={})
    for text, handle, said in (
        (peek, "data_1", ["config:servers.yaml hands out their peek", "leaves no trace", "city", '"Ulm" | "Bonn"']),
        ("made data_1", "data_1", ["The rows behind data_1 stay with the server", "--env native"]),
        (peek, None, ["this step made no table that can be shown"]),
    ):
        step = Step(decision=CallTool(call=call), result=ToolResult(text=text, handle=handle), actor="recording")
        row = StepRow(number=1, actor="recording", tool="select", outcome="ok", call=call, step=step)
        scene = Scene(instance=toy.instance(), run="r", rows=(row,), environment="config:servers.yaml")
        shown = text_of(no_table(row, scene).lines)
        assert all(part in shown for part in said), shown
