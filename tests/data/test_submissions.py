"""Runs, what makes a record unfit, the submission check and the writer (EVL-07, EVL-08, EVL-14, EVL-16)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions.submission_check import check_run
from sessions.submissions import PredictionRef, Run, unfit, write_submission, write_text_atomically
from tests.data.conftest import BI, DASHBOARDS, call, prediction, question, truth
from toolenv.dataset import Dataset
from toolenv.dataset.records import instance_from
from toolenv.errors import DataError
from toolenv.model import Prediction, ToolCall

Write = Callable[[Mapping[str, Any]], Path]
SIDE = f"run/{DASHBOARDS}"


def dataset_and_run(write: Write, files: Mapping[str, Any]) -> tuple[Dataset, Run]:
    data = {
        f"data/test/{DASHBOARDS}/input/hockey.json": [question("a"), question("b"), question("c")],
        f"data/test/{BI}/input/hockey.json": [question("u")],
    }
    folder = write({**data, **files})
    dataset = Dataset.open(folder / "data")
    return dataset, Run.open(folder / "run", dataset)


def test_a_run_by_capability_folders(write: Write) -> None:
    dataset, run = dataset_and_run(
        write, {f"{SIDE}/hockey.json": [prediction("b", call("x", n=1), answer="B"), prediction("zz"), prediction("a")]}
    )
    assert run.name == "run"
    assert [(ref.uuid, ref.capability, ref.position) for ref in run.refs()] == [("b", 2, 0), ("zz", 2, 1), ("a", 2, 2)]
    found = {ref.uuid: run.get(ref) for ref in dataset.refs(2)}
    assert found["c"] is None
    assert run.load(found["b"]).answer == "B"  # type: ignore[arg-type]
    assert run.load(found["b"]).calls == (ToolCall(name="x", arguments={"n": 1}),)  # type: ignore[arg-type]
    assert run.raw(found["b"])["uuid"] == "b"  # type: ignore[arg-type]
    assert {ref.uuid for ref in run.refs()} - {ref.uuid for ref in dataset.refs()} == {"zz"}
    assert (run.problems, run.notes, run.duplicates) == ([], [], 0)


def test_a_flat_run_finds_the_capability_by_uuid(write: Write) -> None:
    _, run = dataset_and_run(write, {"run/hockey.json": [prediction("a"), prediction("u"), prediction("zz")]})
    assert [(ref.uuid, ref.capability) for ref in run.refs()] == [("a", 2), ("u", 1), ("zz", None)]
    assert [run.load(ref).capability for ref in run.refs()] == [2, 1, None]
    alone = Run.open(run.path)
    assert [ref.capability for ref in alone.refs()] == [None, None, None]


def test_of_duplicates_the_last_counts_and_the_rest_is_known(write: Write) -> None:
    records = [
        prediction("a", answer="first"),
        prediction("b"),
        prediction("a", answer="last"),
        {**prediction("x"), "uuid": None},
        {**prediction("x"), "uuid": 5},
        prediction("A"),
    ]
    dataset, run = dataset_and_run(write, {f"{SIDE}/hockey.json": records})
    refs = {ref.uuid: ref for ref in run.refs()}
    assert list(refs) == ["b", "a", "A"]
    assert run.load(refs["a"]).answer == "last"
    assert [ref.duplicate for ref in refs.values()] == [False, True, False]
    assert run.duplicates == 1
    assert len(run.notes) == 1
    assert "records 1, 3" in run.notes[0]
    assert [("record 4" in run.problems[0]), ("record 5" in run.problems[1])] == [True, True]
    assert run.get(dataset.refs(2)[0]) == refs["a"], "uuids are compared as they are: 'A' is another one"


def test_a_flat_file_beside_the_folders_counts_last(write: Write) -> None:
    _, run = dataset_and_run(
        write,
        {
            f"{SIDE}/hockey.json": [prediction("a", answer="folder")],
            "run/hockey.json": [prediction("a", answer="flat")],
        },
    )
    assert [run.load(ref).answer for ref in run.refs()] == ["flat"]
    assert run.duplicates == 1
    assert run.refs()[0].duplicate


def test_only_the_domains_own_file_is_a_prediction(write: Write) -> None:
    _, run = dataset_and_run(
        write,
        {
            "run/hockey.json": [prediction("a", answer="right")],
            "run/Hockey.JSON": [prediction("a", answer="WRONG")],
            "run/hockey_tools.json": [{"uuid": "a", "tools": ["x"]}],
            "run/results.json": {"domains": {}},
            "run/hockey.json.bak": "x",
            "run/hockey (1).json": [prediction("a", answer="WRONG")],
            "run/._hockey.json": b"\x00\x05\x16\x07",
            "run/movie.jsonl": json.dumps(prediction("m", domain="movie")) + '\n{"uuid": "torn',
        },
    )
    assert [(ref.domain, run.load(ref).answer) for ref in run.refs()] == [("hockey", "right"), ("movie", "1")]
    assert len(run.problems) == 2
    assert "Hockey.JSON" in run.problems[0]
    assert "line 2" in run.problems[1]


def test_what_is_no_run_is_refused_with_a_sentence(write: Write, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not there"):
        Run.open(tmp_path / "nowhere")
    folder = write({"file.json": [], "empty/x_tools.json": []})
    with pytest.raises(DataError, match="is a file"):
        Run.open(folder / "file.json")
    with pytest.raises(DataError, match=r"<domain>\.json\.$"):
        Run.open(folder / "empty")


def test_of_a_folder_of_runs_the_runs_are_named(write: Write) -> None:
    names = [f"run_{number}" for number in range(7)]
    folder = write({f"runs/{name}/farm.json": [] for name in names} | {"runs/empty/x_tools.json": []})
    with pytest.raises(DataError, match=r"these may be runs: run_0, run_1, run_2, run_3, run_4 and 2 more\.$"):
        Run.open(folder / "runs")
    with pytest.raises(DataError, match="these may be runs: run_0"):
        check_run(folder / "runs")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_and_line_ends(write: Write, encoding: str) -> None:
    text = json.dumps([prediction("a", answer="1\r\n")], indent=1).replace("\n", "\r\n")
    _, run = dataset_and_run(write, {f"{SIDE}/hockey.json": text.encode(encoding)})
    assert run.load(run.refs()[0]).answer == "1\r\n"
    assert run.problems == []


def test_the_fingerprint_is_of_the_content(write: Write, tmp_path_factory: pytest.TempPathFactory) -> None:
    _, run = dataset_and_run(write, {f"{SIDE}/hockey.json": [prediction("a")]})
    copy = tmp_path_factory.mktemp("other") / "name"
    shutil.copytree(run.path, copy)
    assert Run.open(copy).fingerprint() == run.fingerprint()
    (copy / DASHBOARDS / "hockey.json").write_text(json.dumps([prediction("a", answer="2")]))
    assert Run.open(copy).fingerprint() != run.fingerprint()


def test_a_prediction_that_is_not_there(write: Write) -> None:
    _, run = dataset_and_run(write, {f"{SIDE}/hockey.json": [prediction("a")]})
    with pytest.raises(DataError, match="no such prediction"):
        run.load(PredictionRef(uuid="x", domain="hockey", capability=2))


def test_each_unfit_record_has_its_reason_and_the_good_one_stands(write: Write) -> None:
    """Agent error, another turn's id, two turns, and one that is fit (EVL-08)."""
    failed = {**prediction("a"), "status": "error", "error": "timeout", "output": []}
    double = prediction("c", turn_id=0)
    double["output"] = [double["output"][0], {**double["output"][0], "turn_id": 1}]
    folder = write({"run/hockey.json": [failed, prediction("b", turn_id=0), double, prediction("d", turn_id=1)]})
    run = Run.open(folder / "run")
    reasons = {}
    for ref in run.refs():
        record = truth(ref.uuid)
        record["output"][0]["turn_id"] = 1
        reasons[ref.uuid] = unfit(run.load(ref), instance_from(2, "hockey", ref.uuid, None, record))
    assert reasons["d"] is None
    assert "timeout" in str(reasons["a"])
    assert "answers turn 0, where turn 1" in str(reasons["b"])
    assert "2 output turns" in str(reasons["c"])


