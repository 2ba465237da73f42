"""The scorer of a batch from its wiring, in this process or in a worker process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from vakra_tui.options import Options
from vakra_tui.wiring import JUDGE_CONCURRENCY, Wiring

if TYPE_CHECKING:
    from eval.engine import Scorer
    from eval.executions import Executions
    from eval.judge import Judge
    from eval.judges import HumanRuling, RulingCache
    from eval.model import Gate
    from eval.profile import Item
    from sessions.store.records import ExecutedRecord
    from sessions.submissions import Run
    from sessions.trajectory import ExecutedTrajectory

Rulings = dict[str, dict[tuple[str, "Gate"], "HumanRuling"]]
"""A person's rulings by run name."""


def scorer(wiring: Wiring, rulings: Rulings, *, keep: bool) -> tuple[Scorer, list[list[Item]]]:
    """A scorer in this process, and the items of every run. ``keep`` prepares what it executes for the store."""
    from eval.engine import LocalScorer
    from eval.judges import HumanRulings
    from eval.profile import ScoringContext
    from eval.truths import GroundTruths

    truths = GroundTruths()

    def judge_of(run: Run, name: str) -> Judge:
        # Two runs of one folder name are told apart by the names of their reports, cases carry the folder's.
        known = {(run.name, uuid, gate): ruling for (uuid, gate), ruling in rulings.get(name, {}).items()}
        return HumanRulings(wiring.judge, known) if known else wiring.judge

    named = zip(wiring.runs, wiring.run_names, strict=True)
    executions = [_executions(wiring, run, name) for run, name in named] if keep else []
    contexts = [
        ScoringContext(
            dataset=wiring.dataset,
            run=run,
            environments=wiring.environments,
            judge=judge_of(run, name),
            truths=truths,
            on_executed=executions[index].heard if keep else None,
        )
        for index, (run, name) in enumerate(zip(wiring.runs, wiring.run_names, strict=True))
    ]
    return LocalScorer(wiring.profile, contexts, executions=executions), [wiring.items(run) for run in wiring.runs]


def _executions(wiring: Wiring, run: Run, name: str) -> Executions:
    from eval.executions import Executions
    from sessions.store.records import ExecutedRecord

    # What an agent of this program did is kept where it is made, with the requests that led to it.
    made_here = wiring.options.produced is not None and run is wiring.runs[-1]
    dataset, fingerprint = wiring.dataset.fingerprint(), run.fingerprint()
    path = str(wiring.data_path.resolve())

    def recorded(item: Item, executed: ExecutedTrajectory) -> ExecutedRecord | None:
        if made_here:
            return None
        return ExecutedRecord(
            instance=executed.trajectory.instance,
            trajectory=executed.trajectory,
            dataset=dataset,
            dataset_path="" if wiring.sample else path,
            run=name,
            run_fingerprint=fingerprint,
            environment=wiring.environments.name,
        )

    return Executions(recorded)


def worker_payload(options: Options, rulings: Rulings, workers: int, *, keep: bool) -> bytes:
    """What a worker process needs to build the same; limits of the judge are divided among the workers."""
    import msgspec

    share = msgspec.structs.replace(
        options,
        judge_concurrency=max(1, (options.judge_concurrency or JUDGE_CONCURRENCY) // workers),
        max_tokens=None if options.max_tokens is None else max(1, options.max_tokens // workers),
        max_cost=None if options.max_cost is None else options.max_cost / workers,
    )
    listed = [[run, uuid, gate, ruling] for run, kept in rulings.items() for (uuid, gate), ruling in kept.items()]
    # Not strict JSON: the name of a folder may hold bytes that are no text, and must reach the worker as it is.
    return json.dumps(msgspec.to_builtins([share, listed, keep])).encode()


def worker_scorer(payload: bytes, cache: RulingCache) -> tuple[Scorer, list[list[Item]]]:
    """The scorer of a worker process, from ``worker_payload``."""
    import msgspec

    from eval.judges import HumanRuling

    form = tuple[Options, list[tuple[str, str, Any, HumanRuling]], bool]
    options, listed, keep = msgspec.convert(json.loads(payload), form)
    rulings: Rulings = {}
    for run, uuid, gate, ruling in listed:
        rulings.setdefault(run, {})[uuid, gate] = ruling
    return scorer(Wiring(options, cache, batch=True), rulings, keep=keep)
