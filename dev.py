#!/usr/bin/env python3
"""Set up and use a checkout with nothing but Python 3.11: ``python3 dev.py try`` and ``python3 dev.py test``.

``try`` installs the package into ``.venv`` and opens the debugger on the built-in sample; further arguments go to
``vakra-tui``. ``test`` installs the development tools as well and runs format, lint, types, import rules and tests;
further arguments go to pytest. Set-up is repeated only when the list of dependencies has changed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / "bin"


def say(text: str) -> None:
    print(f"dev.py: {text}", file=sys.stderr, flush=True)


def usable() -> bool:
    """Whether the virtual environment runs, has pip, and is that of this folder: one that was moved starts nothing."""
    try:
        notes = (VENV / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    made = [line for line in notes if line.startswith("command = ")]
    if any(not line.endswith(str(VENV)) for line in made) or not (BIN / "python").exists():
        return False
    asked = [str(BIN / "python"), "-m", "pip", "--version"]
    return not subprocess.run(asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def stamped(name: str, digest: str) -> bool:
    stamp = VENV / f".installed-{name}"
    return stamp.exists() and stamp.read_text(encoding="utf-8") == digest


def set_up(extra: str) -> None:
    """Create the virtual environment and install the checkout, unless that has been done for these dependencies.

    An environment that cannot be used (a set-up that was interrupted, an interpreter that is gone) is made anew.
    """
    content = b"".join((ROOT / name).read_bytes() for name in ("pyproject.toml", "constraints.txt"))
    digest = hashlib.sha256(content + str(ROOT).encode()).hexdigest()
    # What the tests need includes what the program needs.
    if (BIN / "python").exists() and any(stamped(name, digest) for name in {extra or "run", "dev"}):
        return
    if not usable():
        if VENV.exists() and not VENV.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "is no folder", str(VENV))
        say(f"making {VENV.name} anew" if VENV.exists() else f"creating {VENV.name}")
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
    say("installing (once; about a minute)")
    target = f"{ROOT}[{extra}]" if extra else str(ROOT)
    command = [str(BIN / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, "--editable", target, "--constraint", str(ROOT / "constraints.txt")], check=True)
    (VENV / f".installed-{extra or 'run'}").write_text(digest, encoding="utf-8")


def try_it(arguments: list[str]) -> int:
    set_up("")
    command = str(BIN / "vakra-tui")
    os.execv(command, [command, *arguments])


def test(arguments: list[str]) -> int:
    set_up("dev")
    checks = [
        ("format", ["ruff", "format", "--check", "."]),
        ("lint", ["ruff", "check", "."]),
        ("types", ["mypy"]),
        ("import rules", ["lint-imports"]),
        ("tests", ["pytest", *(arguments or ["-n", "2", "--dist", "loadgroup"])]),
    ]
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"}
    failed = []
    for name, (program, *rest) in checks:
        say(f"{name}: {program} {' '.join(rest)}")
        if subprocess.run([str(BIN / program), *rest], cwd=ROOT, env=environment).returncode:
            failed.append(name)
    if failed:
        say(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def main() -> int:
    if sys.version_info < (3, 11):  # noqa: UP036 -- it runs before anything is installed
        say(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}: run it with python3.11")
        return 2
    commands = {"try": try_it, "test": test}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        print(__doc__)
        return 2
    try:
        return commands[sys.argv[1]](sys.argv[2:])
    except subprocess.CalledProcessError as error:
        say(f"this step failed with exit code {error.returncode}: {' '.join(map(str, error.cmd))}")
        if "venv" in error.cmd:
            say("Python's venv and ensurepip are needed (on Debian and Ubuntu: the package python3-venv)")
        return 2
    except OSError as error:
        say(f"{error.filename or VENV}: {error.strerror}; if {VENV.name} is broken, remove it and try again")
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
