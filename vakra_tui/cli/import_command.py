"""``vakra-tui import``: trajectories in other forms into the session store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from toolenv.errors import DataError
from vakra_tui.cli.codes import DONE, INCOMPLETE, UNUSABLE
from vakra_tui.cli.parser import Parser
from vakra_tui.cli.streams import narrate, stdout
from vakra_tui.options import Options
from vakra_tui.text import one_line, sanitize
from vakra_tui.wiring import Wiring

if TYPE_CHECKING:
    from sessions.formats import Imported
    from sessions.store import Store
    from toolenv.dataset import Dataset
    from toolenv.model import Instance

SHOWN_PROBLEMS = 20


def main(argv: Sequence[str]) -> int:
    from sessions.formats import FORMATS

    parser = Parser(
        prog="vakra-tui import",
        description="Take trajectories into the store: submission files, records of VAKRA's runner, chat messages, "
        "logs of Inspect, OpenTelemetry spans, and what export --to jsonl wrote. Files are only read.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--from", dest="form", choices=FORMATS, help="the form of the files (default: told by content)")
    parser.add_argument("--data", metavar="DATA", help="dataset whose instances the trajectories belong to, by uuid")
    parser.add_argument("--split", default="test", metavar="NAME", help="which split of it to read (default: test)")
    parser.add_argument("--db", metavar="URL", help="session store, an SQLAlchemy URL (default: SQLite of this user)")
    arguments = parser.parse_args(argv)
    wiring = Wiring(Options(data=arguments.data, split=arguments.split, db=arguments.db))
    dataset = wiring.dataset if arguments.data is not None else None
    store = wiring.store
    problems: list[str] = []
    unread = 0
    lines: list[str] = []
    try:
        for name in arguments.files:
            try:
                _take_in(Path(name), arguments.form, dataset, store, lines, problems)
            except DataError as error:
                unread += 1
                problems.append(str(error))
    finally:
        store.close()
    for problem in problems[:SHOWN_PROBLEMS]:
        narrate(f"vakra-tui: {problem}")
    if len(problems) > SHOWN_PROBLEMS:
        narrate(f"vakra-tui: {len(problems) - SHOWN_PROBLEMS} more problems, each noted in its session")
    with stdout() as stream:
        for line in lines:
            stream.write(sanitize(line).encode() + b"\n")
    if not lines:
        narrate("nothing was imported")
        return UNUSABLE
    return INCOMPLETE if problems or unread else DONE


def _take_in(
    path: Path, form: str | None, dataset: Dataset | None, store: Store, lines: list[str], problems: list[str]
) -> None:
    """Store every trajectory of a file; a line for each, and what is wrong with it."""
    from sessions.formats import Imported, read

    for found in read(path, form):
        if isinstance(found, Imported):
            try:
                known = _instance(dataset, found.trajectory.instance)
            except DataError as error:
                known = None
                found = msgspec.structs.replace(found, problems=(*found.problems, str(error)))
            lines.append(_stored(found, path, dataset, known, store))
            problems.extend(found.problems)
        else:
            problems.append(found)


def _stored(found: Imported, path: Path, dataset: Dataset | None, known: Instance | None, store: Store) -> str:
    from sessions.store import NewSession

    trajectory = found.trajectory
    new = NewSession(
        instance=known or trajectory.instance,
        kind="person",
        title=found.name,
        dataset=dataset.fingerprint() if dataset is not None and known is not None else "",
        dataset_path=str(dataset.path) if dataset is not None and known is not None else "",
        run=path.name,
        environment=f"imported ({found.form})",
    )
    ref = store.create_session(new, trajectory.steps)
    for problem in found.problems:
        store.put_note(ref.id, problem)
    if found.extra:
        store.put_note(ref.id, EXTRA + json.dumps(_plain(found.extra), separators=(",", ":")))
    whose = "" if known is not None else "  (no instance of a dataset)" if dataset is not None else ""
    query = one_line(trajectory.instance.query, 60)
    return f"{ref.key}  {len(trajectory.steps)} steps  {trajectory.instance.uuid}  {query}{whose}"


EXTRA = "import: "
"""How the note begins that keeps the keys of a record that this program does not know; export writes them out again."""


def _plain(extra: object) -> object:
    """A value that strict JSON can hold."""
    from sessions.formats.lines import strict

    return strict(msgspec.to_builtins(extra))


def _instance(dataset: Dataset | None, told: Instance) -> Instance | None:
    """The dataset's instance that a trajectory belongs to, by uuid and, where the trajectory names one, domain."""
    if dataset is None:
        return None
    refs = [ref for ref in dataset.find(told.uuid) if ref.uuid == told.uuid]
    same = [ref for ref in refs if ref.domain == told.domain] or refs
    return dataset.load(same[0]) if same else None
