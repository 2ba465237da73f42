"""Letting an agent make the predictions that are scored afterwards: a run produced by this very program.

Production and scoring are two phases: the predictions an agent made are then executed and judged as any other run is,
by whatever profile. What happened to each instance is kept in the store as soon as it is finished, with its trajectory
and the requests to the model, so that an interrupted batch goes on where it was.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from eval.crew import worked
from eval.environments import EnvironmentChain
from eval.portable import named_from
from eval.scored import encoded
from sessions.agent.agent import Agent
from sessions.agent.running import AgentRun, run_agent
from sessions.agent.status import FAILURES
from sessions.store import codec
from sessions.store.records import ExecutedRecord
from sessions.submissions import PredictionRef, Run, submission_record
from toolenv.dataset import Dataset, InstanceRef
from toolenv.errors import DataError, StoreError
from toolenv.files import written_whole
from toolenv.model import Json, Prediction, Value


class Outcome(Value, frozen=True):
    """How one instance ended: the record of the run, and the status in words."""

    prediction: Prediction
    status: str
    detail: str = ""

    @property
    def failed(self) -> bool:
        """Whether something around the agent failed; such an instance is unscored, and tried again by a resume."""
        return self.status in FAILURES


class OutcomeStore(Protocol):
    """What production needs of the store."""

    def results(self, scope: str) -> Iterator[tuple[str, bytes]]: ...

    def put_results(
        self, scope: str, rows: Sequence[tuple[str, bytes]], *, executed: Sequence[ExecutedRecord] = ()
    ) -> None: ...


def run_name(agent: Agent) -> str:
    """A run's name: the agent's and its model's."""
    parts = [agent.name, *([agent.model] if agent.model else [])]
    return "-".join("".join(c if c.isalnum() or c in "._" else "-" for c in part) for part in parts)


def production_scope(agent: Agent, dataset: Dataset, environments: EnvironmentChain) -> str:
    """The digest under which outcomes are kept: the agent with all its settings, the dataset, the environments."""
    decisive = [
        "agent outcomes",
        agent.identity(),
        dataset.fingerprint(),
        environments.kind,
        environments.fingerprint(),
    ]
    return hashlib.sha256(encoded(decisive, ordered=True)).hexdigest()


class Production:
    """Runs an agent over instances, ``concurrency`` at a time; ``on_done`` hears of each that is finished."""

    def __init__(
        self,
        agent: Agent,
        dataset: Dataset,
        environments: EnvironmentChain,
        *,
        store: OutcomeStore | None = None,
        concurrency: int = 16,
        resume: bool = False,
        on_done: Callable[[int], None] = lambda lines: None,
    ) -> None:
        self._agent = agent
        self._dataset = dataset
        self._environments = environments
        self._store = store
        self._concurrency = max(1, concurrency)
        self._resume = resume
        self._on_done = on_done
        self._scope = production_scope(agent, dataset, environments)
        self._outcomes: dict[InstanceRef, Outcome] = {}
        self._stopping = False

    @property
    def counts(self) -> Counter[str]:
        """How many instances ended with which status."""
        return Counter(outcome.status for outcome in self._outcomes.values())

    @property
    def done(self) -> int:
        return len(self._outcomes)

    def outcomes(self, refs: Sequence[InstanceRef]) -> list[Outcome]:
        """The finished ones, in the order of ``refs``."""
        return [self._outcomes[ref] for ref in refs if ref in self._outcomes]

    async def run(self, refs: Sequence[InstanceRef], stop: asyncio.Event) -> bool:
        """True when every instance has its outcome, False when ``stop`` was set before. Raises ``StoreError``."""
        if self._resume:
            self._take_over(refs)
        jobs = iter([ref for ref in refs if ref not in self._outcomes])
        workers = [self._work(jobs) for _ in range(self._concurrency)]
        return await worked(workers, stop, self._stop) and len(self._outcomes) >= len(set(refs))

    def _stop(self) -> None:
        self._stopping = True

    def _take_over(self, refs: Sequence[InstanceRef]) -> None:
        kept = dict(self._store.results(self._scope)) if self._store is not None else {}
        for ref in refs:
            payload = kept.get(_key(ref))
            if payload is None:
                continue
            try:
                self._outcomes[ref] = codec.decoded(payload, Outcome, "An outcome")
            except StoreError:
                # Written by another version of this program: made anew, and replaced.
                continue
            self._on_done(1)

    async def _work(self, jobs: Iterator[InstanceRef]) -> None:
        for ref in jobs:
            if self._stopping:
                return
            run, outcome = await self._made(ref)
            self._outcomes[ref] = self._kept(ref, run, outcome)
            self._on_done(1)

    async def _made(self, ref: InstanceRef) -> tuple[AgentRun | None, Outcome]:
        try:
            instance = self._dataset.load(ref)
        except DataError as problem:
            why = named_from(str(problem), self._dataset.path)
            nothing = Prediction(
                uuid=ref.uuid,
                domain=ref.domain,
                capability=ref.capability,
                query="",
                answer="",
                calls=(),
                status="error",
                error=why,
            )
            return None, Outcome(prediction=nothing, status="environment", detail=why)
        run = await run_agent(instance, self._agent, self._environments)
        error, detail = (named_from(text, self._dataset.path) for text in (run.prediction.error, run.detail))
        made = msgspec.structs.replace(run.prediction, error=error)
        return run, Outcome(prediction=made, status=run.status, detail=detail)

    def _kept(self, ref: InstanceRef, run: AgentRun | None, outcome: Outcome) -> Outcome:
        """The outcome as a resume would find it, its secrets taken out; kept in the store, where there is one."""
        payload = codec.encoded(outcome)
        if self._store is not None:
            rows = [] if outcome.failed else [(_key(ref), payload)]
            executed = [] if run is None else [self._record(run)]
            self._store.put_results(self._scope, rows, executed=executed)
        return codec.decoded(payload, Outcome, "An outcome")

    def _record(self, run: AgentRun) -> ExecutedRecord:
        return ExecutedRecord(
            instance=run.executed.trajectory.instance,
            trajectory=run.executed.trajectory,
            side="prediction",
            dataset=self._dataset.fingerprint(),
            run=run_name(self._agent),
            run_fingerprint=self._scope,
            environment=self._environments.name,
            requests=run.requests,
        )


