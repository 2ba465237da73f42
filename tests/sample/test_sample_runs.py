"""The sample's three runs through the batch command, as a stranger would start it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from sessions.submission_check import check_run
from sessions.submissions import Run
from toolenv.dataset import Dataset

RUNS = ("oracle", "flawed", "explorer")


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """The reports of all runs on the built-in sample, and under ``sample`` the folder it was built in."""
    folder = tmp_path_factory.mktemp("batch")
    homes = {name: str(folder / name.lower()) for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")}
    command = [sys.executable, "-m", "vakra_tui", "--batch", "--out", str(folder / "r.json"), "--quiet"]
    for run in RUNS:
        command += ["--run", run]
    done = subprocess.run(command, env=os.environ | homes, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = {run: json.loads((folder / f"r-{run}.json").read_text(encoding="utf-8")) for run in RUNS}
    (built,) = (folder / "xdg_cache_home").glob("**/labels.jsonl")
    found["sample"] = built.parent.parent
    return found


def scored(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [entry for entry in report["instances"] if entry["status"] != "unscored"]


def labels(reports: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    text = (reports["sample"] / "runs" / "labels.jsonl").read_text(encoding="utf-8")
    return {label["uuid"]: label for label in map(json.loads, text.splitlines())}


@pytest.mark.parametrize("run", ["oracle", "explorer"])
def test_right_runs_pass_everywhere(reports: Mapping[str, Any], run: str) -> None:
    report = reports[run]
    assert {c: s["score"] for c, s in report["scores"]["capabilities"].items()} == dict.fromkeys("1234", 1.0)
    assert [e["uuid"] for e in scored(report) if not e["passed"]] == []
    assert report["counts"]["undecided"] == 0
    assert report["counts"]["unscored"] == 2
    assert {e["reason"] for e in report["instances"] if e["status"] == "unscored"} == {"no ground truth"}


def test_the_explorer_is_passed_by_the_judge_where_it_went_its_own_way(reports: Mapping[str, Any]) -> None:
    decided = reports["explorer"]["decided"]["tool_sequence"]
    assert decided["offline"] >= 10
    assert decided["program"] >= 10
    assert decided["offline"] > reports["oracle"]["decided"]["tool_sequence"]["offline"]


def test_at_least_half_of_the_explorer_s_calls_are_others(reports: Mapping[str, Any]) -> None:
    dataset = Dataset.open(reports["sample"] / "dataset")
    run = Run.open(reports["sample"] / "runs" / "explorer", dataset)
    other = total = 0
    for ref in run.refs():
        (place,) = dataset.find(ref.uuid)
        truth = dataset.load(place).ground_truth
        assert truth is not None
        wanted = [(c.name, c.arguments) for c in truth.evaluated.calls if not c.name.startswith("query_")]
        made = [(c.name, c.arguments) for c in run.load(ref).calls if not c.name.startswith("query_")]
        total += 1
        other += wanted != made
    assert other * 2 >= total


def test_the_flawed_run_scores_as_its_labels_say(reports: Mapping[str, Any]) -> None:
    wanted = {uuid: (label["failed_stage"], label["sieve"]) for uuid, label in labels(reports).items()}
    got = {e["uuid"]: (e["failed_stage"], e["sieve"]) for e in reports["flawed"]["instances"]}
    assert got == wanted


def test_every_gate_and_every_sieve_class_fails_at_least_twice(reports: Mapping[str, Any]) -> None:
    stages = Counter(label["failed_stage"] for label in labels(reports).values())
    sieves = Counter(label["sieve"] for label in labels(reports).values())
    assert min(stages[s] for s in ("policy", "tool_sequence", "final_response")) >= 2
    assert min(sieves[s] for s in ("tool_selection", "argument_names", "argument_values", "answer", "none")) >= 2
    assert reports["flawed"]["counts"]["missing"] >= 2
    per_capability = {(label["capability"], label["failed_stage"]) for label in labels(reports).values()}
    assert {(c, s) for c in (1, 2, 3, 4) for s in ("tool_sequence", "final_response")} <= per_capability


@pytest.mark.parametrize("run", RUNS)
def test_runs_are_valid_submissions(reports: Mapping[str, Any], run: str) -> None:
    folder = reports["sample"] / "runs" / run
    assert list(check_run(folder).problems) == []
    assert list(Run.open(folder, Dataset.open(reports["sample"] / "dataset")).problems) == []
