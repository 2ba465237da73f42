"""The plain state below the screens: forms, raw lines, exports, tables, lists, verdicts in words."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
import screen_toy as toy
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.model import StageResult, Verdict
from sessions.trajectory import Answer, CallTool, GiveUp, Step, Trajectory
from toolenv.dataset.browsing import Database
from toolenv.errors import DataError
from toolenv.model import ToolCall, ToolResult, ToolSpec
from vakra_tui.state.database import RowsSource, schema_lines
from vakra_tui.state.export import export, reference_record
from vakra_tui.state.form import (
    Field,
    assemble,
    complete_line,
    fields_of,
    matching,
    parse_line,
    problem,
    raw_line,
    value_of,
    written,
)
from vakra_tui.state.lines import plain, text_of
from vakra_tui.state.listing import Entry, Listing, entries_of
from vakra_tui.state.panes.waterfall import short_verdict
from vakra_tui.state.response import document, of_value, read
from vakra_tui.state.rows import outcome_of, same_response
from vakra_tui.text import sanitize

SPEC = ToolSpec(
    name="filter_data",
    input_schema={
        "type": "object",
        "properties": {
            "data_label": {"type": "string", "description": "the table"},
            "key_name": {"type": "string"},
            "value": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}]},
            "condition": {"$ref": "#/$defs/Condition"},
            "distinct": {"type": "boolean", "default": False},
        },
        "required": ["data_label", "key_name", "value", "condition"],
        "additionalProperties": False,
        "$defs": {"Condition": {"type": "string", "enum": ["equal_to", "like"]}},
    },
)


def test_a_form_offers_what_the_schema_and_the_session_know() -> None:
    fields = {field.name: field for field in fields_of(SPEC, ["t_2", "t_1"], {"t_2": ("a", "b"), "t_1": ("b", "c")})}
    assert fields["data_label"].choices == ("t_2", "t_1")
    assert fields["key_name"].choices == ("a", "b", "c")
    assert fields["condition"].choices == ("equal_to", "like")
    assert fields["condition"].closed
    assert fields["distinct"].choices == ("true", "false")
    assert fields["distinct"].has_default
    assert [field.required for field in fields_of(SPEC)] == [True, True, True, True, False]


@pytest.mark.parametrize(
    ("types", "text", "value"),
    [
        (("string",), "7", "7"),
        (("string",), '"7"', "7"),
        (("string",), " a ", " a "),
        (("integer",), "7", 7),
        (("integer",), "x", "x"),
        (("number",), "7", 7),
        (("number",), "7.5", 7.5),
        (("string", "number", "null"), "null", None),
        (("string", "number", "null"), '"null"', "null"),
        (("string", "number", "null"), "7", 7),
        (("string", "number", "null"), "Bob", "Bob"),
        (("boolean",), "true", True),
        (("array",), "[1, 2]", [1, 2]),
        (("array",), "[1, 2", "[1, 2"),
        ((), '{"a": 1}', {"a": 1}),
    ],
)
def test_typed_texts_become_values_of_the_schemas_types(types: tuple[str, ...], text: str, value: object) -> None:
    assert value_of(Field(name="x", types=types), text) == (True, value)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.text())
@settings(max_examples=150, deadline=None)
def test_a_prefilled_text_reads_back_as_the_same_text(value: str) -> None:
    for types in (("string",), ("string", "number", "null"), ()):
        field = Field(name="x", types=types)
        shown = written(value, field)
        assert value_of(field, shown) == (True, value)
        assert sanitize(shown) == shown


@given(st.dictionaries(st.text(), VALUES, max_size=4))
@settings(max_examples=150, deadline=None)
def test_a_raw_line_reads_back_as_the_same_call(arguments: dict[str, object]) -> None:
    call = ToolCall(name="tool", arguments=arguments)
    shown = raw_line(call)
    assert parse_line(shown, ()) == call
    assert "\n" not in shown


@given(st.text(max_size=40))
@settings(max_examples=200, deadline=None)
def test_no_raw_line_breaks_parsing_or_completion(text: str) -> None:
    assert isinstance(parse_line(text, (SPEC,)), ToolCall | str)
    completed = complete_line(text, (SPEC,))
    assert completed is None or completed.startswith(text.partition(" ")[0][:0])


def test_raw_lines_complete_names_and_arguments() -> None:
    assert complete_line("fil", (SPEC,)) == "filter_data "
    assert complete_line("filter_data ", (SPEC,)) == (
        'filter_data {"data_label": , "key_name": , "value": , "condition": }'
    )
    assert complete_line('filter_data {"da', (SPEC,)) == 'filter_data {"data_label": '
    assert (
        complete_line('filter_data {"data_label": "x", "k', (SPEC,)) == 'filter_data {"data_label": "x", "key_name": '
    )
    assert complete_line("nothing ", (SPEC,)) is None
    assert "not JSON" in str(parse_line("filter_data {", (SPEC,)))
    assert "JSON object" in str(parse_line("filter_data [1]", (SPEC,)))


def test_a_call_is_checked_as_it_stands() -> None:
    fields = fields_of(SPEC)
    call = assemble(SPEC, fields, {"data_label": "t", "value": "7", "condition": "near"})
    assert call.arguments == {"data_label": "t", "value": 7, "condition": "near"}
    assert problem(SPEC, call) is not None
    whole = assemble(SPEC, fields, {"data_label": "t", "key_name": "a", "value": "7", "condition": "like"})
    assert problem(SPEC, whole) is None


def test_tools_are_found_by_words_in_name_or_description() -> None:
    tools = [
        ToolSpec(name="get_half_life", input_schema={}, description="of an isotope"),
        ToolSpec(name="get_name", input_schema={}, description="the half that is better"),
    ]
    assert [tool.name for tool in matching(tools, "half")] == ["get_half_life", "get_name"]
    assert [tool.name for tool in matching(tools, "get isotope")] == ["get_half_life"]
    assert matching(tools, "[/") == []


def test_the_name_that_says_what_was_typed_comes_first() -> None:
    names = [
        "get_person_name_and_country_by_element_name",
        "get_country_by_year_of_a_person_name",
        "get_country_by_person_name",
    ]
    tools = [ToolSpec(name=name, input_schema={}) for name in names]
    assert [tool.name for tool in matching(tools, "country person name")] == names[::-1][:1] + names[1::-1]
    assert matching(tools, "country by person")[0].name == "get_country_by_person_name"


def played() -> Trajectory:
    good = Step(
        actor="human",
        decision=CallTool(call=ToolCall(name="get_top_brand", arguments={})),
        result=ToolResult(text='{"brand": "Dixie"}'),
    )
    bad = Step(
        actor="human",
        decision=CallTool(call=ToolCall(name="get_city", arguments={})),
        result=ToolResult(text="no", failed=True, is_error=True),
    )
    return Trajectory(instance=toy.instance(), steps=(good, bad, Step(actor="human", decision=Answer(text="Dixie"))))


def test_exports_join_what_is_there_and_replace_the_same_instance(tmp_path: Path) -> None:
    path = export("prediction", str(tmp_path), played())
    records = json.loads(path.read_text())
    path.write_text(json.dumps([{"uuid": "another"}, *records]))
    again = export("prediction", str(tmp_path), played())
    assert again == path
    assert [record["uuid"] for record in json.loads(path.read_text())] == ["another", "u-1"]
    reference = reference_record(played())
    assert [call["name"] for call in reference["output"][-1]["sequence"]["tool_call"]] == ["get_top_brand"]
    path.write_text("{half")
    with pytest.raises(DataError, match="is not valid JSON"):
        export("prediction", str(tmp_path), played())
    assert path.read_text() == "{half"
    unfinished = Trajectory(instance=toy.instance(), steps=played().steps[:1])
    with pytest.raises(DataError, match="no final answer"):
        export("prediction", str(tmp_path), unfinished)
    with pytest.raises(DataError, match="file name"):
        export("prediction", str(tmp_path), Trajectory(instance=toy.instance(domain="../x"), steps=played().steps))


def test_a_database_is_read_page_by_page_and_never_written(tmp_path: Path) -> None:
    path = tmp_path / "d.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE "odd "" [name]" (id INTEGER PRIMARY KEY, "co l" TEXT NOT NULL, b BLOB)')
        connection.executemany(
            'INSERT INTO "odd "" [name]" VALUES (?, ?, ?)', [(n, f"x{n}", b"\x00\x01") for n in range(450)]
        )
        connection.execute('CREATE TABLE other (ref INTEGER REFERENCES "odd "" [name]"(id))')
    connection.close()
    database = Database(path)
    odd, other = sorted(database.tables(), key=lambda table: table.name)
    assert odd.name == 'odd " [name]'
    assert odd.rows == 450
    assert "not null" in text_of(schema_lines(odd))
    assert 'odd " [name].id' in text_of(schema_lines(other))
    source = RowsSource([column.name for column in odd.columns], 450, lambda start: None)
    assert source.layout(80) == 451
    assert "\u2026" in plain(source.line(1))
    source.put(400, database.page(odd.name, 400))
    assert "x449" in plain(source.line(450))
    assert "<2 bytes>" in plain(source.line(450))
    with pytest.raises(sqlite3.OperationalError):
        database._connection.execute("DELETE FROM other")
    database.close()
    with pytest.raises(DataError, match="there is no database"):
        Database(tmp_path / "none.sqlite")
    (tmp_path / "bad.sqlite").write_bytes(b"not a database at all" * 100)
    with pytest.raises(DataError, match="cannot be read"):
        Database(tmp_path / "bad.sqlite").tables()


def test_lists_pair_predictions_with_instances_and_count_honestly() -> None:
    refs = [toy.Ref(capability=2, domain="d", uuid=f"u{n}") for n in range(3)]
    predictions = {"r": [refs[0], refs[2], toy.Ref(capability=2, domain="d", uuid="x")]}
    entries = entries_of(refs, predictions)
    assert [entry.uuid for entry in entries] == ["u0", "u1", "u2", "x"]
    assert entries[3].extra
    listing = Listing(entries, ("r",))
    listing.layout(100)
    assert "no prediction" in plain(listing.line(1))
    entries[0].query = "What is [red]?"
    entries[0].verdicts["r"] = verdict(passed=False)
    assert "argument values" in plain(listing.line(0)) or "values" in plain(listing.line(0))
    listing.find("[red]")
    assert listing.shown == entries[:1]
    assert "1 of 3 instances and 1 extra" in listing.counts()
    assert "r: 0 of 1 scored passed" in listing.counts()
    listing.find("values")
    assert listing.shown == entries[:1]
    assert isinstance(entries[0], Entry)


def verdict(*, passed: bool | None) -> Verdict:
    stage = StageResult(stage="tool_sequence", outcome="fail", decided_by="offline", reason="why")
    return Verdict(
        uuid="u",
        capability=2,
        domain="d",
        status="scored",
        passed=passed,
        failed_stage=None if passed else "tool_sequence",
        sieve="none" if passed else "argument_values",
        stages=(stage,),
    )


def test_verdicts_shorten_with_their_column() -> None:
    failed = verdict(passed=False)
    assert plain(short_verdict(failed)) == "\u2717 tool sequence \u00b7 argument values"
    assert plain(short_verdict(failed, 24)) == "\u2717 sequence \u00b7 values"
    assert plain(short_verdict(failed, 12)) == "\u2717 values"
    assert plain(short_verdict(verdict(passed=True), 12)) == "\u2713 passed"


@pytest.mark.parametrize(
    ("told", "executed", "same"),
    [
        ('{"a": 1}', '{\n  "a": 1\n}', True),
        ({"a": [1, 2]}, '{"a": [1, 2]}', True),
        ('{"a": 1}', '{"a": 2}', False),
        ([{"doc_id": "x", "text": "p"}], '{"results": [{"id": "x", "text": "p", "score": 1}]}', True),
        ([{"doc_id": "x", "text": "p"}], '{"results": [{"id": "x", "text": "q"}]}', False),
        (None, "x", False),
        ("plain ", "plain", True),
    ],
)
def test_responses_of_files_are_compared_as_json(told: object, executed: str, same: bool) -> None:
    assert same_response(told, executed) is same


def test_responses_are_read_as_what_they_are() -> None:
    assert read('{"handle": "h", "num_records": 2, "key_details": [{"name": "a"}]}').kind == "table"
    assert read('[{"text": "a"}]').kind == "passages"
    assert read('{"a": NaN}').kind == "json"
    assert read("[1, 2").kind == "text"
    assert read("506.0").kind == "text"
    assert of_value([{"text": "a"}]).kind == "passages"
    assert document(read("")).layout(10) == 1
    deep = "[" * 100_000
    assert read(deep).kind == "text"


def test_outcomes_keep_no_answer_apart_from_failure() -> None:
    def after(result: ToolResult) -> str:
        return outcome_of(Step(actor="human", decision=CallTool(call=ToolCall(name="t", arguments={})), result=result))

    assert after(ToolResult(text="x")) == "ok"
    assert after(ToolResult(text="x", failed=True, error_kind="tool_failed")) == "failed"
    assert after(ToolResult(text="x", failed=True, error_kind="refused_arguments")) == "refused"
    assert after(ToolResult(text="x", failed=True, error_kind="not_recorded")) == "no answer"
    assert outcome_of(Step(actor="human", decision=GiveUp())) == "gave up"
