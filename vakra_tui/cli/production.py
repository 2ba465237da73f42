"""``--agent`` in a batch: let the agent make the predictions before they are scored."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from vakra_tui.cli.progress import Progress
from vakra_tui.cli.streams import narrate
from vakra_tui.cli.supervision import Stop
from vakra_tui.options import BatchOptions
from vakra_tui.wiring import Wiring


@contextmanager
def working_folder() -> Iterator[Path]:
    """A folder for what an agent did, gone when the batch has ended."""
    with tempfile.TemporaryDirectory(prefix="vakra-tui-agent-") as folder:
        yield Path(folder)


async def produce(wiring: Wiring, batch: BatchOptions, stop: Stop, folder: Path) -> bool:
    """Let the agent work on every selected instance, and make what it did a run of ``wiring``.

    False where it was stopped before; finished instances are stored then. Raises ``VakraError``.
    """
    from eval.agents import Production, write_outcomes

    refs = wiring.refs()
    progress = Progress(len(refs), quiet=batch.quiet)
    production = Production(
        wiring.agent,
        wiring.dataset,
        wiring.environments,
        store=wiring.store,
        concurrency=batch.concurrency,
        resume=batch.resume,
        on_done=progress.add,
    )
    try:
        finished = await production.run(refs, stop.event())
    finally:
        progress.close()
    if not finished:
        narrate(
            f"interrupted: the agent finished {production.done} of {len(refs)} instances, which are stored; "
            "go on with --resume"
        )
        return False
    if not batch.quiet:
        counts = ", ".join(f"{count} {status}" for status, count in sorted(production.counts.items()))
        narrate(f"agent {wiring.agent.name}: {counts}")
        for note in getattr(wiring.agent, "notes", tuple)():
            narrate(note)
    file = folder / "outcomes.json"
    write_outcomes(file, production.outcomes(refs))
    wiring.options = msgspec.structs.replace(wiring.options, produced=str(file))
    return True


def expected(wiring: Wiring) -> str:
    """What the agent would be asked, in words; nothing is executed or sent for it."""
    from sessions.agent.estimate import expected_of

    calls, tokens = 0, 0
    refs = wiring.refs()
    for ref in refs:
        asked, size = expected_of(wiring.dataset.load(ref))
        calls, tokens = calls + asked, tokens + size
    return f"{wiring.agent.name}: {len(refs)} instances, about {calls} model calls and {tokens} tokens to the agent"
