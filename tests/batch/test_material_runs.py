"""The batch on the material folder: real model trajectories, labelled runs, ground truth replayed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sessions.drivers.ground_truth import answer_text
from sessions.submissions import write_submission
from toolenv.dataset import Dataset
from toolenv.model import Prediction
from vakra_tui.cli import main

pytestmark = pytest.mark.shared


def batch(shared: Path, out: Path, *arguments: str) -> int:
    data = shared / "data"
    environments = ["--env", f"recorded:{data / 'recorded'}", "--env", "native"]
    kept = ["--db", f"sqlite:///{out.parent / 'store.sqlite'}", "--out", str(out), "--quiet"]
    return main(["--batch", str(data / "mini"), *environments, *kept, *arguments])


def read(path: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(path.read_bytes())
    return report


def test_real_trajectories(shared: Path, tmp_path: Path) -> None:
    assert batch(shared, tmp_path / "r.json", "--run", str(shared / "data" / "runs" / "gemini")) == 0
    report = read(tmp_path / "r.json")
    assert (report["counts"]["scored"], report["counts"]["extra"], report["counts"]["unscored"]) == (102, 15, 0)
    assert report["counts"]["undecided"] <= 10
    assert sum(line["status"] == "extra" for line in report["instances"]) == 15


def test_labelled_runs_and_concurrency(shared: Path, tmp_path: Path) -> None:
    names = [f"r{number}" for number in range(1, 7)]
    runs = [word for name in names for word in ("--run", str(shared / "data" / "runs" / name))]
    labels = [json.loads(line) for line in (shared / "data" / "runs" / "labels.jsonl").read_text().splitlines()]
    written = {}
    for concurrency in ("1", "8"):
        assert batch(shared, tmp_path / f"{concurrency}.json", *runs, "--concurrency", concurrency) == 0
        written[concurrency] = {name: (tmp_path / f"{concurrency}-{name}.json").read_bytes() for name in names}
    assert written["1"] == written["8"]
    agreed = counted = 0
    for name in names:
        lines = json.loads(written["8"][name])["instances"]
        of_instances = {(line["capability"], line["uuid"]): line for line in lines if line["status"] != "extra"}
        extras = {line["uuid"] for line in lines if line["status"] == "extra"}
        for label in labels:
            if label["run"] != name or label.get("ambiguous"):
                continue
            counted += 1
            if label["kind"] == "extra_uuid":
                agreed += label["uuid"] in extras
                continue
            line, expected = of_instances[label["capability"], label["uuid"]], label["expected"]
            only_passed = label["kind"] in ("missing_prediction", "runner_error")
            agreed += line["passed"] == expected["passed"] and (
                only_passed or line["failed_stage"] == expected["failed_stage"]
            )
    assert counted > 400
    assert agreed / counted >= 0.97


def test_ground_truth_replayed_passes_wherever_its_answer_can_be_seen(shared: Path, tmp_path: Path) -> None:
    dataset = Dataset.open(shared / "data" / "mini")
    predictions = []
    for ref in dataset.refs():
        instance = dataset.load(ref)
        assert instance.ground_truth is not None
        turn = instance.ground_truth.evaluated
        if turn.calls:
            predictions.append(
                Prediction(
                    uuid=ref.uuid,
                    domain=ref.domain,
                    capability=ref.capability,
                    query=turn.query,
                    answer=answer_text(turn.answer),
                    calls=turn.calls,
                    turn_id=turn.turn_id,
                )
            )
    write_submission(tmp_path / "oracle", predictions)
    assert batch(shared, tmp_path / "r.json", "--run", str(tmp_path / "oracle")) == 0
    lines = [line for line in read(tmp_path / "r.json")["instances"] if line["status"] != "missing"]
    assert len(lines) == len(predictions)
    failed = [line for line in lines if line["passed"] is not True]
    # Rows that no peek shows ground no answer, not even the ground truth's own; such instances are marked.
    assert all("answer longer than its peek" in line["marks"] for line in failed)
    for line in failed:
        rulings = line["stages"][2]["rulings"]
        assert (rulings["consistent"]["outcome"], rulings["grounded"]["outcome"]) == ("pass", "fail")
    assert len(failed) < 30
