"""``vakra-tui export``: a stored session, a run, or what a person flagged, in a form that others read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from toolenv.errors import DataError, StoreError
from vakra_tui.cli.parser import Parser, add_environment, add_judge, add_selectors, options_of
from vakra_tui.cli.streams import narrate, stdout
from vakra_tui.forms import FORMS, rendered
from vakra_tui.options import Options
from vakra_tui.wiring import Wiring

if TYPE_CHECKING:
    from sessions.store import Store

FLAGS = "flags"


def main(argv: Sequence[str]) -> int:
    parser = Parser(
        prog="vakra-tui export",
        description="Write a stored session, the predictions of a run, or the flagged instances, to stdout or a file.",
    )
    parser.add_argument(
        "what",
        metavar="SESSION|RUN|flags",
        help="key of a session (a beginning will do), the folder of a run (on the sample its name), or the word flags",
    )
    parser.add_argument(
        "--to",
        choices=tuple(FORMS),
        required=True,
        help="; ".join(f"{form}: {words}" for form, (_, words) in FORMS.items()),
    )
    parser.add_argument("--out", metavar="FILE", help="write to FILE instead of stdout")
    parser.add_argument("--only", choices=("passed", "failed"), help="of a run only what passed, or failed")
    parser.add_argument("--data", metavar="DATA", help="dataset of the run (default: the built-in sample)")
    parser.add_argument("--split", default="test", metavar="NAME", help="which split of it to read (default: test)")
    parser.add_argument("--db", metavar="URL", help="session store, an SQLAlchemy URL (default: SQLite of this user)")
    add_environment(parser)
    add_judge(parser)
    add_selectors(parser)
    arguments = parser.parse_args(argv)
    if arguments.what == FLAGS and arguments.to != "jsonl":
        raise DataError("flags can be exported --to jsonl only")
    options = options_of(arguments)
    payload = _payload(arguments.what, arguments.to, arguments.only, options)
    if arguments.out is None:
        with stdout() as stream:
            stream.write(payload)
        return 0
    _written(Path(arguments.out), payload)
    return 0


def _payload(what: str, form: str, only: str | None, options: Options) -> bytes:
    from vakra_tui.cli.exported import of_run, of_session

    if what == FLAGS:
        store = Wiring(options).store
        try:
            payload = b"".join(line + b"\n" for line in _flags(store))
        finally:
            store.close()
        if not payload:
            narrate("nothing is flagged")
        return payload
    run = _run_named(what, options)
    if run is not None:
        found, notes = asyncio.run(of_run(Wiring(msgspec.structs.replace(options, runs=(run,))), form, only))
        for note in notes:
            narrate(f"vakra-tui: {note}")
    else:
        store = Wiring(options).store
        try:
            found = of_session(store, what)
        finally:
            store.close()
    return rendered(found, form, single=run is None)


def _run_named(what: str, options: Options) -> str | None:
    """The run that is meant, or None where a session is: folders first, then keys, then runs of the sample."""
    if Path(what).is_dir():
        return what
    if options.data is not None:
        return None
    store = Wiring(options).store
    try:
        store.load(what)
    except StoreError:
        from vakra_tui.sample import sample_runs

        return what if what in sample_runs() else None
    finally:
        store.close()
    return None


def _flags(store: Store) -> Iterator[bytes]:
    """A line for each flag, with what was noted in the sessions of its instance."""
    flags = store.flags()
    noted: dict[str, list[str]] = {flag.uuid: [] for flag in flags}
    page = store.sessions(limit=200) if flags else None
    while page is not None:
        for summary in page.items:
            if summary.uuid in noted:
                noted[summary.uuid].extend(note.text for note in store.load(summary.key).notes)
        page = store.sessions(limit=200, before=page.next) if page.next is not None else None
    for flag in flags:
        yield _utf8(json.dumps({**msgspec.to_builtins(flag), "notes": noted[flag.uuid]}, ensure_ascii=False))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _written(path: Path, payload: bytes) -> None:
    from toolenv.files import written_whole

    try:
        with written_whole(path) as stream:
            stream.write(payload)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from error
