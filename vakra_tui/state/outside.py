"""Programs of the user's own that show or edit a text: chosen by the environment, run without a shell."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from toolenv.errors import DataError
from vakra_tui.text import sanitize

Kind = Literal["pager", "editor"]

VARIABLES: dict[Kind, tuple[str, ...]] = {"pager": ("PAGER",), "editor": ("VISUAL", "EDITOR")}
"""Where a program of each kind is named, the first that is set counts."""


def program_of(kind: Kind, environment: Mapping[str, str] = os.environ) -> list[str]:
    """The command of the user's pager or editor, its options included. Raises ``DataError`` where there is none."""
    names = VARIABLES[kind]
    named = next((name for name in names if environment.get(name, "").strip()), None)
    dollars = " or ".join(f"${name}" for name in names)
    if named is None:
        example = "PAGER=less" if kind == "pager" else "EDITOR=vi"
        raise DataError(f"{dollars} is not set, so there is no {kind} to open; start with {example} vakra-tui, say.")
    try:
        words = shlex.split(environment[named])
    except ValueError as error:
        raise DataError(f"${named} is {environment[named]!r}, which cannot be read as a command ({error}).") from error
    found = shutil.which(words[0], path=environment.get("PATH")) if words else None
    if found is None:
        raise DataError(f"${named} is {environment[named]!r}, and no such program is found.")
    return [found, *words[1:]]


def offered(environment: Mapping[str, str] = os.environ) -> list[Kind]:
    """The kinds of program that the environment names and that are there."""
    kinds: list[Kind] = []
    for kind in VARIABLES:
        with suppress(DataError):
            program_of(kind, environment)
            kinds.append(kind)
    return kinds


def shown_text(kind: Kind, text: str) -> str:
    """The text as a program of this kind gets it.

    A pager may hand it to the terminal as it is, so everything that is not a line break or a tab is made harmless; an
    editor shows control characters itself and gets the data unchanged.
    """
    if kind == "editor":
        return text
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join("\t".join(sanitize(part) for part in line.split("\t")) for line in lines)


def run(kind: Kind, text: str, name: str, environment: Mapping[str, str] = os.environ) -> None:
    """Show a text in the user's program and wait for its end; the temporary file is gone afterwards.

    ``name`` becomes part of the file's name, so that editors know its kind. What is changed there is not read back.
    Raises ``DataError`` where the program cannot be started or fails.
    """
    command = program_of(kind, environment)
    try:
        with tempfile.TemporaryDirectory(prefix="vakra-tui-") as folder:
            path = Path(folder) / file_name(name)
            path.write_bytes(shown_text(kind, text).encode("utf-8", "replace"))
            path.chmod(0o600)
            with _terminal_kept(), _interrupts_left():
                ended = subprocess.run([*command, str(path)], check=False).returncode
    except OSError as error:
        raise DataError(f"{command[0]} cannot be started: {error.strerror or error}.") from error
    if ended != 0:
        how = f"was ended by signal {-ended}" if ended < 0 else f"ended with {ended}"
        raise DataError(f"{command[0]} {how}.")


@contextmanager
def _terminal_kept() -> Iterator[None]:
    """Put the terminal's settings back as they were: a program that was killed may leave it without echo or lines."""
    import termios

    # The standard streams may have been replaced; the terminal is what file descriptor 0 is.
    try:
        before = termios.tcgetattr(0)
    except (termios.error, OSError):
        yield
        return
    try:
        yield
    finally:
        with suppress(termios.error, OSError):
            termios.tcsetattr(0, termios.TCSADRAIN, before)


@contextmanager
def _interrupts_left() -> Iterator[None]:
    """Leave the interrupt key to the other program, which may mean something by it, instead of ending this one too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # A handler that does nothing, not SIG_IGN: the other program would inherit that.
    kept = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")
NAME_AT_MOST = 100


def file_name(wanted: str, fallback: str = "text") -> str:
    """A name that is safe in every folder: letters, digits, dots, hyphens; never hidden, never too long."""
    name = _UNFIT.sub("-", wanted).strip("-.")
    if len(name) > NAME_AT_MOST:
        stem, dot, ending = name.rpartition(".")
        ending = ending if dot and len(ending) <= 10 else ""
        stem = stem if ending else name
        name = stem[: NAME_AT_MOST - len(ending) - 1].rstrip("-.") + (f".{ending}" if ending else "")
    return name or fallback