def _key(ref: InstanceRef) -> str:
    return f"{ref.capability}/{ref.domain}/{ref.uuid}"


class ProducedRun(Run):
    """The run that an agent produced, read from the file of its outcomes.

    It keeps more than a submission file can: arguments that were no object, and which instances say nothing because
    something around the agent failed (``unanswered``).
    """

    def __init__(self, path: Path, name: str) -> None:
        super().__init__(path)
        self.name = name
        self._outcome_of: dict[PredictionRef, Outcome] = {}

    @classmethod
    def read(cls, file: Path, name: str) -> ProducedRun:
        """Raises ``DataError`` for a file that ``write_outcomes`` did not write."""
        run = cls(file, name)
        try:
            outcomes = codec.decoded(file.read_bytes(), list[Outcome], file.name)
        except (OSError, StoreError) as error:
            raise DataError(f"{file} does not hold the outcomes of an agent ({error}).") from error
        for position, outcome in enumerate(outcomes):
            made = outcome.prediction
            ref = PredictionRef(uuid=made.uuid, domain=made.domain, capability=made.capability, position=position)
            run._by_instance[(made.capability, made.domain, made.uuid)] = ref
            run._outcome_of[ref] = outcome
        return run

    def load(self, ref: PredictionRef) -> Prediction:
        return self._outcome(ref).prediction

    def raw(self, ref: PredictionRef) -> Json:
        return submission_record(self._outcome(ref).prediction)

    def unanswered(self, ref: PredictionRef) -> str | None:
        outcome = self._outcome(ref)
        return f"agent ({outcome.status}): {outcome.detail}" if outcome.failed else None

    def fingerprint(self) -> str:
        return f"sha256:{hashlib.sha256(self.path.read_bytes()).hexdigest()}"

    def _outcome(self, ref: PredictionRef) -> Outcome:
        outcome = self._outcome_of.get(ref)
        if outcome is None:
            raise DataError(f"{ref.uuid} ({ref.domain}): there is no such prediction in the run {self.name}.")
        return outcome


def write_outcomes(file: Path, outcomes: Sequence[Outcome]) -> None:
    """Keep outcomes for ``ProducedRun.read``. Raises ``DataError`` where they cannot be written."""
    try:
        with written_whole(file) as stream:
            stream.write(codec.encoded(outcomes))
    except OSError as error:
        raise DataError(f"{file} cannot be written: {error.strerror or error}.") from error
