"""The batch: one asyncio engine that scores units in parallel and hands the lines on as they are finished.

Memory does not grow with the number of instances: items are references, units come from an iterator, and results leave
for the spool at once. The order in which units finish never shows in a report.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Protocol

from eval.crew import worked
from eval.judges.human import HumanRuling
from eval.model import Verdict
from eval.portable import portable
from eval.profile import Item, Profile, ScoringContext, Unit
from eval.results import FLUSH_SECONDS, Results
from eval.resume import HumanKey, keys_of
from eval.scored import Scored, grouping
from eval.waterfall import unscored

if TYPE_CHECKING:
    from eval.executions import Executions
    from sessions.store.records import PreparedSession

ENVIRONMENT_NOTE = "environment: "
"""How notes begin that are problems of an environment's material."""


@dataclass(frozen=True)
class RunPlan:
    """One run of a batch: its lines in report order and where their results go.

    ``rulings`` are a person's, by (uuid, gate).
    """

    items: Sequence[Item]
    results: Results
    rulings: Mapping[HumanKey, HumanRuling] = field(default_factory=dict)


class Scorer(Protocol):
    """Scores a unit of the run with this index; in this process or in another one."""

    async def score(self, run: int, unit: Unit) -> Sequence[Scored]: ...

    def executed(self, run: int, unit: Unit) -> Sequence[PreparedSession]:
        """What was executed for a unit that has just been scored, to be stored with its lines; told once."""
        ...

    def notes(self) -> Sequence[str]:
        """What judge and environments say about the whole: parameters not taken, recordings that are damaged."""
        ...

    async def close(self) -> None: ...


class LocalScorer:
    """Scores in this process. ``model`` names the model that made the runs, where it is known.

    ``executions``, one a run, hold what the contexts' listeners heard; without them nothing executed is kept.
    """

    def __init__(
        self,
        profile: Profile,
        contexts: Sequence[ScoringContext],
        model: str | None = None,
        *,
        executions: Sequence[Executions] = (),
    ) -> None:
        self._profile = profile
        self._contexts = tuple(contexts)
        self._model = model
        self._executions = tuple(executions)

    async def score(self, run: int, unit: Unit) -> Sequence[Scored]:
        context = self._contexts[run]
        unanswered = {item.uuid: why for item in unit.items if (why := _unanswered(item, context)) is not None}
        if len(unanswered) == len(unit.items):
            verdicts = [_left_out(item, unanswered[item.uuid]) for item in unit.items]
        else:
            verdicts = [
                _left_out(item, unanswered[item.uuid]) if item.uuid in unanswered else verdict
                for item, verdict in zip(unit.items, await self._profile.score(unit, context), strict=True)
            ]
        lines = [
            self._scored(item, portable(verdict, context), context)
            for item, verdict in zip(unit.items, verdicts, strict=True)
        ]
        if self._executions:
            self._executions[run].judged(unit, lines)
        return lines

    def _scored(self, item: Item, verdict: Verdict, context: ScoringContext) -> Scored:
        if item.instance is None:
            return Scored(verdict=verdict)
        found = grouping(item.instance, context.dataset, context.instance, self._model)
        return Scored(verdict=verdict, weight=found.weight, slices=found.slices)

    def executed(self, run: int, unit: Unit) -> Sequence[PreparedSession]:
        return self._executions[run].taken(unit) if self._executions else ()

    def notes(self) -> Sequence[str]:
        said: dict[str, None] = {}
        for context in self._contexts:
            notes: Callable[[], Sequence[str]] = getattr(context.judge, "notes", tuple)
            said.update(dict.fromkeys(notes()))
            for environment in context.environments.environments:
                problems: Sequence[str] = getattr(environment, "problems", ())
                said.update(dict.fromkeys(f"{ENVIRONMENT_NOTE}{problem}" for problem in problems))
        return tuple(said)

    async def close(self) -> None:
        for truths in {id(context.truths): context.truths for context in self._contexts}.values():
            await truths.close()


def _unanswered(item: Item, context: ScoringContext) -> str | None:
    """Why the line's prediction says nothing about whoever made it, or None."""
    return None if item.prediction is None else context.run.unanswered(item.prediction)


def _left_out(item: Item, why: str) -> Verdict:
    return unscored(item.uuid, item.capability, item.domain, "environment", why)


class Engine:
    """Runs a batch once.

    ``concurrency`` is the number of units under way at a time; ``resume`` takes over finished lines from the store;
    ``on_done`` is told the number of lines that became finished, resumed ones included.
    """

    def __init__(
        self,
        profile: Profile,
        runs: Sequence[RunPlan],
        scorer: Scorer,
        *,
        concurrency: int = 16,
        resume: bool = False,
        on_done: Callable[[int], None] = lambda lines: None,
    ) -> None:
        self._profile = profile
        self._runs = tuple(runs)
        self._scorer = scorer
        self._concurrency = max(1, concurrency)
        self._resume = resume
        self._on_done = on_done
        self._stopping = False

    async def run(self, stop: asyncio.Event) -> bool:
        """Score everything; True when it was finished, False when ``stop`` was set before.

        Whatever is finished is committed in either case. Errors that no verdict can hold (the store, this program)
        are raised after that.
        """
        if self._resume:
            for plan in self._runs:
                plan.results.load()
        jobs = self._jobs()
        most = sum(len(plan.items) for plan in self._runs)
        workers = [self._work(jobs) for _ in range(min(self._concurrency, most))]
        flusher = asyncio.create_task(self._flush_regularly())
        try:
            return await worked(workers, stop, self._stop)
        finally:
            flusher.cancel()
            await asyncio.gather(flusher, return_exceptions=True)
            for plan in self._runs:
                plan.results.flush()

    def _stop(self) -> None:
        self._stopping = True

    def _jobs(self) -> Iterator[tuple[int, Unit]]:
        """Units of all runs, those of the same place side by side: their ground truth is then executed once."""
        for row in zip_longest(*(self._profile.units(plan.items) for plan in self._runs)):
            for run, unit in enumerate(row):
                if unit is not None:
                    yield run, unit

    async def _work(self, jobs: Iterator[tuple[int, Unit]]) -> None:
        for run, unit in jobs:
            if self._stopping:
                return
            plan = self._runs[run]
            keys = keys_of(unit, plan.rulings)
            if self._resume and plan.results.resumed(unit, keys):
                # Nothing above waits; without this a long resume would not see a stop.
                await asyncio.sleep(0)
            else:
                lines = await self._scorer.score(run, unit)
                plan.results.accept(unit, keys, lines, self._scorer.notes(), executed=self._scorer.executed(run, unit))
            self._on_done(len(unit.items))

    async def _flush_regularly(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            for plan in self._runs:
                plan.results.flush()
