"""The commands beside the batch, as a user runs them."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from small_world import FOLDER, World, prediction

from eval.environments import EnvironmentChain
from sessions.drivers import GroundTruthDriver
from sessions.execution import execute
from sessions.store import NewSession, Store
from toolenv.dataset import Dataset
from toolenv.native import NativeEnvironment


@pytest.fixture
def stored(world: World) -> str:
    """The key of a stored session; the store is ``s.sqlite``."""
    dataset = Dataset.open(world.data)
    instance = dataset.load(dataset.refs()[0])
    executed = asyncio.run(
        execute(instance, GroundTruthDriver(instance), EnvironmentChain([NativeEnvironment(dataset)]))
    )
    store = Store.open(f"sqlite:///{world.root / 's.sqlite'}")
    session = store.create_session(
        NewSession(instance=instance, dataset=dataset.fingerprint(), dataset_path=str(world.data))
    )
    store.append(session.id, 0, 0, executed.trajectory.steps)
    store.close()
    return session.key


def test_tools_are_listed_and_called(world: World) -> None:
    listed = world.done("tools", world.data, "--capability", "1", "--domain", "shop")
    assert listed.returncode == 0, listed.stderr
    assert any(line.startswith("aggregate_data ") for line in listed.stdout.splitlines())
    as_json = json.loads(world.done("tools", world.data, "--capability", "1", "--domain", "shop", "--json").stdout)
    assert {tool["name"] for tool in as_json} == {line.split()[0] for line in listed.stdout.splitlines()}
    arguments = {
        "data_label": "retrieved_goods_1",
        "key_name": "goods_id",
        "aggregation_operation": "count",
        "limit": "-1",
    }
    place: list[str | Path] = ["tools", world.data, "--capability", "1", "--domain", "shop"]
    called = world.done(*place, "aggregate_data", json.dumps(arguments))
    assert (called.returncode, called.stdout) == (0, "5\n")
    refused = world.done(*place, "aggregate_data", "{}")
    assert refused.returncode == 2 and refused.stdout and "failed" in refused.stderr
    assert world.done(*place, "aggregate_data", "[1]").returncode == 2


def test_validate_names_file_record_and_field(world: World) -> None:
    good = world.done("validate", world.run)
    assert (good.returncode, good.stdout) == (0, "")
    path = world.predictions("farm")
    records = json.loads(path.read_text())
    del records[1]["output"][0]["answer"]
    path.write_text(json.dumps(records))
    bad = world.done("validate", world.run)
    assert bad.returncode == 2
    assert "farm.json" in bad.stdout and "record 2" in bad.stdout and "answer" in bad.stdout
    assert world.done("validate", "no-such-folder").returncode == 2


def test_predictions_that_are_written_are_valid_and_score_the_same(world: World) -> None:
    first = world.batch("--out", "a.json", "--predictions-out", "made/run", "--quiet")
    assert first.returncode == 0, first.stderr
    assert world.done("validate", "made/run").returncode == 0
    assert world.batch("--run", "made/run", "--out", "b.json", "--quiet").returncode == 0
    one, other = (json.loads((world.root / name).read_text()) for name in ("a.json", "b.json"))
    assert one["instances"] == other["instances"]


def test_a_recorded_environment_gives_the_same_verdicts(world: World) -> None:
    assert world.batch("--out", "a.json", "--record", "rec", "--quiet").returncode == 0
    shutil.rmtree(world.data / "databases")
    replayed = world.batch("--out", "b.json", "--env", "recorded:rec", "--quiet")
    assert replayed.returncode == 0, replayed.stderr
    one, other = (json.loads((world.root / name).read_text()) for name in ("a.json", "b.json"))
    assert [line["passed"] for line in one["instances"]] == [line["passed"] for line in other["instances"]]
    assert other["environments"][0]["kind"] == "recorded" and other["environments"][0]["name"] == "rec"
    path = world.predictions("farm")
    records = json.loads(path.read_text())
    records[0]["output"][0]["sequence"]["tool_call"][1]["arguments"]["value"] = 12345
    path.write_text(json.dumps(records))
    changed = world.batch("--out", "c.json", "--env", "recorded:rec", "--quiet")
    assert changed.returncode == 4
    lines = json.loads((world.root / "c.json").read_text())["instances"]
    assert [line["reason"] for line in lines if line["status"] == "unscored"] == ["not recorded"]


def test_the_first_environment_that_serves_a_domain_answers_it(world: World) -> None:
    assert world.batch("--domain", "farm", "--record", "rec", "--quiet").returncode == 0
    shutil.rmtree(world.data / "databases" / "farm")
    both = world.batch("--env", "recorded:rec", "--env", "native", "--out", "r.json", "--quiet")
    assert both.returncode == 0, both.stderr
    assert [entry["kind"] for entry in json.loads((world.root / "r.json").read_text())["environments"]] == [
        "recorded",
        "native",
    ]


def test_sessions_replay_and_export(world: World, stored: str) -> None:
    store = ["--db", f"sqlite:///{world.root / 's.sqlite'}"]
    listed = world.done("sessions", *store)
    assert stored in listed.stdout and listed.returncode == 0
    assert stored in world.done("sessions", "aggregate_data", *store).stdout
    assert world.done("sessions", "nowhere-in-it", *store).stdout == ""
    replayed = world.done("replay", stored, *store)
    assert replayed.returncode == 0, replayed.stderr
    assert [line.split()[1] for line in replayed.stdout.splitlines()] == ["same"] * 4
    exported = world.done("export", stored[:6], "--to", "submission", *store)
    place = world.root / "exported" / FOLDER
    place.mkdir(parents=True)
    (place / "farm.json").write_text(exported.stdout)
    assert world.done("validate", world.root / "exported").returncode == 0
    steps = world.done("export", stored, "--to", "jsonl", *store).stdout.splitlines()
    head, *rest = [json.loads(step) for step in steps]
    assert head["steps"] == len(rest) == 4
    assert world.done("export", "no-such-key", "--to", "jsonl", *store).returncode == 2


def test_doctor(world: World) -> None:
    result = world.done("doctor", world.data, "--json")
    found: dict[str, Any] = json.loads(result.stdout)
    assert result.returncode == 0, result.stdout
    assert found["dataset"]["instances"] == 20
    assert found["environments"]["problems"] == []
    (world.data / "databases" / "farm" / "farm.sqlite").unlink()
    ill = world.done("doctor", world.data)
    assert ill.returncode == 4
    assert "no environment serves capability 1 of the domain 'farm'" in ill.stdout


def test_doctor_tells_of_folders_whose_names_are_no_text(world: World) -> None:
    folder = os.fsdecode(os.fsencode(world.root) + b"/odd\xff")
    shutil.copytree(world.data, folder)
    done = subprocess.run(
        world.command("doctor", folder, "--json"),
        cwd=world.root,
        env=world.environment,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode in (0, 4), done.stderr
    assert "odd\ufffd" in json.dumps(json.loads(done.stdout), ensure_ascii=False)


def test_only_commands_that_exist_are_listed(world: World) -> None:
    text = world.done("--help").stdout
    listed = [line.split()[0] for line in text.split("other commands")[1].splitlines()[1:] if line.strip()]
    for name in listed:
        assert world.done(name, "--help").returncode == 0, name


def test_a_hostile_record_is_shown_harmlessly(world: World) -> None:
    path = world.predictions("farm")
    records = json.loads(path.read_text())
    records.append({**prediction("farm", 3, "1"), "uuid": "\x1b[2J\x07", "status": "odd"})
    path.write_text(json.dumps(records))
    result = world.done("validate", world.run)
    assert result.returncode == 2
    assert "\x1b" not in result.stdout + result.stderr
