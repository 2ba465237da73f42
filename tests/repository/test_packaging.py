"""The wheel holds exactly the four packages, and the command finds ours whatever folder it is run from."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def test_wheel_holds_exactly_the_four_packages(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(REPOSITORY)],
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    top = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert top == {"vakra_tui", "eval", "sessions", "toolenv"}
    assert {f"{package}/py.typed" for package in top} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    tracked = subprocess.run(
        ["git", "ls-files", *sorted(top)], cwd=REPOSITORY, capture_output=True, text=True, check=False
    ).stdout.split()
    assert {name for name in tracked if name.endswith((".py", ".tcss", ".json"))} <= set(names)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_command_finds_ours_in_a_folder_with_packages_of_the_same_names(tmp_path: Path, arguments: list[str]) -> None:
    for name in ("eval", "sessions", "toolenv", "vakra_tui"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the wrong package was imported')\n")
    command = Path(sys.executable).with_name("vakra-tui")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run([str(command), *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "wrong package" not in done.stdout + done.stderr
