"""The parts that the screen works with, made from the command's wiring; everything here runs in the engine thread."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from eval.model import Verdict
from toolenv.errors import DataError, StoreError
from toolenv.model import Instance, Prediction, Turn
from toolenv.values import shortened
from vakra_tui.state.entry import Entry
from vakra_tui.state.gathering import Gathering
from vakra_tui.state.listing import Listing
from vakra_tui.state.marks import Marks
from vakra_tui.state.memory import Memory
from vakra_tui.state.parts import Wiring
from vakra_tui.state.rulings import PersonRulings
from vakra_tui.state.saved_filters import SavedFilters

if TYPE_CHECKING:
    from eval.environments import EnvironmentChain
    from eval.judge import Judge
    from eval.profile import ScoringContext, Unit
    from eval.truths import GroundTruths, Truth
    from sessions.agent import Agent
    from sessions.breakpoints import Breakpoint
    from sessions.store import AsyncStore, SessionSummary
    from sessions.submissions import Run
    from toolenv.dataset import Dataset
    from toolenv.dataset.browsing import Database, Table
    from vakra_tui.state.session import DebugSession, Subject

__all__ = ["FIRST_RUN", "Wiring", "World"]

FIRST_RUN = "flawed"
"""The run of the built-in sample that is opened first: it has something to find."""

UNKEPT = "Verdicts are not kept: "


class World(Gathering):
    """Dataset, runs, environments, judge and store of this screen."""

    def __init__(self, wiring: Wiring, memory: Memory | None = None) -> None:
        super().__init__(wiring)
        self.memory = memory if memory is not None else Memory.of_user()
        self.name = "built-in sample" if wiring.sample else "\u2026"
        self.wants_hint = False
        self._flags: dict[str, str] | None = None
        self._breakpoints: tuple[Breakpoint, ...] | None = None
        self.filters = SavedFilters.of_user()
        self._former_truths: list[GroundTruths] = []
        self._flushing: asyncio.Task[None] | None = None

    # --- opening -----------------------------------------------------------------------------------------------------

    def open(self) -> Listing:
        """Open dataset and runs and list what they hold. Raises ``DataError``."""
        wiring = self.wiring
        dataset = wiring.dataset
        self._runs = dict(zip(wiring.run_names, wiring.runs, strict=True))
        if wiring.sample and not self._runs:
            self._runs = self._sample_runs(dataset)
            wiring.use(self._runs)
        self.name = "built-in sample" if wiring.sample else str(wiring.data_path)
        self.listing = Listing(self._entries(), tuple(self._runs))
        self.listing.profile = self.profile
        self._say_problems()
        self._begin(Marks(self.memory.folder, "sample" if wiring.sample else str(wiring.data_path.resolve())))
        self.wants_hint = not self.memory.hint_was_seen()
        return self.listing

    def _sample_runs(self, dataset: Dataset) -> dict[str, Run]:
        from sessions.submissions import Run
        from vakra_tui.sample import sample_runs

        paths = dict(sample_runs())
        order = sorted(paths, key=lambda name: (name != FIRST_RUN, name))
        return {name: Run.open(paths[name], dataset) for name in order}

    def first(self) -> Entry | None:
        """The row to open at once: the instance that was asked for, or on the sample one that failed by its policy."""
        shown = self.listing.entries
        if self.wiring.instance is not None:
            found = [entry for entry in shown if entry.uuid.startswith(self.wiring.instance)]
            return found[0] if len(found) == 1 else None
        if not self.wiring.sample or self.wiring.selected:
            return None
        return self._telling() or (shown[0] if shown else None)

    def _telling(self) -> Entry | None:
        """The sample's instance to begin with: its labels say that its policy was broken, and its path has hops.

        Labels choose what a newcomer sees first and nothing else; the verdict that is shown is computed.
        """
        run = next(iter(self._runs), None)
        labels = self._labels()
        found: Entry | None = None
        for entry in self.listing.entries:
            if run not in entry.predictions or labels.get((run, entry.uuid)) != "policy":
                continue
            instance = self.wiring.dataset.load(entry.instance)
            if instance.ground_truth is not None and len(instance.ground_truth.evaluated.calls) > 1:
                return entry
            found = found or entry
        return found

    def _labels(self) -> dict[tuple[str | None, str], str]:
        """(run, uuid) -> the stage at which the sample's label says that a prediction fails."""
        from vakra_tui.sample import sample_runs

        path = next(iter(sample_runs().values())).parent / "labels.jsonl"
        if not path.is_file():
            return {}
        labels = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines() if text.strip()]
        return {(label["run"], label["uuid"]): label["failed_stage"] or "" for label in labels}

    def hint_seen(self) -> None:
        """The first-start hint was read."""
        self.wants_hint = False
        self.memory.keep_hint_seen()

    # --- parts -------------------------------------------------------------------------------------------------------

    @property
    def environments(self) -> EnvironmentChain:
        return self.wiring.environments

    @cached_property
    def rulings(self) -> PersonRulings:
        """What a person ruled."""
        return PersonRulings(self.keeping, lambda: self.dataset_fingerprint, self._say_unruled)

    @cached_property
    def dataset_fingerprint(self) -> str:
        return self.wiring.dataset.fingerprint()

    def place(self) -> tuple[str, Path | None]:
        """Fingerprint and folder of the dataset, links followed; no folder for the built-in sample."""
        return self.dataset_fingerprint, None if self.wiring.sample else self.wiring.data_path.resolve()

    def run_fingerprint(self, run: str) -> str:
        """The fingerprint of a run by its name, empty for none."""
        return self._runs[run].fingerprint() if run in self._runs else ""

    async def read_flags(self) -> None:
        """Read once which ground truths are flagged. Raises ``StoreError``."""
        if self._flags is None:
            self._flags = await self.keeping.flags(self.dataset_fingerprint)

    async def breakpoints(self) -> tuple[Breakpoint, ...]:
        """The person's breakpoints, the same for every instance. Raises ``StoreError``."""
        if self._breakpoints is None:
            self._breakpoints = await self.keeping.breakpoints()
        return self._breakpoints

    async def keep_breakpoints(self, breakpoints: tuple[Breakpoint, ...]) -> None:
        """Set all breakpoints. Where the store refuses they hold until the end; raises ``StoreError`` then."""
        self._breakpoints = breakpoints
        await self.keeping.put_breakpoints(breakpoints)

    async def close(self) -> None:
        """Close the store and what the wiring made: all of it, also where a part of it fails to."""
        if self._flushing is not None:
            self._flushing.cancel()
        store = self.keeping.ready() if self.keeping.opened else None
        if store is not None:
            with contextlib.suppress(StoreError):
                await store.run(self.wiring.kept.flush)
        async with contextlib.AsyncExitStack() as parts:
            parts.push_async_callback(self.wiring.close)
            parts.push_async_callback(self.keeping.close)
            for truths in (self._truths, *self._former_truths):
                parts.push_async_callback(truths.close)

    @property
    def environment_name(self) -> str:
        return self.wiring.environments.name

    @property
    def agent_name(self) -> str | None:
        """The agent that the command line names, or None."""
        name: str | None = getattr(self.wiring, "agent_name", None)
        return name

    @property
    def agent_base_url(self) -> str:
        """The endpoint of the agent's model, as the command line names it or by default."""
        from toolenv.openai_compat.settings import DEFAULT_BASE_URL

        options = getattr(self.wiring, "options", None)
        return getattr(options, "base_url", None) or DEFAULT_BASE_URL

    @property
    def agent(self) -> Agent:
        """Raises ``DataError`` where none is named or it cannot be used."""
        made: Agent = getattr(self.wiring, "agent")  # noqa: B009 - not every wiring has agents
        return made

    @property
    def judge(self) -> Judge:
        return self.wiring.judge

    @property
    def judge_kind(self) -> str:
        return self.wiring.judge.kind

    def _dataset_changed(self) -> None:
        for name in ("dataset_fingerprint", "rulings"):
            self.__dict__.pop(name, None)
        former = self.__dict__.pop("_truths", None)
        if former is not None:
            self._former_truths.append(former)

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

    # --- verdicts and sessions ---------------------------------------------------------------------------------------

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

    def _say_unkept(self, error: StoreError) -> None:
        """Tell it among the problems, once: with the reason of the last refusal."""
        others = (problem for problem in self.problems if not problem.startswith(UNKEPT))
        self.problems = (*others, f"{UNKEPT}{error}")

    def _say_unruled(self, why: str) -> None:
        """Tell among the problems, once, that rulings of a person do not count."""
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

    def session(self, entry: Entry, run: str | None = None, stored: SessionSummary | None = None) -> DebugSession:
        """A debugger session on a row: on the prediction of ``run``, or of the first run that has one.

        ``stored`` is the session that is opened again; it is on the prediction of its own run, where that is open.
        """
        from vakra_tui.state.session import DebugSession, Subject

        def load() -> Subject:
            readings = self.readings
            chosen = run if run is not None else next(iter(entry.predictions), None)
            if stored is not None:
                chosen = self._run_of(stored)
            try:
                prediction = self._prediction(entry, chosen)
                instance = self._instance(entry, prediction)
            except DataError as error:
                if not self.is_busy(entry):
                    raise
                why = shortened(str(error).rstrip("."), 400)
                raise DataError(
                    f"A file of this row is being written or was taken away ({why}). The row opens when the file is "
                    "whole again; u in the list reads the file as it is."
                ) from error

            def learned(verdict: Verdict) -> None:
                if chosen is not None and self.profile == "paper" and self.readings == readings:
                    entry.learn(chosen, verdict)

            otherwise = stored.run if stored is not None else next(iter(self._runs), "")
            return Subject(
                instance,
                chosen if chosen is not None else otherwise,
                prediction,
                extra=entry.instance is None,
                learned=learned,
                stored=stored.key if stored is not None else "",
            )

        return DebugSession(self, load, entry)

    def _run_of(self, stored: SessionSummary) -> str | None:
        """The open run that a stored session is about."""
        found = (name for name, run in self._runs.items() if run.fingerprint() == stored.run_fingerprint)
        return next(found, None)

    def entry_of(self, stored: SessionSummary) -> Entry | None:
        """The row that a stored session is about."""
        key = (stored.capability, stored.domain, stored.uuid)
        return next((entry for entry in self.listing.entries if entry.key == key), None)

    def lacking(self, stored: SessionSummary) -> str:
        """What opening a session of this dataset needs; empty where nothing is missing."""
        if self.entry_of(stored) is None:
            return f"The list does not hold its instance. Start without selectors, or with --instance {stored.uuid}."
        return ""

    def _prediction(self, entry: Entry, run: str | None) -> Prediction | None:
        if run is None or run not in entry.predictions:
            return None
        return self._runs[run].load(entry.predictions[run])

    def _instance(self, entry: Entry, prediction: Prediction | None) -> Instance:
        if entry.instance is not None:
            return self.wiring.dataset.load(entry.instance)
        if prediction is None:
            raise DataError(f"there is neither an instance nor a prediction of {entry.uuid}")
        return Instance(
            uuid=prediction.uuid,
            capability=prediction.capability or entry.capability,
            domain=prediction.domain,
            turns=(Turn(turn_id=prediction.turn_id, query=prediction.query),),
        )

    def tables_of(self, domain: str) -> tuple[Database, tuple[Table, ...]]:
        """The domain's database, opened read-only, and its tables; the caller closes it. Raises ``DataError``."""
        from toolenv.dataset.browsing import Database

        database = Database(self.wiring.dataset.database(domain))
        try:
            return database, database.tables()
        except DataError:
            database.close()
            raise

    def runs_of(self, entry: Entry) -> tuple[str, ...]:
        """The runs that hold a prediction of a row."""
        return tuple(entry.predictions)

    async def keep_flag(self, uuid: str, note: str) -> None:
        """Keep a flag on an instance's ground truth; an empty note takes it away. Raises ``StoreError``."""
        await self.read_flags()
        await self.keeping.put_flag(self.dataset_fingerprint, uuid, note)
        self._flags = {key: text for key, text in (self._flags or {}).items() if key != uuid}
        if note:
            self._flags[uuid] = note

    def flag_of(self, uuid: str) -> str:
        """The note of a flag on this instance's ground truth, empty where it has none."""
        return (self._flags or {}).get(uuid, "")
