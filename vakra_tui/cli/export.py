"""``vakra-tui export``: a stored session, or what a person flagged, in a form that others read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from eval.scored import encoded
from toolenv.errors import DataError
from vakra_tui.cli.parser import Parser
from vakra_tui.cli.streams import stdout
from vakra_tui.options import Options
from vakra_tui.wiring import Wiring

if TYPE_CHECKING:
    from sessions.store import Store

FLAGS = "flags"


def main(argv: Sequence[str]) -> int:
    parser = Parser(prog="vakra-tui export", description="Write a stored session, or the flagged instances, to stdout.")
    parser.add_argument(
        "what", metavar="SESSION|flags", help="key of a session (a beginning will do), or the word flags"
    )
    parser.add_argument(
        "--to",
        choices=("submission", "jsonl"),
        required=True,
        help="submission: the record of a run; jsonl: a step, or a flag, a line",
    )
    parser.add_argument("--db", metavar="URL", help="session store, an SQLAlchemy URL (default: SQLite of this user)")
    arguments = parser.parse_args(argv)
    if arguments.what == FLAGS and arguments.to != "jsonl":
        raise DataError("flags can be exported --to jsonl only")
    store = Wiring(Options(db=arguments.db)).store
    try:
        lines = list(_exported(store, arguments.what, arguments.to))
    finally:
        store.close()
    with stdout() as stream:
        for line in lines:
            stream.write(line + b"\n")
    return 0


def _exported(store: Store, what: str, form: str) -> Iterator[bytes]:
    if what == FLAGS:
        yield from (encoded(flag) for flag in store.flags())
        return
    from sessions.branches import as_prediction
    from sessions.submissions import submission_record

    tree = store.load(what).tree
    if form == "submission":
        record = submission_record(as_prediction(tree.trajectory(tree.exported)))
        yield msgspec.json.format(encoded([record]), indent=1)
    else:
        yield from (encoded(step) for step in tree.steps(tree.exported))
