"""Verdicts against labelled predictions, real model prose and replayed ground truths, from the material folder."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from eval.case import Case
from eval.environments import EnvironmentChain
from eval.judge import Judge
from eval.judges.recorded import RecordedJudge
from eval.model import Verdict
from eval.offline import OfflineJudge
from eval.paper import PaperProfile, execute_truth
from eval.profile import Item, ScoringContext, Unit
from eval.truths import GroundTruths
from eval.waterfall import BEYOND_PEEK, evaluate
from sessions.submissions import Run
from toolenv.dataset import Dataset
from toolenv.native import NativeEnvironment
from toolenv.recorded import RecordedEnvironment

pytestmark = pytest.mark.shared

NAMES = (
    "hops hop_pattern turn_patterns policy blocked_source unanswerable gold_sql match origin uuid_from_predictions "
    "server_type"
)
AUTHOR_KEYS = NAMES.split()


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "scripts" / "check_labels.py"
    spec = importlib.util.spec_from_file_location("check_labels", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def labels_of(shared: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (shared / "data/runs/labels.jsonl").read_text("utf-8").splitlines()]


def chain_of(shared: Path, dataset: Dataset) -> EnvironmentChain:
    return EnvironmentChain([RecordedEnvironment(shared / "data/recorded"), NativeEnvironment(dataset)])


def scored(shared: Path, script: ModuleType, data: Path, judge: Judge, runs: Sequence[str]) -> dict[Any, Verdict]:
    """(run, uuid) -> verdict of every labelled prediction of these runs."""

    async def score() -> dict[Any, Verdict]:
        dataset = Dataset.open(data)
        chain, truths = chain_of(shared, dataset), GroundTruths(kept=2000)
        found: dict[Any, Verdict] = {}
        for name in runs:
            run = Run.open(shared / "data/runs" / name, dataset)
            context = ScoringContext(dataset=dataset, run=run, environments=chain, judge=judge, truths=truths)
            wanted = [label for label in labels_of(shared) if label["run"] == name]
            for label, item in zip(wanted, script.items(wanted, dataset, run), strict=True):
                (found[name, label["uuid"]],) = await PaperProfile().score(Unit(items=(item,)), context)
        await truths.close()
        await chain.close()
        return found

    return asyncio.run(score())


RUNS = ("r1", "r2", "r3", "r4", "r5", "r6")


@pytest.fixture(scope="module")
def offline(shared: Path, script: ModuleType) -> dict[Any, Verdict]:
    return scored(shared, script, shared / "data/mini", OfflineJudge(), RUNS)


def contradicted(shared: Path, script: ModuleType, verdicts: dict[Any, Verdict]) -> Iterator[Any]:
    for label in labels_of(shared):
        verdict = verdicts[label["run"], label["uuid"]]
        if not label.get("ambiguous") and verdict.sieve != "undecided":
            differences = script.agreement(label, verdict)
            if differences:
                yield label["run"], label["uuid"], differences


def test_offline_rules_contradict_no_label(shared, script, offline):
    assert list(contradicted(shared, script, offline)) == []


def test_offline_rules_leave_little_undecided(offline):
    assert sum(verdict.sieve == "undecided" for verdict in offline.values()) <= len(offline) / 10


def test_recorded_rulings_agree_with_every_label(shared, script):
    judge = RecordedJudge(shared / "data/runs/rulings.jsonl")
    verdicts = scored(shared, script, shared / "data/mini", judge, RUNS)
    assert list(contradicted(shared, script, verdicts)) == []
    clear = {(label["run"], label["uuid"]) for label in labels_of(shared) if not label.get("ambiguous")}
    assert not [place for place in clear if verdicts[place].sieve == "undecided"]


def test_keys_that_only_an_author_knows_decide_nothing(shared, script, offline, tmp_path):
    bare = tmp_path / "mini"
    mini = shared / "data/mini"
    shutil.copytree(mini / "test", bare / "test")
    for part in ("configs", "databases", "documents"):
        (bare / part).symlink_to(mini / part, target_is_directory=True)
    stripped = Counter()
    for path in sorted(bare.glob("test/*/*/*.json")):
        records = json.loads(path.read_text("utf-8"))
        for part in [*records, *(turn for record in records for turn in record.get("output", []))]:
            for key in AUTHOR_KEYS:
                stripped[key] += part.pop(key, None) is not None
        path.write_text(json.dumps(records), "utf-8")
    assert sum(stripped.values()) > 1000
    assert scored(shared, script, bare, OfflineJudge(), RUNS) == offline


def test_a_ground_truth_replayed_with_its_answer_passes(shared):
    """All of them do; those whose answer holds rows that no response ever showed are marked so."""

    async def replay() -> Counter[Any]:
        dataset = Dataset.open(shared / "data/mini")
        chain = chain_of(shared, dataset)
        found: Counter[Any] = Counter()
        for ref in dataset.refs():
            instance = dataset.load(ref)
            truth = await execute_truth(instance, chain)
            case = Case(run="gt", instance=instance, truth=truth.executed, prediction=truth.executed, tools=truth.tools)
            verdict = await evaluate(case, judge=OfflineJudge())
            assert verdict.stages[1].outcome == "pass" and verdict.stages[1].decided_by == "program", instance.uuid
            found[verdict.passed, verdict.failed_stage, BEYOND_PEEK in verdict.marks] += 1
        await chain.close()
        return found

    found = asyncio.run(replay())
    assert {key[:2] for key in found} == {(True, None)}
    assert found[True, None, True] >= 23 and found.total() == 967


def test_prose_of_a_real_model_is_ruled(shared):
    async def score() -> Counter[Any]:
        dataset = Dataset.open(shared / "data/mini")
        run = Run.open(shared / "data/runs/gemini", dataset)
        instances = {ref.uuid: ref for ref in dataset.refs(capability=2)}
        chain = chain_of(shared, dataset)
        context = ScoringContext(
            dataset=dataset, run=run, environments=chain, judge=OfflineJudge(), truths=GroundTruths()
        )
        found: Counter[Any] = Counter()
        for position, ref in enumerate(run.refs()):
            item = Item(position=position, instance=instances.get(ref.uuid), prediction=ref)
            (verdict,) = await PaperProfile().score(Unit(items=(item,)), context)
            found[verdict.status, verdict.passed] += 1
        await context.truths.close()
        await chain.close()
        return found

    found = asyncio.run(score())
    assert found["extra", None] == 15 and found.total() == 117
    assert found["scored", None] <= 5 and found["scored", True] >= 85