def test_the_turn_may_be_numbered_as_in_the_input_or_in_the_ground_truth() -> None:
    asked = question("a")
    asked["dialogue"]["turns"][0]["turn_id"] = 1
    instance = instance_from(2, "hockey", "a", asked, truth("a"))
    for turn_id, fit in ((0, True), (1, True), (2, False)):
        found = Prediction(uuid="a", domain="hockey", query="q", answer="1", calls=(), turn_id=turn_id)
        assert (unfit(found, instance) is None) is fit


# --- the check -------------------------------------------------------------------------------------------------------


def changed(path: str, value: Any) -> dict[str, Any]:
    """A good record with one place set to another value, or removed where the value is ``...``."""
    record = prediction("a", call("x", n=1))
    place: Any = record
    steps = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in steps[:-1]:
        place = place[step]
    if value is ...:
        del place[steps[-1]]
    else:
        place[steps[-1]] = value
    return record


CALLS = "output.0.sequence.tool_call"


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("uuid", None, "uuid"),
        ("uuid", 5, "uuid"),
        ("uuid", "", "uuid"),
        ("uuid", ..., "uuid"),
        ("domain", "movie", "domain"),
        ("domain", ..., "domain"),
        ("status", "ok", "status"),
        ("status", ..., "status"),
        ("error", None, "error"),
        ("duration_s", "1", "duration_s"),
        ("duration_s", True, "duration_s"),
        ("duration_s", -1, "duration_s"),
        ("duration_s", ..., "duration_s"),
        ("output", ..., "output"),
        ("output", [], "output"),
        ("output", {}, "output"),
        ("output", [5], "output[0]"),
        ("output.0.turn_id", "0", "output[0].turn_id"),
        ("output.0.turn_id", True, "output[0].turn_id"),
        ("output.0.query", ..., "output[0].query"),
        ("output.0.answer", ["1"], "output[0].answer"),
        ("output.0.answer", None, "output[0].answer"),
        ("output.0.sequence", [], "output[0].sequence"),
        ("output.0.sequence", ..., "output[0].sequence"),
        (CALLS, {}, "output[0].sequence.tool_call"),
        (f"{CALLS}.0", [], "output[0].sequence.tool_call[0]"),
        (f"{CALLS}.0.name", "", "output[0].sequence.tool_call[0].name"),
        (f"{CALLS}.0.name", ..., "output[0].sequence.tool_call[0].name"),
        (f"{CALLS}.0.arguments", "{}", "output[0].sequence.tool_call[0].arguments"),
        (f"{CALLS}.0.arguments", ..., "output[0].sequence.tool_call[0].arguments"),
    ],
)
def test_every_problem_is_named_with_file_record_and_field(write: Write, path: str, value: Any, field: str) -> None:
    folder = write({"run/hockey.json": [prediction("ok"), changed(path, value)]})
    result = check_run(folder / "run")
    assert [(problem.file, problem.record, problem.field) for problem in result.problems] == [("hockey.json", 2, field)]
    assert result.problems[0].sentence.startswith("hockey.json, record 2")
    assert field in result.problems[0].sentence


