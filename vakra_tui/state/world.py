"""The parts that the screen works with, made from the command's wiring; everything here runs in the engine thread."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from eval.model import Verdict
from toolenv.errors import DataError, StoreError
from toolenv.model import Instance, Prediction, Turn
from toolenv.values import shortened
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.entry import Entry
from vakra_tui.state.listing import Listing
from vakra_tui.state.marks import Marks
from vakra_tui.state.memory import Memory
from vakra_tui.state.parts import Wiring
from vakra_tui.state.saved_filters import SavedFilters
from vakra_tui.state.scoring_rows import Scoring
from vakra_tui.text import count_words

if TYPE_CHECKING:
    from eval.truths import GroundTruths
    from sessions.agent import Agent
    from sessions.breakpoints import Breakpoint
    from sessions.store import SessionSummary
    from sessions.submissions import Run
    from toolenv.dataset import Dataset
    from toolenv.dataset.browsing import Database, Table
    from vakra_tui.state.session import DebugSession, Subject

__all__ = ["FIRST_RUN", "Wiring", "World"]

FIRST_RUN = "flawed"
"""The run of the built-in sample that is opened first: it has something to find."""


class World(Scoring):
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

    def place(self) -> tuple[str, Path | None]:
        """Fingerprint and folder of the dataset, links followed; no folder for the built-in sample."""
        return self.dataset_fingerprint, None if self.wiring.sample else self.wiring.data_path.resolve()

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
        """Close the store and what the wiring made: all of it, also where a part of it fails to.

        Raises ``StoreError`` with how many verdicts are not kept and why.
        """
        if self._flushing is not None:
            self._flushing.cancel()
        store = self.keeping.ready() if self.keeping.opened else None
        if store is None:
            await self._close_parts()
            return
        try:
            await store.run(self.wiring.kept.flush)
        except StoreError as error:
            lost = count_words(self.wiring.kept.waiting, "verdict is", "verdicts are")
            raise StoreError(f"{lost} not kept: {error}") from error
        finally:
            await self._close_parts()

    async def _close_parts(self) -> None:
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
        self.wiring.agent_logs = self.memory.folder  # A command's standard error must not reach the screen.
        made: Agent = getattr(self.wiring, "agent")  # noqa: B009 - not every wiring has agents
        return made

    def _dataset_changed(self) -> None:
        for name in ("dataset_fingerprint", "rulings"):
            self.__dict__.pop(name, None)
        former = self.__dict__.pop("_truths", None)
        if former is not None:
            self._former_truths.append(former)

    # --- sessions ----------------------------------------------------------------------------------------------------

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
                gone = self.is_gone(entry)
                what = "was taken away" if gone else "is being written"
                again = key("instances.look-again")
                then = "is there again" if gone else f"is whole again; {again} in the list reads it as it is"
                raise DataError(f"A file of this row {what} ({why}). The row opens when the file {then}.") from error

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
