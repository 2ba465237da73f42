"""The seam between the batch and what is scored: items, units, the scoring context and the ``Profile`` protocol.

An item pairs an instance with a prediction, both by reference, so that thousands of them weigh nothing; records are
decoded when a unit is scored. A profile is an execution plan plus the rules that read what was executed; the batch
knows neither.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from eval.environments import EnvironmentChain
from eval.judge import Judge
from eval.model import Verdict
from eval.truths import GroundTruths
from sessions.trajectory import ExecutedTrajectory
from toolenv.model import Instance, Prediction, Value

if TYPE_CHECKING:
    from sessions.submissions import PredictionRef, Run
    from toolenv.dataset import Dataset, InstanceRef

Side = Literal["prediction", "ground_truth"]

LOADED_RECORDS = 64
"""How many decoded instances a context keeps, so that scoring, slices and storing decode a record once."""


class Item(Value, frozen=True):
    """One line of a report: an instance with its prediction.

    ``position`` is the line's place in the report (0-based). ``prediction`` is None for a missing prediction,
    ``instance`` is None for a prediction of no instance; never both.
    """

    position: int
    instance: InstanceRef | None
    prediction: PredictionRef | None

    @property
    def uuid(self) -> str:
        return self.instance.uuid if self.instance is not None else self._extra.uuid

    @property
    def domain(self) -> str:
        return self.instance.domain if self.instance is not None else self._extra.domain

    @property
    def capability(self) -> int:
        """The instance's capability; of an extra the one its file belongs to, 0 where that is unknown."""
        return self.instance.capability if self.instance is not None else (self._extra.capability or 0)

    @property
    def _extra(self) -> PredictionRef:
        assert self.prediction is not None, "an item has an instance or a prediction"
        return self.prediction


class Unit(Value, frozen=True):
    """Items that must be executed together and in this order; the smallest thing that the batch schedules."""

    items: tuple[Item, ...]


ExecutedListener = Callable[[Item, Side, ExecutedTrajectory], None]


@dataclass(frozen=True)
class ScoringContext:
    """Everything that scoring a unit of one run needs.

    ``on_executed`` is told of each trajectory that was executed (the batch stores them); it must not block.
    ``instance`` and ``load_prediction`` decode a record on demand.
    """

    dataset: Dataset
    run: Run
    environments: EnvironmentChain
    judge: Judge
    truths: GroundTruths
    on_executed: ExecutedListener | None = None
    _loaded: OrderedDict[InstanceRef, Instance] = field(default_factory=OrderedDict, repr=False, compare=False)

    def instance(self, ref: InstanceRef) -> Instance:
        """The decoded instance (the last few are kept). Raises ``DataError`` for a record that cannot be read."""
        known = self._loaded.get(ref)
        if known is None:
            known = self._loaded[ref] = self.dataset.load(ref)
            if len(self._loaded) > LOADED_RECORDS:
                self._loaded.popitem(last=False)
        return known

    def load_prediction(self, ref: PredictionRef) -> Prediction:
        """The decoded prediction. Raises ``DataError`` for a record that cannot be read."""
        return self.run.load(ref)

    def executed(self, item: Item, side: Side, trajectory: ExecutedTrajectory) -> None:
        if self.on_executed is not None:
            self.on_executed(item, side, trajectory)


class Profile(Protocol):
    """An execution plan and the rules that read its trajectories.

    ``units`` splits items, which come in report order, into what must be executed together (``paper``: one instance;
    ``vakra``: all of a domain in file order); every item is in exactly one unit. ``score`` gives one verdict an item,
    in the order of the unit's items. Failures of an environment or a judge become verdicts (``unscored``), so that one
    bad record never ends a batch; other errors are errors of this program.
    """

    @property
    def name(self) -> str: ...

    def units(self, items: Sequence[Item]) -> Iterable[Unit]: ...

    async def score(self, unit: Unit, context: ScoringContext) -> list[Verdict]: ...
