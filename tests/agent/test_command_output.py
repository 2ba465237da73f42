"""What a command prints on standard error, and how its processes end: nothing reaches the screen, nothing is left."""

from __future__ import annotations

import asyncio
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from agent_toy import instance

from sessions.agent import AgentFailure
from sessions.agent.command import CommandAgent
from sessions.trajectory import GiveUp, Trajectory

LOUD = r"""
import json, sys
for line in sys.stdin:
    sys.stderr.write("\x1b]0;title\x07\x1b[31mred\n" * 3)
    sys.stderr.flush()
    print(json.dumps({"give_up": "enough"}), flush=True)
"""
DYING = r"""
import sys
sys.stdin.readline()
sys.stderr.write("first\nno key is set \x1b[2J\n")
sys.exit(3)
"""
ENDLESS = r"""
import os, sys
sys.stdin.readline()
open(sys.argv[1], "w").write(f"{os.getpid()}\n")
while True:
    sys.stdout.write("x" * 65536)
"""
STOPPED = r"""
import os, signal, subprocess, sys
sys.stdin.readline()
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(sys.argv[1], "w").write(f"{os.getpid()} {child.pid}\n")
os.kill(os.getpid(), signal.SIGSTOP)
"""


def command(program: str, *arguments: str) -> str:
    return shlex.join([sys.executable, "-c", program, *arguments])


def gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has waited for yet has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def logs_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def wait_until(holds: Callable[[], bool]) -> None:
    while not holds():
        time.sleep(0.01)


async def test_standard_error_goes_to_a_file_and_never_to_the_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    agent = CommandAgent(command(LOUD), logs=tmp_path / "state")
    driver = agent.driver(instance())
    assert await driver.next(Trajectory(instance=instance()), []) == GiveUp(reason="enough")
    await driver.close()
    await agent.aclose()
    assert capfd.readouterr() == ("", "")
    kept = (tmp_path / "state" / "agent-1.log").read_text()
    assert kept == "␛]0;title␇␛[31mred\n" * 3


async def test_without_a_folder_standard_error_is_left_alone(capfd: pytest.CaptureFixture[str]) -> None:
    agent = CommandAgent(command(LOUD))
    driver = agent.driver(instance())
    await driver.next(Trajectory(instance=instance()), [])
    await driver.close()
    await agent.aclose()
    assert "red" in capfd.readouterr().err


async def test_a_failure_quotes_the_last_lines_and_names_the_file(tmp_path: Path) -> None:
    driver = CommandAgent(command(DYING), logs=tmp_path).driver(instance())
    with pytest.raises(AgentFailure) as failed:
        await driver.next(Trajectory(instance=instance()), [])
    assert str(failed.value).endswith(
        f"ended before it decided. On standard error it said: first | no key is set ␛[2J "
        f"(all of it: {tmp_path / 'agent-1.log'})"
    )


async def test_two_processes_at_a_time_have_files_of_their_own(tmp_path: Path) -> None:
    agent = CommandAgent(command(LOUD), logs=tmp_path)
    drivers = [agent.driver(instance()) for _ in range(2)]
    for driver in drivers:
        await driver.next(Trajectory(instance=instance()), [])
    assert logs_in(tmp_path) == ["agent-1.log", "agent-2.log"]
    for driver in drivers:
        await driver.close()
    await agent.aclose()
    again = agent.driver(instance())
    await again.next(Trajectory(instance=instance()), [])
    await again.close()
    await agent.aclose()
    assert logs_in(tmp_path) == ["agent-1.log", "agent-2.log"]


async def test_a_folder_that_cannot_be_written_keeps_no_agent_from_deciding(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    agent = CommandAgent(command(LOUD), logs=tmp_path / "state")
    driver = agent.driver(instance())
    assert await driver.next(Trajectory(instance=instance()), []) == GiveUp(reason="enough")
    await driver.close()
    await agent.aclose()
    failing = CommandAgent(command(DYING), logs=tmp_path / "state").driver(instance())
    with pytest.raises(AgentFailure, match=r"said: first \| no key is set .*agent-1\.log cannot be written: "):
        await failing.next(Trajectory(instance=instance()), [])


@pytest.mark.parametrize("program", [ENDLESS, STOPPED], ids=["endless", "stopped"])
async def test_an_interrupted_process_is_gone_with_what_it_started(program: str, tmp_path: Path) -> None:
    told = tmp_path / "pids"
    driver = CommandAgent(command(program, str(told)), logs=tmp_path).driver(instance())
    asked = asyncio.ensure_future(driver.next(Trajectory(instance=instance()), []))
    await asyncio.to_thread(wait_until, lambda: told.exists() and told.read_text().endswith("\n"))
    asked.cancel()
    with pytest.raises((asyncio.CancelledError, AgentFailure)):
        await asked
    pids = [int(word) for word in told.read_text().split()]
    await asyncio.to_thread(wait_until, lambda: all(gone(pid) for pid in pids))
