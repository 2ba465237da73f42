"""Builds the parts that a command needs from its options: dataset, runs, environments, judge, store.

Making a ``Wiring`` is cheap and imports nothing heavy; each part is made on first use. Screen and batch use the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import cached_property
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolenv.errors import DataError
from vakra_tui.options import Options
from vakra_tui.selectors import selects, unmatched, words

if TYPE_CHECKING:
    from eval.environments import EnvironmentChain
    from eval.judge import Judge
    from eval.judges import HumanRuling, JudgeSettings, RulingCache
    from eval.model import Gate
    from eval.profile import Item, Profile
    from eval.report import ReportInfo
    from sessions.agent import Agent
    from sessions.store import Store
    from sessions.submissions import Run
    from toolenv.dataset import Dataset, InstanceRef
    from toolenv.environment import ToolEnvironment
    from toolenv.openai_compat.sending import Waiting
    from vakra_tui.kept import KeptVerdicts


AGENT_CONCURRENCY = 16
"""Requests to an agent's endpoint at a time."""

JUDGE_CONCURRENCY = 8
"""Questions that a model judge is asked at a time, unless told otherwise."""


class Wiring:
    """The parts of one command. Not safe across threads; ``close`` ends what was made.

    ``cache`` takes the place of the store for the rulings of a model judge (a worker process has no store). ``batch``
    makes the store commit an instance at a time: durable against the end of the process, not against a power cut.
    ``on_wait``, set before the judge is used, hears of every wait for the judge's endpoint, ``on_agent_wait`` of those
    for the agent's, ``on_agent_delta`` of the fragments of its completions where they are streamed; ``on_store_wait``,
    set before the store is used, hears from the waiting thread how long (seconds) another process has kept it busy.
    ``agent_logs``, set before the agent is used, is a folder for what a command prints on standard error.
    """

    def __init__(self, options: Options, cache: RulingCache | None = None, *, batch: bool = False) -> None:
        self.options = options
        self._cache = cache
        self._batch = batch
        self.on_wait: Callable[[Waiting], None] | None = None
        self.on_agent_wait: Callable[[Waiting], None] | None = None
        self.on_agent_delta: Callable[[str, str], None] | None = None
        self.on_store_wait: Callable[[float], None] | None = None
        self.agent_logs: Path | None = None
        self.taken_in = 0
        self._former: list[EnvironmentChain] = []
        self._selectors_known = False

    @property
    def sample(self) -> bool:
        """Whether the built-in sample is used: no dataset was named."""
        return self.options.data is None

    @property
    def selected(self) -> bool:
        """Whether any selector narrows the instances."""
        options = self.options
        return bool(options.capabilities or options.domains or options.instances or options.limit is not None)

    @property
    def instance(self) -> str | None:
        """The uuid, or the beginning of one, that was asked for first."""
        return self.options.instances[0] if self.options.instances else None

    @cached_property
    def data_path(self) -> Path:
        if self.options.data is not None:
            return Path(self.options.data)
        from vakra_tui.sample import sample_dataset

        return sample_dataset()

    @cached_property
    def dataset(self) -> Dataset:
        """Raises ``DataError`` with one sentence where it cannot be used."""
        from toolenv.dataset import Dataset

        return Dataset.open(self.data_path, split=self.options.split)

    @cached_property
    def runs(self) -> Sequence[Run]:
        """The runs in the order given; on the sample also by name. Raises ``DataError``."""
        from sessions.submissions import Run

        opened = [Run.open(path, self.dataset) for path in self._run_paths()]
        if self.options.produced is not None:
            from eval.agents import ProducedRun, run_name

            opened.append(ProducedRun.read(Path(self.options.produced), run_name(self.agent)))
        return tuple(opened)

    def use(self, runs: Mapping[str, Run], dataset: Dataset | None = None) -> None:
        """Go on with these runs, by name, and with another reading of the dataset.

        Environments that read the former dataset stay open for the sessions that use them, until ``close``.
        """
        self.kept.forget_scopes()
        self.__dict__["runs"], self.__dict__["run_names"] = tuple(runs.values()), tuple(runs)
        if dataset is not None:
            self.__dict__["dataset"] = dataset
            former = self.__dict__.pop("environments", None)
            if former is not None:
                self._former.append(former)

    def _run_paths(self) -> Iterator[Path]:
        known: Mapping[str, Path] = {}
        if self.sample:
            from vakra_tui.sample import sample_runs

            known = sample_runs()
        for name in self.options.runs:
            path = known.get(name, Path(name))
            if not path.exists() and known:
                raise DataError(
                    f"there is no run {name!r}: neither a folder nor a run of the sample ({', '.join(sorted(known))})"
                )
            yield path

    @cached_property
    def run_names(self) -> tuple[str, ...]:
        """One name a run, with a number after it where two folders have the same name."""
        names: list[str] = []
        for run in self.runs:
            name, number = run.name, 2
            while name in names:
                name, number = f"{run.name}-{number}", number + 1
            names.append(name)
        return tuple(names)

    @cached_property
    def environments(self) -> EnvironmentChain:
        """The environments in order of preference. Raises ``DataError`` for one that is unknown or cannot be used."""
        from eval.environments import EnvironmentChain

        return EnvironmentChain([self._recording(self._environment(text)) for text in self.options.environments])

    def _environment(self, text: str) -> ToolEnvironment:
        kind, _, argument = text.partition(":")
        if kind == "native" and not argument:
            from toolenv.native import NativeEnvironment

            return NativeEnvironment(self.dataset)
        if kind == "recorded" and argument:
            from toolenv.recorded import RecordedEnvironment

            return RecordedEnvironment(Path(argument))
        if kind == "config" and argument:
            from toolenv.remote import RemoteEnvironment

            return RemoteEnvironment(Path(argument), self.dataset)
        if kind == "vakra" and argument:
            from toolenv.vakra_checkout import VakraEnvironment

            return VakraEnvironment(Path(argument), self.dataset)
        raise DataError(f"--env {text!r} is not known; use native, recorded:DIR, config:FILE or vakra:CHECKOUT")

    def _recording(self, environment: ToolEnvironment) -> ToolEnvironment:
        if self.options.record is None:
            return environment
        from toolenv.recorded import Recorder

        return Recorder(environment, Path(self.options.record))

    @property
    def agent_name(self) -> str | None:
        """The agent that ``--agent`` names, as it was typed."""
        return self.options.agent

    @cached_property
    def agent(self) -> Agent:
        """The agent that ``--agent`` names. Raises ``DataError`` for one that is unknown or cannot be used."""
        from sessions.agent import open_agent

        options = self.options
        if options.agent is None:
            raise DataError("no agent is named; name one with --agent")
        return open_agent(
            options.agent,
            model=options.model,
            base_url=options.base_url,
            concurrency=AGENT_CONCURRENCY,
            max_tokens=options.max_tokens,
            max_cost=options.max_cost,
            on_wait=self._agent_waits,
            on_delta=self._agent_says,
            logs=self.agent_logs,
        )

    def _agent_waits(self, waiting: Waiting) -> None:
        if self.on_agent_wait is not None:
            self.on_agent_wait(waiting)

    def _agent_says(self, kind: str, text: str) -> None:
        if self.on_agent_delta is not None:
            self.on_agent_delta(kind, text)

    @cached_property
    def judge(self) -> Judge:
        """Whoever rules where a program cannot. Raises ``DataError`` for one that is unknown or cannot be used."""
        kind, _, argument = self.options.judge.partition(":")
        if kind == "offline" and not argument:
            from eval.offline import OfflineJudge

            return OfflineJudge()
        if kind == "none" and not argument:
            from eval.judges import NoJudge

            return NoJudge()
        if kind == "recorded" and argument:
            from eval.judges import RecordedJudge

            return RecordedJudge(Path(argument))
        if kind == "openai" and not argument:
            from eval.judges import OpenAIJudge

            return OpenAIJudge(self.judge_settings, cache=self._cache or self.ruling_cache, listener=self.on_wait)
        raise DataError(f"--judge {self.options.judge!r} is not known; use offline, openai, recorded:FILE or none")

    @cached_property
    def judge_settings(self) -> JudgeSettings:
        """How the model judge is asked. Raises ``DataError`` where no model is named."""
        from eval.judges import judge_settings

        options = self.options
        if options.judge_model is None:
            raise DataError("--judge openai needs the name of a model: --judge-model NAME")
        return judge_settings(
            model=options.judge_model,
            base_url=options.judge_base_url,
            concurrency=options.judge_concurrency or JUDGE_CONCURRENCY,
            max_tokens=options.max_tokens,
            max_cost=options.max_cost,
        )

    @cached_property
    def ruling_cache(self) -> RulingCache:
        """Where rulings that were paid for are kept: the session store."""
        from sessions.store import AsyncStore

        return AsyncStore(self.store)

    def human_rulings(self, index: int) -> dict[tuple[str, Gate], HumanRuling]:
        """A person's rulings on a run, as the debugger stored them, by (uuid, gate)."""
        import msgspec

        from eval.judges import HumanRuling
        from eval.model import Gate

        run = self.runs[index]
        kept = self.store.human_rulings(self.dataset.fingerprint(), run.fingerprint())
        return {
            (uuid, msgspec.convert(gate, Gate)): msgspec.convert(ruling, HumanRuling)
            for (uuid, gate), ruling in kept.items()
        }

    @cached_property
    def kept(self) -> KeptVerdicts:
        """What was scored with the same settings before, by a batch or on the screen."""
        from vakra_tui.kept import KeptVerdicts

        return KeptVerdicts(self)

    @property
    def profile_name(self) -> str:
        """The name of ``profile``, known before the profile's rules are imported."""
        return self.options.profile

    @cached_property
    def profile(self) -> Profile:
        if self.options.profile == "vakra":
            if self.options.repair:
                raise DataError("--repair searches by the published waterfall and needs --profile paper")
            from eval.vakra import VakraProfile

            return VakraProfile()
        from eval.paper import PaperProfile

        return PaperProfile(repair=self.options.repair)

    @cached_property
    def store(self) -> Store:
        """The session store, made on first use. Raises ``StoreError``.

        What an earlier process could not write (``taken_in`` rows, kept in files beside the store) is written now.
        """
        from sessions.store import Store

        store = Store.open(self.options.db, commit="instance" if self._batch else "step", on_wait=self.on_store_wait)
        if not store.read_only:
            self.taken_in = sum(store.take_in(file) for file in store.unsaved())
        return store

    def refs(self) -> list[InstanceRef]:
        """The selected instances in file order; none where only extra predictions of the runs are selected.

        Raises ``DataError`` where a selector, or all of them together, match nothing.
        """
        options = self.options
        found = [ref for ref in self.dataset.refs() if selects(options, (ref.capability, ref.domain, ref.uuid))]
        if self.selected and not self._selectors_known:
            self._check_selectors(bool(found))
            self._selectors_known = True
        return found if options.limit is None else found[: options.limit]

    def selects(self, capability: int | None, domain: str, uuid: str) -> bool:
        """Whether the selectors mean an instance or a prediction of this name."""
        return selects(self.options, (capability, domain, uuid))

    def _check_selectors(self, found: bool) -> None:
        options = self.options
        instances = [(ref.capability, ref.domain, ref.uuid) for ref in self.dataset.refs()]
        lost = unmatched(options, instances)
        if found and not lost:
            return
        predicted = [(ref.capability, ref.domain, ref.uuid) for run in self.runs for ref in run.refs()]
        lost = unmatched(options, [*instances, *predicted])
        if lost or (not found and not any(selects(options, named) for named in predicted)):
            raise DataError(f"no instance of {self.data_path} matches {' or '.join(lost) or words(options)}")

    def items(self, run: Run) -> list[Item]:
        """The lines of a run's report: the selected instances in file order, then its extra predictions."""
        from eval.profile import Item

        items: list[Item] = []
        for ref in self.refs():
            items.append(Item(position=len(items), instance=ref, prediction=run.get(ref)))
        known = {run.get(ref) for ref in self.dataset.refs()}
        for prediction in run.refs():
            named = (prediction.capability, prediction.domain, prediction.uuid)
            if prediction not in known and selects(self.options, named):
                items.append(Item(position=len(items), instance=None, prediction=prediction))
        return items

    def report_info(self, index: int) -> ReportInfo:
        """What the report of a run says besides its results. Raises ``DataError``."""
        from vakra_tui.report_head import report_info

        return report_info(self, index)

    def judge_identity(self) -> str:
        """The judge with all that decides what it rules, in words. Raises ``DataError``."""
        from vakra_tui.report_head import judge_identity

        return judge_identity(self.judge, self.options)

    def decisive(self) -> dict[str, str]:
        """Settings besides those of the report's head that decide a verdict. Raises ``DataError``."""
        from vakra_tui.report_head import decisive

        return decisive(self.options)

    async def close(self) -> None:
        """End what was made, what asks before what keeps; all of it, also where a part fails to end."""
        async with AsyncExitStack() as parts:
            while self._former:
                parts.push_async_callback(_ended, self._former.pop())
            for name in ("store", "ruling_cache", "judge", "environments", "agent"):
                parts.push_async_callback(_ended, self.__dict__.pop(name, None))


async def _ended(part: Any) -> None:
    """Close a part in whichever way it is closed."""
    ending = getattr(part, "aclose", None) or getattr(part, "close", None)
    if ending is not None:
        ended = ending()
        if isawaitable(ended):
            await ended
