"""A user's pager in a real terminal: it gets the text, and the screen comes back as it was."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from test_real_terminal import COMMAND, Terminal, terminal

__all__ = ["terminal"]

pytestmark = [
    pytest.mark.tmux,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="the tmux program is not installed"),
]

PAGER = """#!/bin/sh
echo "pager of $1"
cat "$1"
echo "last line, press enter"
read x
"""


def opened_in(terminal: Callable[[int, int], Terminal], pager: Path, script: str) -> Terminal:
    """A terminal in which the response of a step was handed to a pager, which does what the script says."""
    pager.write_text(script)
    pager.chmod(0o700)
    screen = terminal(120, 36)
    screen.keys(f"PAGER=\"'{pager}'\" EDITOR= VISUAL= {COMMAND} --run flawed --capability 2 --limit 1", "Enter")
    screen.until_shown("1 instance")
    screen.keys("Enter")
    screen.until_shown("BROKEN", "RIGHT")
    screen.keys("P")
    screen.until_shown("Open what?", "response")
    screen.keys("Enter")
    return screen


def test_a_pager_has_the_terminal_and_gives_it_back(terminal: Callable[[int, int], Terminal], tmp_path: Path) -> None:
    screen = opened_in(terminal, tmp_path / "my pager", PAGER)
    text = screen.until_shown("pager of ", "last line, press enter")
    assert "BROKEN" not in text
    place = Path(text.split("pager of ")[1].split("\n")[0].strip())
    assert place.name == "response.txt" and place.exists()
    screen.keys("Enter")
    screen.until_shown("BROKEN", "RIGHT", "steps 2")
    assert not place.exists() and not place.parent.exists()
    screen.keys("b")
    screen.until_shown("steps 2")
    screen.keys("q")
    screen.until_shown("ready$")


FAILING = """#!/bin/sh
stty raw -echo
exit 3
"""


def test_the_screen_and_the_terminal_come_back_from_a_program_that_fails(
    terminal: Callable[[int, int], Terminal], tmp_path: Path
) -> None:
    screen = opened_in(terminal, tmp_path / "failing pager", FAILING)
    screen.until_shown("That did not work", "ended with 3", "BROKEN")
    screen.keys("Enter")
    screen.keys("b")
    screen.until_shown("BROKEN", "steps 2")
    screen.keys("q")
    screen.until_shown("ready$")
    screen.keys("stty -a | grep -cw -e -echo -e -icanon -e -isig", "Enter")
    screen.until(
        lambda shown: "0" in shown.replace("ready$ ", "").split("\n"), "a terminal with echo, lines and signals"
    )
