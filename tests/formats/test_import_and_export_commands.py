"""``vakra-tui import`` and ``export`` as a person and a script use them."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from sessions.branches import Branch
from sessions.store import Flag, Store
from sessions.trajectory import Answer, Step
from toolenv.errors import DataError
from vakra_tui.cli import main

SAMPLES = Path(__file__).parent / "samples"


class Desk:
    """A store of its own, and what a command wrote."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.url = f"sqlite:///{folder / 'sessions.sqlite'}"
        self._capture = capture
        self.error = ""

    def run(self, *arguments: str | Path, code: int = 0) -> str:
        self._capture.readouterr()
        found = main([*map(str, arguments), "--db", self.url])
        captured = self._capture.readouterr()
        self.error = captured.err
        assert found == code, captured.err
        return captured.out


@pytest.fixture
def desk(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, capfd)


def test_what_is_exported_is_imported_without_loss(desk: Desk) -> None:
    key = desk.run("import", SAMPLES / "inspect_harbour.eval").split()[0]
    first = desk.run("export", key, "--to", "jsonl")
    assert "b0b1-harbour" in desk.run("sessions")
    (desk.folder / "again.jsonl").write_text(first)
    again = desk.run("import", desk.folder / "again.jsonl").split()[0]
    second = desk.run("export", again, "--to", "jsonl")
    assert [json.loads(line) for line in second.splitlines()] == [json.loads(line) for line in first.splitlines()]
    assert json.loads(first.splitlines()[0])["extra"]["target"] == "7"


@pytest.mark.parametrize("form", ["submission", "jsonl", "markdown", "openai", "atif"])
def test_every_form_can_be_written(desk: Desk, form: str) -> None:
    key = desk.run("import", SAMPLES / "otlp_harbour.json").split()[0]
    text = desk.run("export", key, "--to", form)
    assert "Husum" in text
    assert desk.run("export", key, "--to", form, "--out", desk.folder / "out") == ""
    assert (desk.folder / "out").read_text() == text


def test_problems_are_said_and_nothing_else_is_lost(desk: Desk) -> None:
    records: list[Any] = [{"uuid": "u", "messages": [{"role": "user", "content": "q"}]}, 7]
    path = desk.folder / "mixed.json"
    path.write_text(json.dumps(records))
    assert " u " in desk.run("import", path, code=4)
    assert "record 2" in desk.error
    path.write_text("nothing")
    assert desk.run("import", path, code=2) == ""
    assert "no JSON" in desk.error


def test_a_file_that_breaks_off_keeps_what_was_read_before(desk: Desk) -> None:
    good = {"id": 1, "messages": [{"role": "user", "content": "q"}]}
    log = desk.folder / "log.eval"
    with zipfile.ZipFile(log, "w") as archive:
        archive.writestr("samples/1.json", json.dumps(good))
        archive.writestr("samples/2.json", "{")
    assert len(desk.run("import", log, code=4).splitlines()) == 1
    assert "cannot be read as a log of Inspect" in desk.error
    assert len(desk.run("sessions").splitlines()) >= 1


def test_what_might_never_end_is_not_imported(desk: Desk) -> None:
    os.mkfifo(desk.folder / "unfed")
    for path, kind in ((desk.folder / "unfed", "a pipe"), (Path("/dev/zero"), "a device")):
        assert desk.run("import", path, code=2) == ""
        assert f"cannot read trajectories from {path}: it is {kind}, not a file" in desk.error


