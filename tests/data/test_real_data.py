"""The material beside the checkout: everything loads, and recordings answer every call of the made runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from sessions.drivers import GroundTruthDriver
from sessions.execution import execute
from sessions.submission_check import check_run
from sessions.submissions import Run, unfit
from sessions.trajectory import CallTool
from toolenv.dataset import Dataset
from toolenv.dataset.indexing import index_by_uuid
from toolenv.documents import DocumentTools
from toolenv.native import NativeEnvironment
from toolenv.recorded import RecordedEnvironment, Recorder
from toolenv.schema import coerce

pytestmark = pytest.mark.shared
RUNS = ("r1", "r2", "r3", "r4", "r5", "r6", "gemini")


@pytest.fixture(scope="module")
def mini(shared: Path) -> Dataset:
    return Dataset.open(shared / "data" / "mini")


def test_every_instance_loads(mini: Dataset) -> None:
    assert {capability: len(mini.refs(capability)) for capability in (1, 2, 3, 4)} == {1: 318, 2: 483, 3: 103, 4: 63}
    for ref in mini.refs():
        instance = mini.load(ref)
        assert instance.problems == ()
        assert instance.ground_truth is not None
        assert instance.ground_truth.evaluated.query == instance.query
        if ref.capability == 1:
            universe = mini.universe(ref.uuid)
            assert universe is not None
            assert universe.style == {"slot_filling": "slot", "selection": "sel"}[instance.author_keys["server_type"]]
    assert mini.problems == []
    assert mini.notes == []


def test_the_real_trajectories_load(shared: Path, mini: Dataset) -> None:
    run = Run.open(shared / "data" / "runs" / "gemini", mini)
    predictions = [run.load(ref) for ref in run.refs()]
    assert len(predictions) == 117
    assert max(len(found.calls) for found in predictions) == 158
    known = {ref.uuid for ref in mini.refs(2, "toxicology")}
    assert sum(found.uuid not in known for found in predictions) == 15
    assert all(found.query for found in predictions)
    assert (run.problems, run.notes, run.duplicates) == ([], [], 0)
    assert check_run(run.path).problems == ()


def test_the_made_runs_load(shared: Path, mini: Dataset) -> None:
    extra = duplicates = 0
    for name in RUNS[:-1]:
        run = Run.open(shared / "data" / "runs" / name, mini)
        assert run.problems == []
        duplicates += run.duplicates
        for ref in run.refs():
            prediction = run.load(ref)
            instances = [found for found in mini.find(ref.uuid) if found.capability == ref.capability]
            extra += not instances
            assert not instances or prediction.status == "error" or unfit(prediction, mini.load(instances[0])) is None
    assert (extra, duplicates) == (7, 8)


async def test_the_recording_answers_every_call(shared: Path, mini: Dataset) -> None:
    environment = RecordedEnvironment(shared / "data" / "recorded")
    runs = [Run.open(shared / "data" / "runs" / name, mini) for name in RUNS]
    refs = [ref for capability in (2, 3, 4) for ref in mini.refs(capability)]
    answered = 0
    for ref in refs:
        instance = mini.load(ref)
        assert instance.ground_truth is not None
        paths = [instance.ground_truth.evaluated.calls]
        paths += [run.load(found).calls for run in runs if (found := run.get(ref)) is not None]
        session = await environment.open(instance)
        specs = {spec.name: spec for spec in await session.list_tools()}
        for place, calls in enumerate(paths):
            for call in calls:
                arguments: Any = call.arguments
                if call.name in specs:
                    arguments, _ = coerce(specs[call.name], arguments)
                result = await session.call(call.name, arguments)
                assert not (place == 0 and result.failed), (ref, call)
                answered += 1
    assert environment.problems == []
    assert answered == 1592


def labelled(shared: Path, folder: Path, *, mapping: bool) -> Dataset:
    """The instances of the older label style, laid out as a dataset."""
    records = json.loads((shared / "data" / "mini" / "label_style" / "capability_1_label_style.json").read_text())
    outputs = folder / "test" / "capability_1_bi_apis" / "output"
    outputs.mkdir(parents=True)
    for domain in {record["domain"] for record in records}:
        (outputs / f"{domain}.json").write_text(json.dumps([found for found in records if found["domain"] == domain]))
    (folder / "databases").symlink_to(shared / "data" / "mini" / "databases")
    if mapping:
        shutil.copytree(shared / "data" / "mini" / "configs", folder / "configs")
    return Dataset.open(folder)


@pytest.mark.parametrize("mapping", [True, False])
async def test_the_label_style_executes(shared: Path, tmp_path: Path, mapping: bool) -> None:
    dataset = labelled(shared, tmp_path, mapping=mapping)
    environment = NativeEnvironment(dataset)
    assert len(dataset.refs()) == 10
    for ref in dataset.refs():
        instance = dataset.load(ref)
        executed = await execute(instance, GroundTruthDriver(instance), environment)
        steps = [step for step in executed.trajectory.steps if isinstance(step.decision, CallTool)]
        assert instance.ground_truth is not None
        assert len(steps) == len(instance.ground_truth.evaluated.calls)
        assert all(step.result is not None and not step.result.failed for step in steps), ref.uuid


async def test_capability_one_is_recorded_and_answered_again(shared: Path, mini: Dataset, tmp_path: Path) -> None:
    refs = mini.refs(1)[::16]
    recorder = Recorder(NativeEnvironment(mini), tmp_path)
    native = NativeEnvironment(mini)

    async def texts(environment: Any, ref: Any) -> list[str]:
        instance = mini.load(ref)
        executed = await execute(instance, GroundTruthDriver(instance), environment)
        return [step.result.text for step in executed.trajectory.steps if step.result is not None]

    expected = [await texts(native, ref) for ref in refs]
    assert [await texts(recorder, ref) for ref in refs] == expected
    await recorder.close()
    assert [await texts(RecordedEnvironment(tmp_path), ref) for ref in refs] == expected


async def test_retrieval_finds_the_passages_that_the_ground_truth_needs(mini: Dataset) -> None:
    looked_for = 0
    for ref in mini.refs(4):
        tools = DocumentTools(mini, ref.domain)
        output = mini.raw(ref)[1]
        assert output is not None
        for turn in output["output"]:
            wanted = [hop["doc_id"] for hop in turn.get("hops", []) if hop["source"] == "RAG"]
            calls = [call for call in turn["sequence"].get("tool_call", []) if call["name"].startswith("query_")]
            for doc_id, call in zip(wanted, calls, strict=True):
                result = await tools.call(call["name"], call["arguments"])
                assert doc_id in [found["id"] for found in json.loads(result.text)["results"]]
                looked_for += 1
    assert looked_for > 50


@pytest.mark.parametrize(
    ("file", "uuids", "problems"),
    [
        ("EVL-07/prediction/hockey.json", 3, 2),
        ("EVL-08/prediction/hockey.json", 4, 0),
        ("EVL-12/array_cut.json", 1, 1),
        ("EVL-12/torn_tail.jsonl", 3, 1),
        ("EVL-12/torn_then_blank.jsonl", 3, 1),
        ("EVL-12/torn_utf8.jsonl", 3, 1),
        ("EVL-14/prediction_bom/hockey.json", 1, 0),
        ("EVL-14/prediction_crlf/hockey.json", 1, 0),
        ("EVL-14/prediction_utf16/hockey.json", 1, 0),
        ("EVL-15/prediction/hockey.json", 6, 0),
        ("EVL-16/wrong_shapes/dict_top.json", 0, 1),
        ("EVL-16/wrong_shapes/trailing.json", 1, 1),
        ("EVL-16/wrong_shapes/wrapped.json", 0, 1),
        ("EVL-16/wrong_shapes/zero.json", 0, 1),
        ("EVL-20/prediction/hockey.json", 1, 0),
        ("EVL-21/groundtruth/olympics.json", 7, 0),
        ("EVL-21/groundtruth_list_sequence/olympics.json", 1, 0),
    ],
)
def test_the_files_of_the_cases(shared: Path, file: str, uuids: int, problems: int) -> None:
    path = shared / "cases" / "files" / file
    index, found, _ = index_by_uuid(path, path.name)
    assert (len(found), len(index.problems)) == (uuids, problems)
    for span in found.values():
        index.read(span)
