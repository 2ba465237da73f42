"""Inputs that might never end are refused with one sentence; a pipe that a shell fills is read."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from small_world import World

PATIENCE_S = 120


def run(world: World, *arguments: str | Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        world.command(*arguments),
        cwd=world.root,
        env=world.environment,
        input=given,
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
    )


@pytest.fixture
def report(world: World) -> Path:
    made = run(world, "--batch", world.data, "--run", world.run, "--out", "r.json", "--quiet")
    assert made.returncode == 0, made.stderr
    return world.root / "r.json"


@pytest.fixture
def unfed(world: World) -> Path:
    path = world.root / "unfed"
    os.mkfifo(path)
    return path


def test_reports_are_read_from_files_alone(world: World, report: Path, unfed: Path) -> None:
    for path, kind in ((unfed, "a pipe"), (Path("/dev/zero"), "a device"), (Path("/dev/null"), "a device")):
        for pair in ((path, report), (report, path)):
            refused = run(world, "compare", *pair)
            assert refused.returncode == 2, refused.stderr
            assert refused.stderr.decode() == f"vakra-tui: cannot read the report {path}: it is {kind}, not a file\n"


def test_a_report_may_come_from_stdin_or_from_another_command(world: World, report: Path) -> None:
    piped = run(world, "compare", "-", report, given=report.read_bytes())
    assert piped.returncode == 0, piped.stderr
    assert b"the runs differ on no instance" in piped.stdout
    command = shlex.join(str(part) for part in world.command("compare"))
    quoted = shlex.quote(str(report))
    substituted = subprocess.run(
        ["bash", "-c", f"{command} <(cat {quoted}) {quoted}"],
        cwd=world.root,
        env=world.environment,
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert substituted.returncode == 0, substituted.stderr
    assert substituted.stdout == run(world, "compare", report, report).stdout
    empty = run(world, "compare", "-", report)
    assert empty.returncode == 2
    assert b"is not a report" in empty.stderr


def test_rulings_are_read_from_files_alone(world: World, unfed: Path) -> None:
    for path, kind in ((unfed, "a pipe"), (Path("/dev/zero"), "a device")):
        refused = run(world, "--batch", world.data, "--run", world.run, "--judge", f"recorded:{path}")
        assert refused.returncode == 2, refused.stderr
        assert f"The rulings in {path} cannot be read: it is {kind}, not a file." in refused.stderr.decode()


@pytest.mark.parametrize(("kind", "name"), [("a pipe", "unfed"), ("a device", "/dev/zero")])
def test_connections_databases_and_questions_are_read_from_files_alone(
    world: World, unfed: Path, kind: str, name: str
) -> None:
    path = unfed if name == "unfed" else Path(name)
    (world.root / "questions.json").write_text('[{"question": "How many?", "sql": "select 1"}]')
    building = ("build", "--domain", "d", "--out", "made", "--db")
    asked: tuple[tuple[str | Path, ...], ...] = (
        ("--batch", world.data, "--run", world.run, "--env", f"config:{path}"),
        (*building, path, "--questions", "questions.json"),
        (*building, world.data / "databases" / "farm" / "farm.sqlite", "--questions", path),
    )
    for arguments in asked:
        refused = run(world, *arguments)
        assert refused.returncode == 2, refused.stderr
        assert f"{path} cannot be read: it is {kind}, not a file" in refused.stderr.decode()


def test_links_that_lead_in_a_circle_are_told_like_files_that_are_not_there(world: World) -> None:
    circle = world.root / "circle"
    circle.symlink_to(circle)
    batch = ("--batch", world.data, "--run", world.run)
    for arguments in (
        (*batch, "--out", circle),
        (*batch, "--env", f"recorded:{circle}"),
        (*batch, "--env", f"vakra:{circle}"),
        (*batch, "--predictions-out", circle, "--agent", "command:true"),
        ("--batch", world.data, "--run", circle),
        ("--batch", circle, "--run", world.run),
        ("import", circle),
        ("validate", circle),
    ):
        refused = run(world, *arguments)
        assert refused.returncode in (2, 3), refused.stderr
        assert b"an error of this program" not in refused.stderr
        assert str(circle) in refused.stderr.decode()
