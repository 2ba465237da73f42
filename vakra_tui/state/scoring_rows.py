"""The verdicts of the rows: who makes them, and how they are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from eval.model import Verdict
from toolenv.errors import DataError, StoreError
from toolenv.model import Instance
from vakra_tui.state.entry import Entry
from vakra_tui.state.gathering import Gathering
from vakra_tui.state.rulings import PersonRulings

if TYPE_CHECKING:
    from eval.environments import EnvironmentChain
    from eval.judge import Judge
    from eval.profile import ScoringContext, Unit
    from eval.truths import GroundTruths, Truth
    from sessions.store import AsyncStore
    from vakra_tui.state.parts import Wiring

UNKEPT = "Verdicts are not kept: "


class Scoring(Gathering):
    """Scores rows as a batch would; everything here runs in the engine thread."""

    def __init__(self, wiring: Wiring) -> None:
        super().__init__(wiring)
        self._flushing: asyncio.Task[None] | None = None

    # --- parts -------------------------------------------------------------------------------------------------------

    @property
    def environments(self) -> EnvironmentChain:
        return self.wiring.environments

    @cached_property
    def rulings(self) -> PersonRulings:
        """What a person ruled."""
        return PersonRulings(self.keeping, lambda: self.dataset_fingerprint, self.say_problem)

    @cached_property
    def dataset_fingerprint(self) -> str:
        return self.wiring.dataset.fingerprint()

    def run_fingerprint(self, run: str) -> str:
        """The fingerprint of a run by its name, empty for none."""
        return self._runs[run].fingerprint() if run in self._runs else ""

    @property
    def judge(self) -> Judge:
        return self.wiring.judge

    @property
    def judge_kind(self) -> str:
        return self.wiring.judge.kind

    @cached_property
    def judge_identity(self) -> str:
        """The judge and all that decides what it rules; empty, which matches nothing, where that is not to be found."""
        try:
            return self.wiring.judge_identity()
        except DataError:
            return ""

    @cached_property
    def _truths(self) -> GroundTruths:
        from eval.truths import GroundTruths

        return GroundTruths()

    async def truth(self, instance: Instance) -> Truth:
        """The executed reference path of an instance, shared by all its sessions."""
        from eval.paper import execute_truth

        environment = self.environments.serving(instance)
        key = f"{environment.kind} {environment.name} {instance.capability} {instance.domain} {instance.uuid}"
        return await self._truths.get(key, lambda: execute_truth(instance, environment))

    @property
    def profile(self) -> str:
        """The profile by which the list's verdicts are made; the debugger's own are always those of ``paper``."""
        return self.wiring.profile_name

    # --- verdicts ----------------------------------------------------------------------------------------------------

    async def evaluate(self, entry: Entry, run: str | None = None) -> None:
        """Score the predictions of a row as the batch would, with the rows that its profile executes together."""
        from eval.profile import Item, ScoringContext

        for name in (run,) if run is not None else self._runs:
            if not entry.waits_for(name):
                continue
            if self.is_busy(entry, name):
                continue  # scored when its file is whole again
            readings = self.readings
            context = ScoringContext(
                dataset=self.wiring.dataset,
                run=self._runs[name],
                environments=self.environments,
                judge=await self.rulings.over(self.judge, self._runs[name].name, self.run_fingerprint(name)),
                truths=self._truths,
            )
            together = [entry] if self.profile == "paper" else self._of_domain(entry, name)
            items = [
                Item(position=position, instance=one.instance, prediction=one.predictions.get(name))
                for position, one in enumerate(together)
            ]
            for unit in self.wiring.profile.units(items):
                verdicts = await self.wiring.profile.score(unit, context)
                if self.readings != readings:
                    return
                await self._keep_verdicts(name, unit, verdicts, context)
                for item, verdict in zip(unit.items, verdicts, strict=True):
                    together[item.position].learn(name, verdict)

    async def _keep_verdicts(self, run: str, unit: Unit, verdicts: Sequence[Verdict], context: ScoringContext) -> None:
        """Keep what was scored, so that it need not be scored again.

        A store that refuses stops nobody; it is told among the problems.
        """
        store = self.keeping.ready()
        if store is None:
            return
        rulings = await self.rulings.about(self.run_fingerprint(run))
        index = list(self._runs).index(run)
        try:
            await store.run(self.wiring.kept.keep, index, unit, verdicts, context, rulings)
        except StoreError as error:
            self._say_unkept(error)
        else:
            self._say_all_kept()
        if self._flushing is None:
            self._flushing = asyncio.create_task(self._flush_soon(store))

    async def _flush_soon(self, store: AsyncStore) -> None:
        """Commit the last verdicts, too, behind which no other comes that would take them along."""
        from vakra_tui.kept import KEPT_EVERY_S

        await asyncio.sleep(KEPT_EVERY_S)
        self._flushing = None
        try:
            await store.run(self.wiring.kept.flush)
        except StoreError as error:
            self._say_unkept(error)
        else:
            self._say_all_kept()

    def _say_all_kept(self) -> None:
        """What the store refused before it has now: it is no problem any more."""
        if not self.wiring.kept.waiting:
            self.problems = tuple(problem for problem in self.problems if not problem.startswith(UNKEPT))

    def _say_unkept(self, error: StoreError) -> None:
        """Tell it among the problems, once: with the reason of the last refusal."""
        others = (problem for problem in self.problems if not problem.startswith(UNKEPT))
        self.problems = (*others, f"{UNKEPT}{error}")

    def say_problem(self, why: str) -> None:
        """Tell something among the problems, once."""
        if why not in self.problems:
            self.problems = (*self.problems, why)

    def _of_domain(self, entry: Entry, run: str) -> list[Entry]:
        """The rows that share a row's capability and domain and have something to score in a run."""
        return [
            one
            for one in self.listing.entries
            if (one.capability, one.domain) == (entry.capability, entry.domain)
            and (one.instance is not None or run in one.predictions)
        ]
