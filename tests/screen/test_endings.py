"""The end that comes from outside: signals, a terminal that is closed, an output that is not the terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import screen_toy as toy
from screen_reading import until

from sessions.store import Store
from vakra_tui.app import VakraApp
from vakra_tui.chrome import LONGEST_TOAST
from vakra_tui.screens.message import MessageScreen
from vakra_tui.terminal import Output

PATIENCE_S = 60.0


class Started:
    """The command in a terminal of its own; ``shown`` is all that it wrote."""

    def __init__(
        self, folder: Path, *, before: Callable[[], None] = lambda: None, words: Sequence[str] = ("-m", "vakra_tui")
    ) -> None:
        homes = {name: str(folder / name.lower()) for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            before()
            os.environ.update(homes, TERM="xterm-256color")
            os.execv(sys.executable, [sys.executable, *words])
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
        self.shown = b""
        self.settings = termios.tcgetattr(self.terminal)

    def read(self) -> bool:
        """What was written meanwhile; false where there is no more to come."""
        if not select.select([self.terminal], [], [], 0.05)[0]:
            return True
        try:
            more = os.read(self.terminal, 65536)
        except OSError:
            return False
        self.shown += more
        return bool(more)

    def until(self, text: bytes) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.shown:
            assert time.monotonic() < deadline and self.read(), self.shown[-2000:]

    def ended(self) -> int:
        """The exit code, negative for the signal that killed it."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                raise AssertionError("it does not end")
            if self.terminal >= 0:
                self.read()
            else:
                time.sleep(0.05)

    def hang_up(self) -> None:
        os.close(self.terminal)
        self.terminal = -1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=["TERM", "HUP", "INT"])
def test_a_signal_ends_it_in_order(number: int, tmp_path: Path) -> None:
    started = Started(tmp_path)
    started.until(b"WATERFALL")
    os.kill(started.pid, number)
    assert started.ended() == 130
    while started.read() and b"\x1b[?1004l" not in started.shown.rpartition(b"\x1b[?1049h")[2]:
        pass
    for restored in (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l", b"\x1b[?2004l"):
        assert restored in started.shown.rpartition(b"\x1b[?1049h")[2]
    assert termios.tcgetattr(started.terminal)[:4] == started.settings[:4]
    assert (tmp_path / "xdg_state_home" / "vakra-tui" / "screen.json").exists(), "where one was is kept"
    started.hang_up()


@pytest.mark.parametrize("told", [True, False], ids=["told", "not told"])
def test_a_terminal_that_is_closed_leaves_no_process(tmp_path: Path, *, told: bool) -> None:
    started = Started(tmp_path, before=lambda: None if told else _deaf())
    started.until(b"WATERFALL")
    started.hang_up()
    assert started.ended() == 130
    assert not (tmp_path / "xdg_state_home" / "vakra-tui" / "crash.log").exists()


def test_a_signal_to_go_on_that_follows_no_stop_leaves_nothing_behind(tmp_path: Path) -> None:
    started = Started(tmp_path)
    started.until(b"WATERFALL")
    os.kill(started.pid, signal.SIGCONT)
    os.write(started.terminal, b"q")
    assert started.ended() == 0
    started.hang_up()


def test_a_stopped_program_goes_on_and_ends(tmp_path: Path) -> None:
    started = Started(tmp_path)
    started.until(b"WATERFALL")
    os.kill(started.pid, signal.SIGTSTP)
    while not (told := os.waitpid(started.pid, os.WNOHANG | os.WUNTRACED))[0]:
        started.read()
    assert os.WIFSTOPPED(told[1])
    while select.select([started.terminal], [], [], 0)[0]:
        started.read()
    started.shown = b""
    os.kill(started.pid, signal.SIGCONT)
    started.until(b"WATERFALL")
    os.write(started.terminal, b"q")
    assert started.ended() == 0
    started.hang_up()


LATE = """
import sys
import vakra_tui.leaving
from vakra_tui.cli import main
vakra_tui.leaving.CLOSING_S = 0.0
sys.exit(main())
"""


def test_what_is_said_of_a_late_end_to_a_terminal_that_is_gone_changes_no_exit_code(tmp_path: Path) -> None:
    started = Started(tmp_path, words=("-c", LATE))
    started.until(b"WATERFALL")
    started.hang_up()
    assert started.ended() == 130


def _deaf() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def test_the_screen_is_on_the_terminal_wherever_stderr_goes(tmp_path: Path) -> None:
    def elsewhere() -> None:
        os.dup2(os.open(tmp_path / "errors", os.O_WRONLY | os.O_CREAT), 2)

    started = Started(tmp_path, before=elsewhere)
    started.until(b"WATERFALL")
    os.write(started.terminal, b"q")
    assert started.ended() == 0
    assert b"\x1b" not in (tmp_path / "errors").read_bytes()
    started.hang_up()


def test_output_that_fails_is_told_once_and_thrown_away() -> None:
    class Broken:
        def write(self, text: str) -> None:
            raise OSError(5, "gone")

        flush = write

    lost: list[bool] = []
    stream: Any = Broken()
    output = Output(stream, lambda: lost.append(True))
    for _ in range(3):
        output.write("x")
        output.flush()
    assert lost == [True]


async def test_ending_while_a_dialog_opens_is_no_error(tmp_path: Path) -> None:
    app = VakraApp(toy.wiring(store=Store.open("sqlite://")))  # type: ignore[arg-type]
    app.tells_own_errors = True
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.opened, "the list")
        app.push_screen(MessageScreen("title", "text"))
        app.exit(return_code=130)
    assert app.return_code == 130


async def test_what_is_told_of_endless_data_is_cut(tmp_path: Path) -> None:
    app = VakraApp(toy.wiring(store=Store.open("sqlite://")))  # type: ignore[arg-type]
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await until(pilot, lambda: app.opened, "the list")
        app.toast("t" * 1_000_000)
        app.report("r" * 1_000_000, title="h" * 1_000_000)
        await pilot.pause()
        (note,) = app._notifications
        assert len(note.message) == LONGEST_TOAST and note.message.endswith("t...")
        assert "hhh" in "".join(
            str(line) for line in app.screen.query_one(".dialog-title").render_lines(app.size.region)
        )  # type: ignore[attr-defined]