def test_a_good_run_has_no_problem(write: Write) -> None:
    folder = write({f"{SIDE}/hockey.json": [prediction("a", call("x", n=1)), prediction("b")], "run/results.json": {}})
    result = check_run(folder / "run")
    assert (result.files, result.records, result.problems) == (1, 2, ())


def test_all_problems_of_a_record_are_told_at_once(write: Write) -> None:
    folder = write({"run/hockey.json": [{"uuid": 5, "ground_truth": []}, 7]})
    fields = [problem.field for problem in check_run(folder / "run").problems]
    assert fields == ["uuid", "domain", "status", "error", "duration_s", "output", ""]


def test_files_that_the_public_evaluator_cannot_read(write: Write) -> None:
    text = json.dumps([prediction("a")])
    folder = write(
        {
            "run/bom.json": text.replace("hockey", "bom").encode("utf-8-sig"),
            "run/cut.json": text[:-30],
            "run/lines.jsonl": json.dumps(prediction("a", domain="lines")),
            "run/twice.json": [prediction("a", domain="twice"), prediction("a", domain="twice")],
            "run/wide.json": text.replace("hockey", "wide").encode("utf-16"),
        }
    )
    sentences = [problem.sentence for problem in check_run(folder / "run").problems]
    assert len(sentences) == 5
    for sentence, (name, words) in zip(
        sentences,
        [
            ("bom", "byte order mark"),
            ("cut", "cut off"),
            ("lines", "'.json' is due"),
            ("twice", "record 1"),
            ("wide", "UTF-16"),
        ],
        strict=True,
    ):
        assert sentence.startswith(name)
        assert words in sentence


def test_what_is_no_run_cannot_be_checked(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not a folder"):
        check_run(tmp_path / "nowhere")
    with pytest.raises(DataError, match="holds no predictions"):
        check_run(tmp_path)


# --- the writer ------------------------------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ARGUMENTS = st.dictionaries(
    TEXT, st.none() | st.booleans() | st.integers() | TEXT | st.lists(st.integers(), max_size=3), max_size=3
)
PREDICTIONS = st.builds(
    Prediction,
    uuid=TEXT.filter(bool),
    domain=st.sampled_from(["hockey", "movie"]),
    capability=st.sampled_from([1, 2, 3, 4]),
    query=TEXT,
    answer=TEXT,
    calls=st.lists(st.builds(ToolCall, name=TEXT.filter(bool), arguments=ARGUMENTS), max_size=3).map(tuple),
    turn_id=st.integers(0, 9),
    status=st.sampled_from(["success", "error"]),
    error=TEXT,
    duration_s=st.floats(0, 1e6),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(
    st.lists(PREDICTIONS, min_size=1, max_size=6, unique_by=lambda found: (found.capability, found.domain, found.uuid))
)
def test_what_is_written_passes_the_check_and_reads_back(tmp_path: Path, predictions: list[Prediction]) -> None:
    folder = tmp_path / "written"
    shutil.rmtree(folder, ignore_errors=True)
    files = write_submission(folder, predictions)
    assert check_run(folder).problems == ()
    assert all(not path.read_bytes().startswith(b"\xef\xbb\xbf") for path in files)
    assert sorted(path for path in folder.rglob("*") if path.is_file()) == files
    run = Run.open(folder)
    assert {(found.capability, found.domain, found.uuid): found for found in map(run.load, run.refs())} == {
        (found.capability, found.domain, found.uuid): found for found in predictions
    }


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "run" / "hockey.json"
    write_text_atomically(path, "old")
    before = path.stat().st_mode
    write_text_atomically(path, "new \ud800")
    assert path.read_text() == "new ?"
    assert path.stat().st_mode == before
    assert [file.name for file in path.parent.iterdir()] == ["hockey.json"]
    with pytest.raises(DataError, match="cannot be written"):
        write_text_atomically(path / "below a file" / "x.json", "text")