def test_a_record_of_the_dataset_that_cannot_be_read_costs_the_tie_alone(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from toolenv.dataset import Dataset, InstanceRef
    from vakra_tui.sample import sample_dataset

    def changed(dataset: Dataset, ref: InstanceRef) -> None:
        raise DataError("the file has changed since it was opened")

    monkeypatch.setattr(Dataset, "load", changed)
    uuid = Dataset.open(sample_dataset()).refs()[0].uuid
    path = desk.folder / "two.json"
    path.write_text(
        json.dumps([{"uuid": name, "messages": [{"role": "user", "content": "q"}]} for name in (uuid, "u")])
    )
    listed = desk.run("import", path, "--data", sample_dataset(), code=4).splitlines()
    assert [line.endswith("(no instance of a dataset)") for line in listed] == [True, True]
    assert "has changed" in desk.error


def test_a_note_that_begins_like_those_of_an_import_is_a_note(desk: Desk) -> None:
    key = desk.run("import", SAMPLES / "otlp_harbour.json").split()[0]
    store = Store.open(desk.url)
    for words in ("import: ask Ann", "import: [1]", 'import: {"a": {"$float": 1}}'):
        store.put_note(store.load(key).summary.id, words)
    store.close()
    assert "Husum" in desk.run("export", key, "--to", "jsonl")


def test_trajectories_become_sessions_of_a_dataset_s_instances(desk: Desk) -> None:
    from vakra_tui.sample import sample_dataset, sample_runs

    exported = desk.run("export", "flawed", "--to", "jsonl", "--capability", "2", "--limit", "1")
    (desk.folder / "one.jsonl").write_text(exported)
    key = desk.run("import", desk.folder / "one.jsonl", "--data", sample_dataset()).split()[0]
    store = Store.open(desk.url)
    try:
        assert store.load(key).tree.instance.ground_truth is not None
    finally:
        store.close()
    whole = sample_runs()["oracle"]
    assert desk.run("export", whole, "--to", "openai", "--only", "failed", "--limit", "3", code=2) == ""


def test_pairs_are_made_of_repairs(desk: Desk) -> None:
    lines = desk.run("export", "flawed", "--to", "preferences", "--capability", "1", "--limit", "5").splitlines()
    assert lines
    for line in lines:
        pair = json.loads(line)
        assert pair["chosen"] != pair["rejected"] and pair["reason"]
        assert pair["chosen"][0] != pair["rejected"][0]


def test_the_repair_of_a_session_makes_a_pair(desk: Desk) -> None:
    key = desk.run("import", SAMPLES / "otlp_harbour.json").split()[0]
    desk.run("export", key, "--to", "preferences", code=2)
    assert "no pair" in desk.error
    store = Store.open(desk.url)
    try:
        stored = store.load(key)
        store.branch(stored.summary.id, Branch(number=1, name="repair", parent=0, fork_at=2))
        answer = Step(actor="ground_truth", decision=Answer(text="7"))
        store.append(stored.summary.id, 1, 2, [answer])
    finally:
        store.close()
    pair = json.loads(desk.run("export", key, "--to", "preferences"))
    assert pair["chosen"] == [{"role": "assistant", "content": "7"}]
    assert pair["rejected"] == [{"role": "assistant", "content": "It is 7 m deep."}]


def test_what_a_submission_has_besides_goes_back_into_it(desk: Desk) -> None:
    turn = {"turn_id": 0, "query": "q", "answer": "a", "sequence": {"tool_call": []}, "mood": "calm"}
    path = desk.folder / "d.json"
    path.write_text(json.dumps([{"uuid": "u", "domain": "d", "output": [turn], "kept": {"as": ["it", "is"]}}]))
    key = desk.run("import", path).split()[0]
    (record,) = json.loads(desk.run("export", key, "--to", "submission"))
    assert record["kept"] == {"as": ["it", "is"]}
    assert record["output"][0]["mood"] == "calm" and record["output"][0]["answer"] == "a"


def test_half_a_character_beside_a_record_is_kept(desk: Desk) -> None:
    path = desk.folder / "half.json"
    path.write_text(
        json.dumps([{"uuid": "u", "messages": [{"role": "user", "content": "q"}], "mine": "\ud800", "\udc00": 1}])
    )
    key = desk.run("import", path).split()[0]
    head = json.loads(desk.run("export", key, "--to", "jsonl").splitlines()[0])
    assert head["extra"] == {"mine": "\ud800", "\udc00": 1}


def test_exports_are_strict_json(desk: Desk) -> None:
    message = {
        "role": "assistant",
        "tool_calls": [{"id": "1", "function": {"name": "t", "arguments": {"x": float("nan")}}}],
    }
    path = desk.folder / "nan.json"
    path.write_text(json.dumps([{"role": "user", "content": "q"}, message, {"role": "assistant", "content": "a"}]))
    key = desk.run("import", path).split()[0]
    for form in ("submission", "openai", "atif", "jsonl"):
        text = desk.run("export", key, "--to", form)
        for line in text.splitlines() if form == "jsonl" else [text]:
            json.loads(line, parse_constant=lambda constant: pytest.fail(constant))


def test_flags_come_with_their_notes(desk: Desk) -> None:
    key = desk.run("import", SAMPLES / "otlp_harbour.json").split()[0]
    store = Store.open(desk.url)
    try:
        store.put_note(store.load(key).summary.id, "the tide is not asked for")
        store.put_flag(Flag(dataset="d", uuid="b0b1-harbour", kind="ambiguous", text="which tide?"))
    finally:
        store.close()
    (line,) = desk.run("export", "flags", "--to", "jsonl").splitlines()
    flag = json.loads(line)
    assert (flag["kind"], flag["text"], flag["notes"]) == ("ambiguous", "which tide?", ["the tide is not asked for"])
    desk.run("export", "flags", "--to", "atif", code=2)
    desk.run("export", "no-such-key", "--to", "jsonl", code=2)


def test_a_batch_with_repair_reports_the_broken_steps(desk: Desk) -> None:
    out = desk.folder / "report.json"
    arguments: list[str | Path] = ["--batch", "--run", "flawed", "--capability", "3", "--repair", "--out", out]
    text = desk.run(*arguments, code=0)
    report = json.loads(out.read_text())
    failing = [line for line in report["instances"] if line["passed"] is False]
    assert failing and all(line["repair"]["sentence"] for line in failing)
    assert report["repair"]["searched"] == len(failing)
    assert "broken at step" in text
    desk.run(*arguments, "--resume")
    assert json.loads(out.read_text()) == report
    desk.run("--batch", "--run", "flawed", "--repair", "--profile", "vakra", code=2)
    assert "--profile paper" in desk.error


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"schema_version": "ATIF-v1.7", "session_id": "s", "agent": {"name": "a"}, "steps": []}, "'atif'"),
        ({"prompt": [], "chosen": [], "rejected": [], "uuid": "u", "domain": "d", "reason": ""}, "'preferences'"),
        ({"anything": 1}, "no known form"),
        ({}, "no known form"),
    ],
)
def test_a_record_that_is_only_written_or_unknown_leaves_no_session(
    desk: Desk, record: dict[str, Any], said: str
) -> None:
    path = desk.folder / "records.jsonl"
    path.write_text(json.dumps(record) + "\n" + json.dumps(record) + "\n")
    assert desk.run("import", path, code=2) == ""
    assert "record 2" in desk.error and said in desk.error and "submission, vakra" in desk.error
    assert desk.run("sessions", "--json").strip() in ("", "[]")


@pytest.mark.parametrize("form", ["atif", "preferences"])
def test_exports_of_forms_that_are_only_written_are_told_by_their_content(desk: Desk, form: str) -> None:
    out = desk.folder / "out"
    desk.run("export", "flawed", "--to", form, "--out", out, "--capability", "4")
    desk.run("import", out, code=2)
    assert f"'{form}', which is written only" in desk.error


def test_nothing_flagged_is_said(desk: Desk) -> None:
    assert desk.run("export", "flags", "--to", "jsonl") == ""
    assert "nothing is flagged" in desk.error
