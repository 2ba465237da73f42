"""What a batch executed, as sessions of the store: found by a search, replayed, apart from a person's, left out."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from small_world import World


def listed(world: World, *arguments: str) -> list[Any]:
    result = world.done("sessions", "--json", "--limit", "500", "--db", store(world), *arguments)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def store(world: World) -> str:
    return f"sqlite:///{world.root / 'kept.sqlite'}"


def scored(world: World, *arguments: str) -> subprocess.CompletedProcess[str]:
    result = world.batch("--db", store(world), "--quiet", *arguments)
    assert result.returncode == 0, result.stderr
    return result


@pytest.mark.parametrize("workers", ["1", "2"])
def test_predictions_are_kept_searched_and_replayed(world: World, workers: str) -> None:
    scored(world, "--workers", workers, "--out", "r.json")
    assert listed(world) == []
    sessions = listed(world, "--batch")
    assert len({session["uuid"] for session in sessions}) == len(sessions) == 20
    assert all(session["steps"] > 1 and session["run"] == "run" for session in sessions)
    report = json.loads((world.root / "r.json").read_text())
    passed = {line["uuid"]: line["passed"] for line in report["instances"]}
    assert {session["uuid"]: session["passed"] for session in sessions} == passed
    assert {True, False} <= set(passed.values())
    hits = listed(world, "--batch", "get_data")
    assert {hit["session"]["key"] for hit in hits} == {session["key"] for session in sessions}
    replayed = world.done("replay", sessions[0]["key"], "--db", store(world))
    assert replayed.returncode == 0, replayed.stderr
    assert {line.split()[1] for line in replayed.stdout.splitlines()} == {"same"}


def test_a_second_batch_replaces_and_a_resumed_one_adds_nothing(world: World) -> None:
    scored(world)
    first = {session["key"] for session in listed(world, "--batch")}
    scored(world, "--resume")
    assert {session["key"] for session in listed(world, "--batch")} == first
    scored(world)
    assert len(listed(world, "--batch")) == 20


def test_that_more_are_stored_than_are_listed_is_said(world: World) -> None:
    scored(world)
    some = world.done("sessions", "--batch", "--limit", "19", "--db", store(world))
    assert some.stdout.count("\n") == 19 and "there are more than these 19" in some.stderr
    every = world.done("sessions", "--batch", "--limit", "20", "--db", store(world))
    assert every.stdout.count("\n") == 20 and every.stderr == ""


def test_no_sessions(world: World) -> None:
    scored(world, "--no-sessions")
    assert listed(world, "--batch") == []
