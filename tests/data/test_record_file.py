"""Files of records as they come: encodings, torn ends, wrong shapes (cases EVL-12, EVL-14, EVL-16)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolenv.dataset.indexing import index_by_uuid
from toolenv.dataset.record_file import RecordFile, records_of
from toolenv.errors import DataError

RECORDS = [
    {"uuid": f"u{number}", "answer": answer} for number, answer in enumerate(["1\r\n", "caf\u00e9 \U0001f600", ""])
]


def opened(path: Path, content: bytes | str, name: str = "hockey.json") -> RecordFile:
    file = path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return RecordFile(file, name)


def values(file: RecordFile) -> list[Any]:
    return [value for _, value in records_of(file)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
@pytest.mark.parametrize("indent", [None, 0, 1, 4])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_every_encoding_loads_alike(tmp_path: Path, encoding: str, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(RECORDS, indent=indent, ensure_ascii=ascii_only)
    file = opened(tmp_path, text.encode(encoding))
    assert file.problems == []
    assert values(file) == RECORDS


@pytest.mark.parametrize("name", ["hockey.json", "hockey.jsonl"])
def test_line_ends_do_not_matter_and_answers_keep_theirs(tmp_path: Path, name: str) -> None:
    lines = [json.dumps(record) for record in RECORDS]
    text = "[\n" + ",\n".join(lines) + "\n]\n" if name.endswith(".json") else "\n".join(lines) + "\n\n"
    file = opened(tmp_path, text.replace("\n", "\r\n"), name)
    assert file.problems == []
    assert values(file) == RECORDS


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "hockey.json is empty."),
        (" \n ", "hockey.json holds nothing but white space."),
        ('{"uuid": "a", "output": [{"turn_id": 0}]}', "hockey.json is one JSON object, not a list of records."),
        (
            '{"data": [{"uuid": "a"}]}',
            "hockey.json is an object that holds the list under 'data'; the list itself must be at the top.",
        ),
        ('{"data": [', "hockey.json is neither a complete JSON object nor a list of records."),
        ('"text"', "hockey.json is not a JSON list of records (it begins with '\"')."),
        ("Traceback (most", "hockey.json is not a JSON list of records (it begins with 'T')."),
        (b"\x00\x05\x16\x07", "hockey.json"),
        (b"\xff\xfe[\x00{\x00\x00\xd8", "hockey.json begins as UTF-16, but is not UTF-16 at byte"),
    ],
)
def test_each_wrong_shape_has_a_sentence_of_its_own(tmp_path: Path, content: bytes | str, sentence: str) -> None:
    file = opened(tmp_path, content)
    assert values(file) == []
    assert len(file.problems) == 1
    assert file.problems[0].startswith(sentence)


@pytest.mark.parametrize(
    ("tail", "sentence"),
    [
        ("\nDone in 3.2s", "hockey.json has text after its list at byte"),
        ("[]", "hockey.json has text after its list at byte"),
    ],
)
def test_text_after_the_list_is_told_with_its_place(tmp_path: Path, tail: str, sentence: str) -> None:
    text = json.dumps(RECORDS)
    file = opened(tmp_path, text + tail)
    assert values(file) == RECORDS
    assert file.problems[0].startswith(sentence)
    place = int(file.problems[0].rstrip(".").rsplit(" ", 1)[1])
    assert (text + tail).encode()[place:] == tail.strip().encode()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.data())
def test_a_list_cut_anywhere_gives_its_complete_records(tmp_path: Path, data: st.DataObject) -> None:
    whole = json.dumps(RECORDS, ensure_ascii=False).encode()
    cut = data.draw(st.integers(1, len(whole) - 1))
    file = opened(tmp_path, whole[:cut])
    found = values(file)
    assert found == RECORDS[: len(found)]
    assert len(file.problems) == 1
    assert "cut off" in file.problems[0] or "without the end of its list" in file.problems[0]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.data())
def test_lines_cut_anywhere_give_their_complete_records(tmp_path: Path, data: st.DataObject) -> None:
    whole = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in RECORDS).encode()
    cut = data.draw(st.integers(1, len(whole) - 1))
    file = opened(tmp_path, whole[:cut], "hockey.jsonl")
    found = values(file)
    assert found == RECORDS[: len(found)]
    complete = whole[:cut].count(b"\n")
    assert len(found) >= complete
    if len(found) == complete and whole[cut - 1 : cut] != b"\n":
        assert f"line {complete + 1} " in file.problems[0]


def test_a_torn_line_in_the_middle_loses_only_itself(tmp_path: Path) -> None:
    lines = ['{"uuid": "a"}', '{"uuid": "b", "ans', "", '{"uuid": "c"}', '{"uuid": "caf\u00e9']
    content = "\n".join(lines).encode()[:-1]
    file = opened(tmp_path, content, "hockey.jsonl")
    assert [value["uuid"] for value in values(file)] == ["a", "c"]
    assert ["line 2" in file.problems[0], "line 5" in file.problems[1]] == [True, True]
    assert "UTF-8" in file.problems[1]


def test_a_damaged_record_loses_only_itself(tmp_path: Path) -> None:
    file = opened(tmp_path, b'[{"uuid": "a"}, {"uuid": "b" "x": [1, {"y": "]"}]}, {"uuid": "c\xff"}, {"uuid": "d"}]')
    assert [value["uuid"] for value in values(file)] == ["a", "d"]
    assert "record 2 (byte 16) is not valid JSON" in file.problems[0]
    assert "record 3" in file.problems[1]
    assert "UTF-8" in file.problems[1]


@pytest.mark.parametrize(
    ("text", "uuids"),
    [
        ('[{"uuid": "a"} {"uuid": "b"}]', ["a", "b"]),
        ('[{"uuid": "a"},, {"uuid": "b"},]', ["a", "b"]),
        ('[{"uuid": "a"} oops {"uuid": "b"}]', ["a"]),
        ('[{"uuid": "a"}, nonsense, {"uuid": "b"}]', ["a", "b"]),
    ],
)
def test_odd_separators(tmp_path: Path, text: str, uuids: list[str]) -> None:
    file = opened(tmp_path, text)
    assert [value["uuid"] for value in values(file)] == uuids
    assert file.problems


def test_records_without_a_usable_uuid_are_told_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "hockey.json"
    path.write_text(json.dumps([{"uuid": None}, {"uuid": 5}, {}, {"uuid": ""}, 7, {"uuid": "OK"}, {"uuid": "ok"}]))
    file, found, counts = index_by_uuid(path, "hockey.json")
    assert list(found) == ["OK", "ok"], "uuids are compared as they are, letter case included"
    assert [problem.split(", ")[1].split(" ")[1] for problem in file.problems] == ["1", "2", "3", "4", "5"]
    assert "which is not text" in file.problems[1]
    assert (counts.records, counts.without_uuid, counts.duplicates) == (7, 5, 0)


def test_of_duplicates_the_last_counts_and_all_are_named(tmp_path: Path) -> None:
    path = tmp_path / "hockey.json"
    path.write_text(
        json.dumps([{"uuid": "a", "n": 1}, {"uuid": "b", "n": 2}, {"uuid": "a", "n": 3}, {"uuid": "a", "n": 4}])
    )
    file, found, counts = index_by_uuid(path, "hockey.json")
    assert {uuid: file.read(span)["n"] for uuid, span in found.items()} == {"b": 2, "a": 4}
    assert file.notes == ["hockey.json has the uuid a in records 1, 3, 4; the last one counts."]
    assert file.problems == []
    assert counts.duplicates == 2


def test_records_larger_than_the_window(tmp_path: Path) -> None:
    large = [{"uuid": f"u{number}", "text": ('\u00e9"]}\\' * 700_000)[: 10 ** (number + 3)]} for number in range(4)]
    for ascii_only in (True, False):
        file = opened(tmp_path, json.dumps([*large, *RECORDS], ensure_ascii=ascii_only))
        assert file.problems == []
        assert values(file) == [*large, *RECORDS]


def test_a_record_nested_too_deeply_is_told(tmp_path: Path) -> None:
    file = opened(tmp_path, '[{"uuid": "a"}, {"deep": ' + "[" * 200_000 + "]" * 200_000 + '}, {"uuid": "b"}]')
    assert [value["uuid"] for value in values(file)] == ["a", "b"]
    assert "nested too deeply" in file.problems[0]


def test_half_a_character_becomes_the_replacement_character(tmp_path: Path) -> None:
    file = opened(tmp_path, r'[{"uuid": "a", "x\ud800": ["\udc00 b", "\ud83d\ude00"]}]')
    assert values(file) == [{"uuid": "a", "x\ufffd": ["\ufffd b", "\U0001f600"]}]
    json.dumps(values(file)).encode()


def test_a_file_that_changes_is_noticed(tmp_path: Path) -> None:
    file = opened(tmp_path, json.dumps(RECORDS))
    (tmp_path / "hockey.json").write_text("[]")
    with pytest.raises(DataError, match="has changed since it was opened"):
        file.read(file.spans[0])
    (tmp_path / "hockey.json").unlink()
    with pytest.raises(DataError, match="cannot be read"):
        file.read(file.spans[0])


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "cannot be read" in RecordFile(tmp_path / "none.json", "none.json").problems[0]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(
    st.lists(
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False)
            | st.text(st.characters(exclude_categories=["Cs"])),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=3), inner, max_size=3)
            ),
            max_leaves=8,
        ),
        max_size=6,
    ),
    st.sampled_from([None, 1, "\t"]),
    st.booleans(),
)
def test_any_list_is_read_as_json_reads_it(tmp_path: Path, records: list[Any], indent: Any, ascii_only: bool) -> None:
    file = opened(tmp_path, json.dumps(records, indent=indent, ensure_ascii=ascii_only))
    assert file.problems == []
    assert values(file) == records
