"""What becomes of a command whose words nobody takes, and of an error that no part of the program knows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vakra_tui.cli import commands

FULL = Path("/dev/full")
COMMAND = [sys.executable, "-m", "vakra_tui"]
BATCH = ["--batch", "--run", "flawed", "--db", "sqlite://", "--limit", "3"]


def start(shell: str, arguments: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {shell}', "sh", *COMMAND, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(
    "arguments",
    [
        BATCH,
        [*BATCH, "--format", "json"],
        [*BATCH, "--dry-run"],
        ["tools", "--capability", "2", "--domain", "elements"],
        ["doctor", "--db", "sqlite://"],
    ],
    ids=["table", "json", "dry-run", "tools", "doctor"],
)
def test_a_full_disk_is_one_sentence(arguments: list[str], tmp_path: Path) -> None:
    result = start(f"> {FULL}", arguments, tmp_path)
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].startswith("vakra-tui: standard output cannot be written: No space left")
    assert "Traceback" not in result.stderr


def test_a_quiet_batch_needs_no_standard_output(tmp_path: Path) -> None:
    result = start(">&-", [*BATCH, "--quiet", "--out", "report.json"], tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert (tmp_path / "report.json").stat().st_size


def test_an_unknown_error_is_one_harmless_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(argv: object) -> int:
        raise RuntimeError("a \x1b[31mred\x9b \n word")

    monkeypatch.setattr(commands, "_main", fails)
    monkeypatch.delenv(commands.TRACEBACK_VARIABLE, raising=False)
    assert commands.run([]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and "\x1b" not in told and "\x9b" not in told
    assert "RuntimeError" in told and "test_standard_output.py" in told
    monkeypatch.setenv(commands.TRACEBACK_VARIABLE, "1")
    assert commands.run([]) == 2
    told = capsys.readouterr().err
    assert "Traceback" in told and "\x1b" not in told


def test_an_error_of_a_file_names_the_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(commands, "_main", lambda argv: (tmp_path / "\x1b[31m").read_bytes())
    assert commands.run([]) == 2
    assert capsys.readouterr().err == f"vakra-tui: {tmp_path}/\u241b[31m cannot be used: No such file or directory\n"
