"""What is told of a call: its passages, quirks, schema, place in the trajectory, and its wire."""

from __future__ import annotations

import json
from typing import Any

import pytest
import screen_toy as toy

from sessions.trajectory import CallTool, Step
from toolenv.exchange import KEPT_TEXT, RawMessage, WireExchange
from toolenv.model import Json, ToolCall, ToolResult, ToolSpec
from vakra_tui.state.form import fields_of, parse_line, value_of
from vakra_tui.state.lines import line, plain, text_of
from vakra_tui.state.panes.call import CallLines, argument_blocks, jumpable
from vakra_tui.state.panes.no_table import no_table
from vakra_tui.state.panes.protocol import StepProtocol, protocol_source
from vakra_tui.state.panes.steps import step_line
from vakra_tui.state.quirks import quirks
from vakra_tui.state.response import document, passage_lines, passages, read, scored
from vakra_tui.state.scene import ArgumentRow, Origin, Scene, StepRow
from vakra_tui.wrap import width_of

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
