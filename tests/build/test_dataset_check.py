"""The check finds what makes a dataset unfit, on a dataset that is right until it is spoiled."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eval.checks import CheckReport, check_dataset
from eval.checks.run import oracle_text
from eval.environments import EnvironmentChain
from toolenv.build.builder import Built
from toolenv.dataset import Dataset
from toolenv.environment import ToolEnvironment
from toolenv.model import CAPABILITY_DIRS
from toolenv.native import NativeEnvironment

Record = dict[str, Any]


async def checked(folder: Path, *environments: ToolEnvironment) -> CheckReport:
    dataset = Dataset.open(folder)
    chain = EnvironmentChain(list(environments) or [NativeEnvironment(dataset)])
    try:
        return await check_dataset(dataset, chain)
    finally:
        await chain.close()


@pytest.fixture
def copied(built: tuple[Path, Built], tmp_path: Path) -> Path:
    return Path(shutil.copytree(built[0], tmp_path / "copy"))


def change(folder: Path, capability: int, side: str, spoil: Callable[[list[Record]], None]) -> None:
    path = folder / "test" / CAPABILITY_DIRS[capability] / side / "music.json"
    records = json.loads(path.read_text(encoding="utf-8"))
    spoil(records)
    path.write_text(json.dumps(records), encoding="utf-8")


def last(record: Record) -> Record:
    turn: Record = record["output"][-1]
    return turn


def answers(records: list[Record]) -> None:
    last(records[0])["answer"] = ["nobody at all"]


def unknown_tool(records: list[Record]) -> None:
    last(records[0])["sequence"]["tool_call"][0]["name"] = "get_nothing"


def empty_answer_path(records: list[Record]) -> None:
    last(records[0])["sequence"]["tool_call"] = last(records[1])["sequence"]["tool_call"]


def told(records: list[Record]) -> None:
    for record in records:
        turn = record["dialogue"]["turns"][-1]
        turn["query"] += " Is it Portugal, Norway, Jazz, Rock, Folk, Oslo, Bergen, Ola Brandt or Copper Moon?".replace(
            " or ", " and "
        )


def twice(records: list[Record]) -> None:
    records[1]["dialogue"] = records[0]["dialogue"]


@pytest.mark.parametrize(
    ("capability", "side", "spoil", "kind"),
    [
        (2, "output", answers, "answer is not reachable"),
        (2, "output", unknown_tool, "ground truth fails"),
        (3, "output", empty_answer_path, "answer is not reachable"),
        (3, "input", told, "answer is in the question"),
        (2, "input", twice, "same question twice"),
    ],
)
async def test_what_is_spoiled_is_found(
    copied: Path, capability: int, side: str, spoil: Callable[[list[Record]], None], kind: str | None
) -> None:
    change(copied, capability, side, spoil)
    report = await checked(copied)
    assert not report.holds
    if kind is not None:
        assert kind in report.counts
    assert all(f.detail and f.domain == "music" for f in report.findings)


async def test_a_passage_that_answers_an_endpoint_is_found(copied: Path) -> None:
    path = copied / "documents" / "weather_docs.json"
    dataset = Dataset.open(copied)
    asked = [
        (instance, call)
        for instance in (dataset.load(ref) for ref in dataset.refs(4))
        if instance.ground_truth is not None and not instance.policy
        for call in instance.ground_truth.evaluated.calls
        if call.name.startswith("get_artist_name_by")
    ]
    instance, call = asked[0]
    title = next(iter(call.arguments.values()))
    text = (
        f"{title} was recorded by {' and '.join(['Ola Brandt', 'The Tin Kettles', 'Mirela Voss', 'Harbour Lights'])}."
    )
    path.write_text(json.dumps([{"doc_id": "w9", "text": text}]), encoding="utf-8")
    report = await checked(copied)
    found = [f for f in report.findings if f.kind == "sources overlap"]
    assert instance.uuid in {f.uuid for f in found}
    assert all("w9" in f.detail for f in found)


async def test_documents_that_cannot_be_read_are_a_finding(copied: Path) -> None:
    (copied / "documents" / "weather_docs.json").write_text('[{"doc_id": "w9", ', encoding="utf-8")
    report = await checked(copied)
    found = [f for f in report.findings if f.kind == "cannot be executed"]
    assert found and not report.holds
    assert all("weather_docs.json" in f.detail for f in found)


async def test_ties_in_endpoints_are_found(copied: Path) -> None:
    path = copied / "endpoints" / "music.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    name = None
    dataset = Dataset.open(copied)
    used = {
        call.name
        for ref in dataset.refs(2)
        if (truth := dataset.load(ref).ground_truth) is not None
        for call in truth.evaluated.calls
    }
    for endpoint in content["endpoints"]:
        if endpoint["operation_id"] in used and endpoint["response"]["shape"] == "scalar" and not name:
            name = endpoint["operation_id"]
            endpoint["sql"] = "SELECT Name AS x FROM Track ORDER BY UnitPrice LIMIT 1"
            endpoint["parameters"] = []
    path.write_text(json.dumps(content), encoding="utf-8")
    report = await checked(copied)
    assert any(f.kind == "order decides the answer" and str(name) in f.detail for f in report.findings)


async def test_an_environment_that_serves_nothing_is_told(copied: Path, tmp_path: Path) -> None:
    from toolenv.recorded import RecordedEnvironment

    make_other_recording(tmp_path / "recorded")
    report = await checked(copied, RecordedEnvironment(tmp_path / "recorded"))
    assert report.executed == 0
    assert report.counts["cannot be executed"] == report.instances
    assert not report.holds


def make_other_recording(folder: Path) -> None:
    """A recording of another domain: it serves nothing of this one."""
    path = folder / CAPABILITY_DIRS[2] / "elsewhere.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"tools": [{"name": "get_x", "inputSchema": {"type": "object"}}]}) + "\n", "utf-8")


@pytest.mark.parametrize(
    ("answer", "text"),
    [(["a"], "a"), ([3], "3"), (["a", "b"], '["a", "b"]'), ([["a", 1]], '[["a", 1]]'), ("x", "x"), ([], "[]")],
)
def test_the_oracle_s_words(answer: Any, text: str) -> None:
    assert oracle_text(answer) == text


@pytest.mark.shared
async def test_a_dataset_that_others_made(shared: Path) -> None:
    from toolenv.recorded import RecordedEnvironment

    dataset = Dataset.open(shared / "data" / "mini")
    environments = EnvironmentChain([NativeEnvironment(dataset), RecordedEnvironment(shared / "data" / "recorded")])
    report = await check_dataset(dataset, environments, dataset.refs(3))
    await environments.close()
    assert report.executed == report.instances == report.passed == 103
