"""A batch that is interrupted or killed, and taken up again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from slow_judge import SlowJudge
from small_world import World, make_world

INSTANCES = 20


@pytest.fixture
def judge() -> Iterator[SlowJudge]:
    with SlowJudge(hold_after=12, waiting=2) as server:
        yield server


@pytest.fixture
def started(world: World, judge: SlowJudge) -> Iterator[subprocess.Popen[str]]:
    """A batch that has asked the judge as often as it answers, and now waits for it."""
    (world.root / "tmp").mkdir()
    process = subprocess.Popen(
        command(world, judge),
        cwd=world.root,
        env={**world.environment, "TMPDIR": str(world.root / "tmp")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        held = judge.held.wait(120)
        if not held:
            process.kill()  # or its words would be waited for as long as the judge holds its answers back
        assert held, process.communicate()
        yield process
    finally:
        process.kill()
        process.wait()


def words(world: World, judge: SlowJudge, *more: str) -> list[str | Path]:
    judged = ["--judge", "openai", "--judge-model", "m", "--judge-base-url", judge.url, "--concurrency", "2"]
    return ["--batch", world.data, "--run", world.run, *judged, "--out", "r.json", *more]


def command(world: World, judge: SlowJudge, *more: str) -> list[str]:
    return world.command(*words(world, judge, *more))


def resume(world: World, judge: SlowJudge) -> bytes:
    judge.release()
    done = world.done(*words(world, judge, "--resume", "--quiet"))
    assert done.returncode == 0, done.stderr
    return (world.root / "r.json").read_bytes()


def undisturbed(tmp_path: Path) -> bytes:
    with SlowJudge() as judge:
        world = make_world(tmp_path / "other" / "world")
        report = resume(world, judge)
        return report.replace(str(world.data).encode(), b"")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_keeps_what_is_finished(
    number: signal.Signals, world: World, judge: SlowJudge, started: subprocess.Popen[str], tmp_path: Path
) -> None:
    started.send_signal(number)
    _, narration = started.communicate(timeout=120)
    assert started.returncode == 130
    assert "--resume" in narration
    assert not (world.root / "r.json").exists()
    answered = judge.answered
    report = resume(world, judge)
    assert report.replace(str(world.data).encode(), b"") == undisturbed(tmp_path)
    assert judge.repeated == 0
    assert judge.answered > answered


def test_a_second_interrupt_ends_at_once(world: World, started: subprocess.Popen[str]) -> None:
    started.send_signal(signal.SIGINT)
    started.send_signal(signal.SIGTERM)
    started.communicate(timeout=120)
    assert started.returncode == 130
    assert list((world.root / "tmp").iterdir()) == []


def test_a_killed_batch_goes_on_where_it_was(
    world: World, judge: SlowJudge, started: subprocess.Popen[str], tmp_path: Path
) -> None:
    started.kill()
    started.communicate(timeout=120)
    assert not (world.root / "r.json").exists()
    report = resume(world, judge)
    assert report.replace(str(world.data).encode(), b"") == undisturbed(tmp_path)
    assert judge.repeated == 0
    assert len(json.loads(report)["instances"]) == INSTANCES


def test_an_interrupt_reaches_work_that_never_waits() -> None:
    """Work inside one long call sees no cancellation; the program ends all the same, and in time."""
    code = (
        "import threading, sys\nfrom vakra_tui.cli.supervision import supervised\n"
        "def work(stop):\n    print('started', flush=True)\n    threading.Event().wait()\n    return 0\n"
        "def last():\n    print('kept', flush=True)\n    raise OSError('the disk is full')\n"
        "raise SystemExit(supervised(work, last=last))\n"
    )
    process = subprocess.Popen([World.command(None)[0], "-c", code], stdout=subprocess.PIPE, text=True)  # type: ignore[arg-type]
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert rest == "kept\n"


def worker_pids(parent: int) -> list[int]:
    """Processes of a pool; the helper that multiprocessing starts beside them is left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "stat").read_text().rpartition(")")[2].split()
                command_line = (entry / "cmdline").read_bytes()
            except OSError:
                continue  # it has ended
            if int(status[1]) == parent and b"spawn_main" in command_line:
                found.append(int(entry.name))
    return found


def test_workers_share_the_rulings_that_were_paid_for(world: World, tmp_path: Path) -> None:
    with SlowJudge() as judge:
        for more in (["--workers", "2"], ["--workers", "2"], []):
            done = world.done(*words(world, judge, "--quiet", *more))
            assert done.returncode == 0, done.stderr
        assert judge.answered > 0
        assert judge.repeated == 0


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to find the worker processes")
def test_a_worker_that_dies_ends_the_batch_in_a_sentence(world: World) -> None:
    with SlowJudge(hold_after=4, waiting=2) as judge:
        process = subprocess.Popen(
            command(world, judge, "--workers", "2"),
            cwd=world.root,
            env=world.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert judge.held.wait(120)
        os.kill(worker_pids(process.pid)[0], signal.SIGKILL)
        _, narration = process.communicate(timeout=120)
        assert process.returncode == 2
        assert "ended unexpectedly" in narration and "--resume" in narration
        assert "Traceback" not in narration
        assert resume(world, judge)
