"""How the program starts: our own packages whatever the folder, nothing heavy for help, version and the batch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(sys.executable).with_name("vakra-tui")
HEAVY = ("textual", "rich", "mcp", "openai", "fastapi", "sqlalchemy", "numpy", "jsonschema", "yaml", "httpx2")


def start(arguments: list[str], *, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture
def crowded(tmp_path: Path) -> Path:
    """A folder with packages of the user's own under our names."""
    for name in ("eval", "sessions", "toolenv"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the wrong package was imported')\n")
    return tmp_path


COMMANDS = [[str(SCRIPT)], [sys.executable, "-m", "vakra_tui"]]


@pytest.mark.parametrize("command", COMMANDS, ids=["script", "module"])
@pytest.mark.parametrize("arguments", [["--version"], ["compare", "no.json", "no.json"]], ids=["version", "command"])
def test_a_folder_with_packages_of_its_own_changes_nothing(
    command: list[str], arguments: list[str], crowded: Path
) -> None:
    if not SCRIPT.exists():
        pytest.skip("the entry point is not installed beside this interpreter")
    result = start([*command, *arguments], cwd=crowded)
    assert "wrong package" not in result.stdout + result.stderr
    if arguments == ["--version"]:
        assert result.returncode == 0 and result.stdout.startswith("vakra-tui ")
    else:
        assert result.returncode == 2 and "cannot read the report no.json" in result.stderr


def test_packages_that_hide_ours_are_refused_in_a_sentence(crowded: Path) -> None:
    result = start(
        [sys.executable, "-c", "from vakra_tui.cli import main; raise SystemExit(main(['--version']))"], cwd=crowded
    )
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "hides this program's own package" in result.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["tools", "--help"], ["compare", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    code = (
        "import sys\nfrom vakra_tui.cli import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit as end:\n    assert end.code == 0, end.code\n"
        f"found = sorted(set({HEAVY!r}) & set(sys.modules))\nassert not found, found\n"
    )
    result = start([sys.executable, "-c", code], cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "usage:" in result.stdout or result.stdout.startswith("vakra-tui")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--nonsense"], "unrecognized arguments"),
        (["--capability", "7"], "invalid choice"),
        (["--out", "x.json"], "--out needs --batch"),
        (["--fail-under", "0"], "--fail-under needs --batch"),
        (["--batch", "--concurrency", "0", "x"], "less than 1"),
        (["--batch", "--fail-under", "40", "x"], "between 0 and 1"),
        ([], "needs a terminal"),
    ],
)
def test_unusable_commands_are_refused_in_one_line(arguments: list[str], words: str, tmp_path: Path) -> None:
    result = start([sys.executable, "-m", "vakra_tui", *arguments], cwd=tmp_path)
    assert result.returncode == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
