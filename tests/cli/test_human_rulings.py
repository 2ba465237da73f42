"""A person's rulings in the store count in every batch on it, are marked, and are compared with the judge's."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest
from small_world import FOLDER, World, uuid_of

from sessions.store import Store
from sessions.submissions import Run
from toolenv.dataset import Dataset


def lines_of(report: dict[str, Any]) -> dict[str, Any]:
    return {line["uuid"]: line for line in report["instances"]}


def rule(world: World, run: Run, rulings: dict[tuple[str, str], str]) -> str:
    """Keep rulings as the debugger does; gives the store's address."""
    address = f"sqlite:///{world.root / 'kept.sqlite'}"
    store = Store.open(address)
    for (uuid, gate), outcome in rulings.items():
        ruling = {"outcome": outcome, "reason": "looked at it"}
        store.put_human_ruling(Dataset.open(world.data).fingerprint(), run.fingerprint(), uuid, gate, ruling)
    store.close()
    return address


@pytest.mark.parametrize("workers", ["1", "2"])
def test_rulings_override_and_agreement_is_reported(world: World, workers: str) -> None:
    run = Run.open(world.run, Dataset.open(world.data))
    assert world.batch("--out", "before.json", "--quiet").returncode == 0
    before = lines_of(json.loads((world.root / "before.json").read_bytes()))
    judged = {
        uuid: line["stages"][2]["rulings"]["consistent"]["outcome"]
        for uuid, line in before.items()
        if line["stages"][2]["rulings"]["consistent"]
    }
    agreed, opposed = [uuid for uuid, outcome in judged.items() if outcome == "pass"][:2]
    broken = uuid_of("shop", 7)
    assert before[broken]["stages"][1] | {"outcome": "pass", "decided_by": "program"} == before[broken]["stages"][1]
    rulings = {(agreed, "consistent"): "pass", (opposed, "consistent"): "fail", (broken, "tool_sequence"): "fail"}
    address = rule(world, run, rulings)
    assert world.batch("--db", address, "--workers", workers, "--out", "r.json", "--quiet").returncode == 0
    report = json.loads((world.root / "r.json").read_bytes())
    after = lines_of(report)
    assert after[agreed]["stages"][2]["rulings"]["consistent"]["decided_by"] == "human"
    assert after[opposed]["failed_stage"] == "final_response"
    assert after[broken]["failed_stage"] == "tool_sequence"
    assert after[broken]["stages"][1]["evidence"][0]["program"]["outcome"] == "pass"
    found = report["agreement"]["consistent"]
    assert (found["n"], found["agreement"]) == (2, 0.5)
    assert report["agreement"].get("tool_sequence", {"n": 0})["n"] == 0
    untouched = set(before) - {agreed, opposed, broken}
    assert all(after[uuid] == before[uuid] for uuid in untouched)


def test_rulings_of_two_runs_of_one_folder_name_stay_apart(world: World) -> None:
    other = world.root / "elsewhere" / world.run.name
    shutil.copytree(world.run, other)
    path = other / FOLDER / "farm.json"
    records = json.loads(path.read_text())
    records[0]["output"][0]["answer"] = "something else"
    path.write_text(json.dumps(records))
    uuid = uuid_of("shop", 0)
    address = rule(world, Run.open(other, Dataset.open(world.data)), {(uuid, "tool_sequence"): "fail"})
    done = world.batch("--run", world.run, "--run", other, "--db", address, "--out", "r.json", "--quiet")
    assert done.returncode == 0, done.stderr
    deciders = {
        path.stem: lines_of(json.loads(path.read_bytes()))[uuid]["stages"][1]["decided_by"]
        for path in world.root.glob("r-*.json")
    }
    assert sorted(deciders.items()) == [(f"r-{world.run.name}", "program"), (f"r-{world.run.name}-2", "human")]
