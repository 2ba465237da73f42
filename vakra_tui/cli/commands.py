"""Which commands there are, and how each begins. A command's module is imported when it is called."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from toolenv.errors import EnvironmentFailure, VakraError
from vakra_tui.cli.parser import Parser, batch_options_of, main_parser, options_of, was_given
from vakra_tui.cli.streams import OutputGone, is_terminal, narrate

COMMANDS = {
    "serve": "serve the tools of a domain over MCP (stdio, or --http HOST:PORT)",
    "tools": "list the tools of a domain, or call one",
    "validate": "check a run against the submission schema",
    "build": "make a dataset from a database, or check one",
    "compare": "compare two reports on the same instances",
    "sessions": "list or search stored sessions",
    "replay": "run a stored session again and compare",
    "import": "take trajectories in other forms into the store",
    "export": "write a session, a run or the flagged instances in another form",
    "doctor": "versions, paths, environments reached, store health",
}
"""Name -> help; each is ``vakra_tui.cli.<name>`` with ``main(argv) -> int``."""

MODULES = {"import": "import_command"}
"""Modules that cannot have their command's name."""

BATCH_ONLY = ("out", "resume", "fail_under", "predictions_out", "dry_run", "repair")
"""Options that mean nothing without ``--batch``."""

TRACEBACK_VARIABLE = "VAKRA_TUI_TRACEBACK"
LONGEST_FAULT = 300

DRIVER_VARIABLE = "TEXTUAL_DRIVER"
"""The screen library's own: where it is set, that library speaks to something else than a terminal."""


def run(argv: Sequence[str]) -> int:
    """Run a command to its exit code; an error that has a sentence becomes one line on stderr."""
    try:
        if argv and argv[0] in COMMANDS:
            command = import_module(f"vakra_tui.cli.{MODULES.get(argv[0], argv[0])}")
            code: int = command.main(list(argv[1:]))
            return code
        return _main(argv)
    except EnvironmentFailure as error:
        narrate(f"vakra-tui: {error}")
        return 3
    except VakraError as error:
        narrate(f"vakra-tui: {error}")
        return 2
    except OutputGone:
        return 2
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if error.strerror is None:
            narrate(f"vakra-tui: {_own_fault(error)}")
        else:
            named = error.filename if error.filename is not None else "a file, perhaps a temporary one (see TMPDIR),"
            narrate(f"vakra-tui: {named} cannot be used: {error.strerror}")
        return 2
    except Exception as error:  # noqa: BLE001 - exit code 1, the interpreter's own, means something else here
        narrate(f"vakra-tui: {_own_fault(error)}")
        if os.environ.get(TRACEBACK_VARIABLE):
            for line in traceback.format_exception(error):
                for part in line.splitlines():
                    narrate(part)
        return 2


def _own_fault(error: Exception) -> str:
    """One sentence about an error that no part of the program knows."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    said = " ".join(str(error).split())[:LONGEST_FAULT]
    return (
        f"an error of this program: {type(error).__name__}{where}{f' ({said})' if said else ''}; "
        f"please report it, with what {TRACEBACK_VARIABLE}=1 shows"
    )


def _main(argv: Sequence[str]) -> int:
    parser = main_parser(list(COMMANDS.items()))
    arguments = parser.parse_args(argv)
    options = options_of(arguments)
    if arguments.batch:
        from vakra_tui.cli.batch import run as run_batch

        return run_batch(options, batch_options_of(arguments))
    _refuse_batch_options(parser, vars(arguments))
    if not _has_screen():
        narrate("vakra-tui: the debugger needs a terminal; use --batch to score without one")
        return 2
    import asyncio

    from vakra_tui.app import VakraApp
    from vakra_tui.ending import run_screen
    from vakra_tui.wiring import Wiring

    return asyncio.run(run_screen(VakraApp(Wiring(options))))


def _has_screen() -> bool:
    """Whether there is a terminal, or a browser behind pipes: ``textual serve`` names the driver that speaks to it."""
    return DRIVER_VARIABLE in os.environ or (is_terminal(sys.stdin) and is_terminal(sys.stdout))


def _refuse_batch_options(parser: Parser, arguments: dict[str, object]) -> None:
    for name in BATCH_ONLY:
        if was_given(arguments[name]):
            parser.error(f"--{name.replace('_', '-')} needs --batch")
