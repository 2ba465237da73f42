"""``vakra-tui sessions``: list stored sessions, newest first, or search their steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from vakra_tui.cli.parser import Parser, at_least_one
from vakra_tui.cli.streams import narrate, stdout
from vakra_tui.options import Options
from vakra_tui.text import one_line, sanitize
from vakra_tui.wiring import Wiring

if TYPE_CHECKING:
    from sessions.store import Hit, SessionKind, SessionSummary

QUERY_SHOWN = 60


def main(argv: Sequence[str]) -> int:
    parser = Parser(prog="vakra-tui sessions", description="List stored sessions, or search their steps.")
    parser.add_argument("query", nargs="?", metavar="QUERY", help="words to look for in calls, responses and answers")
    parser.add_argument("--limit", type=at_least_one, default=50, metavar="N", help="at most so many (50)")
    parser.add_argument("--db", metavar="URL", help="session store, an SQLAlchemy URL (default: SQLite of this user)")
    parser.add_argument("--batch", action="store_true", help="those of batches instead of those of the debugger")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    arguments = parser.parse_args(argv)
    store = Wiring(Options(db=arguments.db)).store
    kind: SessionKind = "batch" if arguments.batch else "person"
    try:
        if arguments.query is None:
            found: Sequence[SessionSummary | Hit] = store.sessions(kind, limit=arguments.limit + 1).items
        else:
            found = store.search(arguments.query, kind, limit=arguments.limit + 1)
    finally:
        store.close()
    if not found:
        narrate("no session is stored" if arguments.query is None else "no step of a stored session matches")
    with stdout() as stream:
        for text in _written(found[: arguments.limit], as_json=arguments.json):
            stream.write(text + b"\n")
    if len(found) > arguments.limit:
        narrate(f"there are more than these {arguments.limit}; --limit lists more")
    return 0


def _written(found: Sequence[SessionSummary | Hit], *, as_json: bool) -> Iterator[bytes]:
    from sessions.store import Hit

    for entry in found:
        if as_json:
            yield msgspec.json.encode(entry)
        elif isinstance(entry, Hit):
            place = f"{entry.session.key}  step {entry.position + 1}"
            yield sanitize(f"{place}  {entry.tool or entry.kind}  {one_line(entry.excerpt)}").encode()
        else:
            yield sanitize(_line(entry)).encode()


def _when(seconds: float) -> str:
    """The time in UTC; a clock may have told one that no calendar has."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return "at no time".ljust(len("2000-01-01 00:00"))


def _line(entry: SessionSummary) -> str:
    when = _when(entry.updated_at)
    verdict = {True: "passed", False: "failed", None: "-"}[entry.passed]
    place = f"capability {entry.capability}, {entry.domain}, {entry.uuid}"
    return f"{entry.key}  {when}  {entry.steps} steps  {verdict}  {place}  {one_line(entry.query, QUERY_SHOWN)}"
