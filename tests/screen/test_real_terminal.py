"""The installed command in a real terminal: from start to end, and killed in the middle."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.tmux,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="the tmux program is not installed"),
]

PATIENCE_S = 90.0


class Terminal:
    """A shell in tmux on a socket of its own."""

    def __init__(self, folder: Path, width: int, height: int) -> None:
        self.socket = f"vakra-{uuid.uuid4().hex[:10]}"
        names = ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
        environment = " ".join(f"{name}={shlex.quote(str(folder / name.lower()))}" for name in names)
        shell = f"env -u COLUMNS -u LINES {environment} PS1='ready$ ' sh"
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), "-s", "t", shell)

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(["tmux", "-L", self.socket, *arguments], capture_output=True, text=True, check=True)
        return done.stdout

    def keys(self, *keys: str) -> None:
        self._tmux("send-keys", "-t", "t", *keys)

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-t", "t", "-l", text)

    def state(self) -> dict[str, bool]:
        """Whether the terminal shows its other screen, shows a cursor, and reports the mouse."""
        told = self._tmux("display-message", "-p", "-t", "t", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}")
        return {name: flag == "1" for name, flag in zip(("alternate", "cursor", "mouse"), told.split(), strict=True)}

    def shown(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", "t")

    def until(self, holds: Callable[[str], bool], what: str) -> str:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            text = self.shown()
            if holds(text):
                return text
            time.sleep(0.05)
        raise AssertionError(f"waited for: {what}\n{self.shown()}")

    def until_shown(self, *texts: str) -> str:
        return self.until(lambda shown: all(text in shown for text in texts), ", ".join(texts))

    def close(self) -> None:
        self._tmux("kill-server")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[[int, int], Terminal]]:
    made: list[Terminal] = []

    def make(width: int, height: int) -> Terminal:
        made.append(Terminal(tmp_path, width, height))
        return made[-1]

    yield make
    for each in made:
        each.close()


COMMAND = shlex.quote(str(Path(sys.executable).parent / "vakra-tui"))


@pytest.mark.usefixtures("first_start")
def test_start_filter_step_fork_evaluate_quit(terminal: Callable[[int, int], Terminal]) -> None:
    screen = terminal(120, 36)
    screen.keys(f"{COMMAND}; echo exit=$?", "Enter")
    screen.until_shown("Welcome.", "POLICY", "WATERFALL", "FAIL", "steps 3")
    assert screen.state() == {"alternate": True, "cursor": False, "mouse": True}
    screen.keys("Escape")
    screen.until_shown("built-in sample", "runs: flawed")
    screen.keys("/")
    screen.until_shown("find words of query")
    screen.type("~cap 1 ~domain elements greatest")
    screen.until_shown("noble gas", "1 of ")
    screen.keys("Enter")
    screen.until_shown("v evaluate")
    screen.keys("Enter")
    screen.until_shown("Which noble gas", "steps 5", "FAIL")
    screen.keys("0")
    screen.until_shown("steps 0/5", "branch ")
    screen.keys("s", "s")
    screen.until_shown("steps 2/5", "step 1: filter_data")
    screen.keys("c")
    screen.until_shown("steps 5", "final answer")
    screen.keys("v")
    screen.until_shown("broke at: argument names", "branch ")
    screen.keys("q")
    text = screen.until_shown("exit=0")
    assert "WATERFALL" not in text
    assert screen.state() == {"alternate": False, "cursor": True, "mouse": False}
    screen.keys("echo typed", "Enter")
    screen.until(lambda shown: "\ntyped" in shown, "the shell to echo")


def test_killed_in_the_middle_every_step_comes_back(terminal: Callable[[int, int], Terminal], tmp_path: Path) -> None:
    screen = terminal(80, 24)
    command = f"{COMMAND} --capability 2 --limit 1"
    screen.keys(f"{command} & echo $! > {shlex.quote(str(tmp_path / 'pid'))}; fg", "Enter")
    screen.until_shown("1 instance")
    screen.keys("Enter")
    screen.until_shown("WATERFALL", "FAIL")
    screen.keys("w")
    screen.until_shown("Who is at the wheel?")
    screen.keys("Home", "Down", "Down", "Down", "Enter")
    screen.until_shown("wheel: human")
    screen.keys("n")
    screen.until_shown("on offer")
    screen.keys('get_symbol_by_element_name {"element_name": "Radon"}', "Enter")
    screen.until_shown("steps 1", "get_symbol_by_element_name")
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    screen.until(lambda shown: "Killed" in shown or "ready$" in shown, "the shell")
    screen = terminal(80, 24)
    screen.keys(f"{command}; echo exit=$?", "Enter")
    screen.until_shown("1 instance")
    screen.keys("Enter")
    screen.until_shown("wheel: human", "steps 1", "get_symbol_by_element_name")
    screen.keys("q")
    screen.until_shown("exit=0")
