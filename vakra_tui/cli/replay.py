"""``vakra-tui replay``: run the calls of a stored session again and say where the responses differ."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolenv.errors import DataError
from vakra_tui.cli.parser import Parser, add_environment
from vakra_tui.cli.streams import narrate, stdout
from vakra_tui.options import Options
from vakra_tui.text import one_line, sanitize
from vakra_tui.wiring import Wiring

if TYPE_CHECKING:
    from sessions.branches import Drift
    from sessions.trajectory import Step


def main(argv: Sequence[str]) -> int:
    parser = Parser(
        prog="vakra-tui replay",
        description="Run a stored session again and compare every response with the stored one.",
    )
    parser.add_argument("session", metavar="SESSION", help="key of the session; a beginning will do")
    parser.add_argument("--data", metavar="DATA", help="the dataset (default: the one the session was made on)")
    parser.add_argument("--branch", type=int, metavar="N", help="branch (default: the one that is exported)")
    parser.add_argument("--db", metavar="URL", help="session store, an SQLAlchemy URL (default: SQLite of this user)")
    add_environment(parser)
    arguments = parser.parse_args(argv)
    environments = tuple(arguments.env or ("native",))
    return asyncio.run(_run(arguments.session, arguments.data, arguments.branch, environments, arguments.db))


async def _run(key: str, data: str | None, branch: int | None, environments: tuple[str, ...], db: str | None) -> int:
    from sessions.replay import replay

    store = Wiring(Options(db=db)).store
    try:
        session = store.load(key)
    finally:
        store.close()
    number = session.tree.exported if branch is None else branch
    known = {entry.number for entry in session.tree.branches}
    if number not in known:
        raise DataError(f"session {session.summary.key} has no branch {number}; it has {sorted(known)}")
    steps = session.tree.steps(number)
    wiring = Wiring(Options(data=data or session.summary.dataset_path or None, environments=environments))
    try:
        if wiring.dataset.fingerprint() != session.summary.dataset:
            narrate("vakra-tui replay: the dataset is not the one that the session was made on")
        instance = session.tree.trajectory(number).instance
        replayed = await replay(wiring.environments.serving(instance), instance, steps)
        await replayed.session.close()
    finally:
        await wiring.close()
    with stdout() as stream:
        for position, (step, drift) in enumerate(zip(steps, replayed.drifts, strict=True), start=1):
            stream.write(sanitize(_line(position, step, drift)).encode() + b"\n")
    narrate(f"{len(replayed.drifted)} of {len(steps)} steps came out differently")
    return 0


def _line(position: int, step: Step, drift: Drift) -> str:
    from sessions.trajectory import CallTool

    decision = step.decision
    name = decision.call.name if isinstance(decision, CallTool) else type(decision).__name__.lower()
    return f"{position}  {drift.outcome}  {name}  {one_line(drift.difference)}".rstrip()
