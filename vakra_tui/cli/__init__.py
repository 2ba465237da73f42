"""The command line: parsing, commands, streams and exit codes. Nothing here imports a heavy library by itself."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path

_HOME = Path(__file__).resolve().parent.parent.parent
_FLOORS = ("toolenv", "sessions", "eval")


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of ``vakra-tui``; returns the exit code (0, 1, 2, 3, 4 or 130)."""
    hidden = shadowed()
    if hidden:
        sys.stderr.write(hidden + "\n")
        return 2
    from vakra_tui.cli.commands import run

    return run(list(sys.argv[1:] if argv is None else argv))


def shadowed() -> str | None:
    """A sentence when another package stands in the place of one of ours, else None.

    ``eval`` and ``sessions`` are names that others use too; what would be imported under them is looked at before it is
    imported.
    """
    for name in _FLOORS:
        loaded = sys.modules.get(name)
        spec = loaded.__spec__ if loaded is not None else PathFinder.find_spec(name)
        found = [Path(place).resolve() for place in (spec.submodule_search_locations or [])] if spec else []
        if found and found[0] != _HOME / name:
            return (
                f"vakra-tui: {found[0]} hides this program's own package {name!r}; "
                "start it from another folder, or take that folder out of PYTHONPATH"
            )
    return None
