"""The command line: parsing, wiring, exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of ``vakra-tui``; returns the exit code of the command line's contract."""
    from vakra_tui.cli.commands import run

    return run(list(sys.argv[1:] if argv is None else argv))
