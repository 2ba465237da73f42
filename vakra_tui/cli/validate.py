"""``vakra-tui validate``: check a run against the submission schema."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vakra_tui.cli.parser import Parser
from vakra_tui.cli.streams import narrate, stdout
from vakra_tui.text import count_words, sanitize

VALID, INVALID = 0, 2


def main(argv: Sequence[str]) -> int:
    """0 when nothing is wrong; 2 when the run cannot be submitted as it is."""
    parser = Parser(prog="vakra-tui validate", description="Check a run against the submission schema.")
    parser.add_argument("run", metavar="RUN_DIR")
    arguments = parser.parse_args(argv)
    from sessions.submission_check import check_run

    result = check_run(Path(arguments.run))
    with stdout() as stream:
        for problem in result.problems:
            stream.write(sanitize(problem.sentence).encode() + b"\n")
    for note in result.notes:
        narrate(f"note: {note}")
    found = ((result.files, "file"), (result.records, "record"), (len(result.problems), "problem"))
    counted = ", ".join(count_words(number, noun) for number, noun in found)
    narrate(counted)
    return INVALID if result.problems else VALID
