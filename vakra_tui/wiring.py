"""Builds the parts that a command needs from its options: dataset, runs, environments, judge, store.

Making a ``Wiring`` is cheap and imports nothing heavy; each part is made on first use. Screen and batch use the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolenv.errors import DataError
from vakra_tui.options import Options

if TYPE_CHECKING:
    from sessions.submissions import Run

    from eval.engine import Scorer
    from eval.environments import EnvironmentChain
    from eval.judge import Judge
    from eval.profile import Item, Profile
    from eval.report import ReportInfo
    from sessions.store import Store
    from toolenv.dataset import Dataset, InstanceRef
    from toolenv.environment import ToolEnvironment


class Wiring:
    """The parts of one command. Not safe across threads; ``close`` ends what was made."""

    def __init__(self, options: Options) -> None:
        self.options = options

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

        return tuple(Run.open(path, self.dataset) for path in self._run_paths())

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
        raise DataError(f"--env {text!r} is not known; use native or recorded:DIR")

    def _recording(self, environment: ToolEnvironment) -> ToolEnvironment:
        if self.options.record is None:
            return environment
        from toolenv.recorded import Recorder

        return Recorder(environment, Path(self.options.record))

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
        raise DataError(f"--judge {self.options.judge!r} is not known; use offline, recorded:FILE or none")

    @cached_property
    def profile(self) -> Profile:
        if self.options.profile == "vakra":
            from eval.vakra import VakraProfile

            return VakraProfile()
        from eval.paper import PaperProfile

        return PaperProfile()

    @cached_property
    def store(self) -> Store:
        """The session store, made on first use. Raises ``StoreError``."""
        from sessions.store import Store

        return Store.open(self.options.db)

    def refs(self) -> list[InstanceRef]:
        """The selected instances in file order. Raises ``DataError`` where a selector matches nothing."""
        options = self.options
        found = [ref for ref in self.dataset.refs() if self._selects(ref.capability, ref.domain, ref.uuid)]
        if not found and self.selected:
            raise DataError(f"no instance of {self.data_path} matches {self._selectors()}")
        return found if options.limit is None else found[: options.limit]

    def _selects(self, capability: int | None, domain: str, uuid: str) -> bool:
        options = self.options
        return (
            (not options.capabilities or capability in options.capabilities)
            and (not options.domains or domain in options.domains)
            and (not options.instances or uuid.startswith(options.instances))
        )

    def _selectors(self) -> str:
        options = self.options
        parts = [
            *(f"--capability {capability}" for capability in options.capabilities),
            *(f"--domain {domain}" for domain in options.domains),
            *(f"--instance {instance}" for instance in options.instances),
        ]
        return " ".join(parts) or "the selectors"

    def items(self, run: Run) -> list[Item]:
        """The lines of a run's report: the selected instances in file order, then its extra predictions."""
        from eval.profile import Item

        predictions = {(ref.capability, ref.domain, ref.uuid): ref for ref in run.refs()}
        known = {(ref.capability, ref.domain, ref.uuid) for ref in self.dataset.refs()}
        items: list[Item] = []
        for ref in self.refs():
            prediction = predictions.get((ref.capability, ref.domain, ref.uuid))
            items.append(Item(position=len(items), instance=ref, prediction=prediction))
        for key, prediction in predictions.items():
            if key not in known and self._selects(prediction.capability, prediction.domain, prediction.uuid):
                items.append(Item(position=len(items), instance=None, prediction=prediction))
        return items

    def report_info(self, index: int) -> ReportInfo:
        """What the report of a run says besides its results."""
        from eval.report import EnvironmentInfo, JudgeInfo, ReportInfo

        run = self.runs[index]
        judge: Any = self.judge
        return ReportInfo(
            profile=self.profile.name,
            judge=JudgeInfo(
                kind=judge.kind,
                model=getattr(judge, "model", None),
                prompt_version=getattr(judge, "prompt_version", None),
            ),
            dataset_path=str(self.data_path.resolve()),
            dataset_fingerprint=self.dataset.fingerprint(),
            environments=tuple(
                EnvironmentInfo(kind="native")
                if environment.kind == "native"
                else EnvironmentInfo(
                    kind=environment.kind, name=environment.name, fingerprint=environment.fingerprint()
                )
                for environment in self.environments.environments
            ),
            run_name=self.run_names[index],
            run_fingerprint=run.fingerprint(),
            duplicates=run.duplicates,
            notes=tuple(self._notes(run)),
        )

    def _notes(self, run: Run) -> Iterator[str]:
        for problem in (*self.dataset.problems, *run.problems, *getattr(self.judge, "problems", ())):
            yield self._relative(problem, run)
        if run.duplicates:
            yield f"{run.duplicates} duplicate records: of each uuid the last one counts"

    def _relative(self, text: str, run: Run) -> str:
        """A sentence without the folders of this machine: a report holds no absolute path but the dataset's."""
        for folder, short in ((self.data_path, ""), (run.path, run.name)):
            for spelling in (str(folder), str(folder.resolve())):
                text = text.replace(spelling + os.sep, short + "/" if short else "").replace(spelling, short or ".")
        return text

    async def close(self) -> None:
        """End what was made, in reverse order of need."""
        for name in ("environments", "judge", "store"):
            part = self.__dict__.pop(name, None)
            closing = getattr(part, "close", None)
            if closing is not None:
                result = closing()
                if hasattr(result, "__await__"):
                    await result


def scorer(wiring: Wiring) -> tuple[Scorer, list[list[Item]]]:
    """A scorer in this process, and the items of every run."""
    from eval.engine import LocalScorer
    from eval.profile import ScoringContext
    from eval.truths import GroundTruths

    truths = GroundTruths()
    contexts = [
        ScoringContext(
            dataset=wiring.dataset,
            run=run,
            environments=wiring.environments,
            judge=wiring.judge,
            truths=truths,
        )
        for run in wiring.runs
    ]
    return LocalScorer(wiring.profile, contexts), [wiring.items(run) for run in wiring.runs]


def worker_scorer(payload: bytes) -> tuple[Scorer, list[list[Item]]]:
    """The same in a worker process, from encoded ``Options``."""
    import msgspec

    return scorer(Wiring(msgspec.json.decode(payload, type=Options)))
