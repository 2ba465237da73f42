"""The door that JSON of others comes through: depth, numbers and durations that would break what walks them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from eval.judges.recorded import RecordedJudge
from eval.report import read as read_report
from sessions.submission_check import check_run
from sessions.submissions import Run
from tests.data.conftest import DASHBOARDS, call, prediction
from toolenv.dashboards.database import open_read_only
from toolenv.dashboards.definition import load_endpoints
from toolenv.dataset.record_file import RecordFile, records_of
from toolenv.dataset.records import calls_from
from toolenv.dataset.universes import UniverseFile
from toolenv.decoding import MAX_DEPTH, decoded, is_too_deep, seconds_of, what_is_wrong
from toolenv.errors import DataError, EnvironmentFailure
from toolenv.model import ToolSpec
from toolenv.recorded.recording import Recording
from toolenv.schema import coerce
from toolenv.values import decode

Write = Callable[[Mapping[str, Any]], Path]
DEPTHS = [MAX_DEPTH + 1, 300, 700, 940, 960, 980, 990, 1000, 100_000]


def lists(depth: int) -> str:
    return "[" * depth + "]" * depth


def objects(depth: int) -> str:
    return '{"a":' * (depth - 1) + "{}" + "}" * (depth - 1)


@pytest.mark.parametrize("nested", [lists, objects])
def test_what_is_at_the_limit_is_read_and_what_is_beyond_is_not(nested: Callable[[int], str]) -> None:
    assert not is_too_deep(decoded(nested(MAX_DEPTH)))
    for depth in DEPTHS:
        with pytest.raises(ValueError, match="nested too deeply"):
            decoded(nested(depth))


@pytest.mark.parametrize("text", ["", "{", "nul", b"\xff", "9" * 5000, lists(2000), '{"a":1}x'])
def test_nothing_but_a_value_error_and_an_end_of_a_sentence(text: str | bytes) -> None:
    with pytest.raises(ValueError) as caught:
        decoded(text)
    assert what_is_wrong(caught.value).split()[0] in ("is", "holds")


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_a_deep_record_is_named_and_the_others_load(tmp_path: Path, depth: int, ending: str) -> None:
    records = ['{"uuid":"a"}', f'{{"uuid":"b","x":{lists(depth)}}}', '{"uuid":"c"}']
    path = tmp_path / f"hockey.{ending}"
    path.write_text("\n".join(records) if ending == "jsonl" else f"[{','.join(records)}]")
    file = RecordFile(path, path.name)
    assert [value["uuid"] for _, value in records_of(file)] == ["a", "c"]
    assert len(file.problems) == 1
    assert "nested too deeply" in file.problems[0] and " 2 " in file.problems[0]


def test_a_number_of_too_many_digits_is_called_that(tmp_path: Path) -> None:
    path = tmp_path / "hockey.json"
    path.write_text('[{"uuid":"a","n":1' + "0" * 5000 + "}]")
    assert "more digits than can be read" in RecordFile(path, path.name).problems[0]


@pytest.mark.parametrize("depth", DEPTHS)
def test_arguments_in_text_that_are_too_deep_stay_text(depth: int) -> None:
    written = '{"a":' + lists(depth) + "}"
    calls, _, odd = calls_from({"tool_call": [{"name": "t", "arguments": written}]})
    assert calls[0].raw_arguments == written
    assert odd
    assert decode(lists(depth)) == lists(depth)
    spec = ToolSpec(name="t", input_schema={"type": "object", "properties": {"a": {"type": "array"}}})
    assert coerce(spec, {"a": lists(depth)})[0] == {"a": lists(depth)}


def test_a_long_whole_number_in_text_is_coerced() -> None:
    spec = ToolSpec(name="t", input_schema={"type": "object", "properties": {"a": {"type": "number"}}})
    assert coerce(spec, {"a": "9" * 401})[0] == {"a": int("9" * 401)}


@pytest.mark.parametrize(
    "line",
    [
        "[1]",
        '"tools"',
        "5",
        lists(960),
        '{"name":"t","arguments":{"a":' + lists(700) + '},"response_text":"x"}',
        '{"response_text":"x","name":"t","arguments":{"a":' + lists(960) + "}}",
    ],
)
def test_a_line_of_a_recording_that_is_no_call(tmp_path: Path, line: str) -> None:
    path = tmp_path / "hockey.jsonl"
    path.write_text('{"tools":[]}\n' + line + "\n")
    assert Recording(path, path.name).problems == ["hockey.jsonl, line 2 is no recorded call and was left out."]
    path.write_text(line + "\n")
    with pytest.raises(EnvironmentFailure, match="does not begin with a line"):
        Recording(path, path.name)


@pytest.mark.parametrize("duration", ["1" + "0" * 400, "NaN", "Infinity", "-1", "true", '"3"', "null", "[]"])
def test_a_duration_that_is_none(write: Write, duration: str) -> None:
    record = {**prediction("a", call("x")), "duration_s": "@"}
    folder = write({f"run/{DASHBOARDS}/hockey.json": json.dumps([record]).replace('"@"', duration)}) / "run"
    run = Run.open(folder)
    assert run.load(run.refs()[0]).duration_s == 0.0
    assert any("duration_s" in problem.field for problem in check_run(folder).problems)
    assert seconds_of(2) == 2.0


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("u:\n  domain: 2020-99-99\n", "month must be in"),
        ("u:\n  domain: " + "9" * 5000 + "\n", "4300 digits"),
        ("u:\n  init_args: " + "[" * 20000 + "]" * 20000 + "\n", "nesting"),
        ("u:\n  init_args: !!python/object/apply:os.getcwd []\n", "could not determine a constructor"),
    ],
)
@pytest.mark.parametrize("start", ["", "%YAML 1.1\n---\n"])
def test_an_entry_that_the_yaml_loader_fails_on(tmp_path: Path, start: str, entry: str, why: str) -> None:
    path = tmp_path / "mapping.yaml"
    path.write_text(start + entry)
    file = UniverseFile(path, "mapping.yaml")
    if start:
        said = file.problems[0]
    else:
        with pytest.raises(DataError) as caught:
            file.get("u")
        said = str(caught.value)
    assert why in said and str(tmp_path) not in said


def test_a_schema_whose_damage_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "broken.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE broken_by_hand (a)")
    connection.close()
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE broken_by_hand", b"CREATE TABLF \xff\x97oken_by_hand"))
    with pytest.raises(EnvironmentFailure, match="cannot be opened"):
        open_read_only(path)


@pytest.mark.parametrize("reading", [load_endpoints, RecordedJudge, read_report])
@pytest.mark.parametrize("text", ['{"a":' * 5000, '{"a":' + lists(100_000) + "}"])
def test_other_files_that_are_nested_too_deeply(tmp_path: Path, reading: Callable[[Path], object], text: str) -> None:
    path = tmp_path / "deep.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"deep\.json"):
        reading(path)
