"""The user's own programs: chosen by the environment, run without a shell, their temporary files gone afterwards."""

from __future__ import annotations

import shlex
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolenv.errors import DataError
from vakra_tui.state.outside import NAME_AT_MOST, file_name, offered, program_of, run, shown_text

PYTHON = shlex.quote(sys.executable)

SHOWER = """\
import pathlib, stat, sys
*options, path = sys.argv[1:]
told = pathlib.Path(path)
out = pathlib.Path(options[-1])
out.write_bytes(told.read_bytes())
out.with_suffix(".told").write_text("\\n".join([*options, path, oct(stat.S_IMODE(told.stat().st_mode))]))
"""


@pytest.fixture
def shower(tmp_path: Path) -> tuple[str, Path]:
    """A program that keeps what it was given: its command, and the file that it writes."""
    script = tmp_path / "show er.py"
    script.write_text(SHOWER)
    out = tmp_path / "out.bin"
    return shlex.join([sys.executable, str(script), "--plain", str(out)]), out


def test_a_pager_gets_harmless_text_and_its_file_is_gone_afterwards(shower: tuple[str, Path]) -> None:
    command, out = shower
    text = "one\n\ttwo \x1b[31mred\x1b[0m \x9b2J \u202e\n$(touch x); `id`\r\nend \ud800"
    run("pager", text, "../../etc/pass wd;$(id).json", {"PAGER": command})
    assert out.read_text(encoding="utf-8") == (
        "one\n\ttwo \u241b[31mred\u241b[0m <9b>2J <U+202E>\n$(touch x); `id`\nend <U+D800>"
    )
    plain, option, path, mode = out.with_suffix(".told").read_text().split("\n")
    assert (plain, option, mode) == ("--plain", str(out), "0o600")
    assert Path(path).name == "etc-pass-wd-id-.json"
    assert not Path(path).exists() and not Path(path).parent.exists()


def test_an_editor_gets_the_data_unchanged(shower: tuple[str, Path]) -> None:
    command, out = shower
    run("editor", "\x1b[31m\r\n", "a.txt", {"EDITOR": command})
    assert out.read_bytes() == b"\x1b[31m\r\n"
    assert shown_text("editor", "\x9b") == "\x9b"


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, r"\$PAGER is not set"),
        ({"PAGER": "  "}, r"\$PAGER is not set"),
        ({"PAGER": "no-such-program -x"}, "no such program is found"),
        ({"PAGER": "less 'open"}, "cannot be read as a command"),
        ({"PAGER": "''"}, "no such program is found"),
    ],
)
def test_a_program_that_is_not_there_is_said_in_words(environment: dict[str, str], said: str) -> None:
    with pytest.raises(DataError, match=said):
        run("pager", "x", "x.txt", environment)


def test_the_editor_is_named_by_visual_before_editor() -> None:
    assert program_of("editor", {"VISUAL": PYTHON, "EDITOR": "vi"})[0] == sys.executable
    assert offered({"EDITOR": f"{PYTHON} -i"}) == ["editor"]
    assert offered({"PAGER": PYTHON, "EDITOR": PYTHON}) == ["pager", "editor"]
    assert offered({}) == []


def test_a_program_that_fails_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="ended with 3"):
        run("pager", "x", "x", {"PAGER": f"{PYTHON} -c 'raise SystemExit(3)'"})


def test_a_program_that_is_killed_is_told() -> None:
    command = f"{PYTHON} -c 'import os; os.kill(os.getpid(), 9)'"
    with pytest.raises(DataError, match="ended by signal 9"):
        run("pager", "x", "x", {"PAGER": command})


def test_an_interrupt_is_the_other_programs_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    interrupting = "import os, signal; os.kill(os.getppid(), signal.SIGINT); os.kill(os.getpid(), signal.SIGINT)"
    with pytest.raises(DataError):
        run("pager", "x", "x", {"PAGER": f"{PYTHON} -c '{interrupting}'"})
    assert signal.getsignal(signal.SIGINT) is before


@given(st.text())
@example("..")
@example("a" * 300 + ".json")
@example("../../x\x00\x1b[31m.md")
@example("-rf")
@settings(max_examples=200, deadline=None)
def test_no_name_leaves_its_folder_or_hides(wanted: str) -> None:
    name = file_name(wanted)
    assert name and len(name) <= NAME_AT_MOST
    assert name.isascii() and name.isprintable() and "/" not in name and " " not in name
    assert not name.startswith((".", "-")) and Path(name).name == name
