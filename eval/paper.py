"""``--profile paper``: the published waterfall. Each side of an instance is executed in a fresh session of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from eval import reproducible
from eval.case import Case
from eval.judge import JudgeFailure
from eval.model import UnscoredReason, Verdict
from eval.profile import Item, ScoringContext, Unit
from eval.truths import Truth
from eval.waterfall import evaluate, extra, missing, unscored
from sessions.dataflow import analyse_truth
from sessions.drivers import GroundTruthDriver, RecordingDriver
from sessions.execution import execute
from sessions.submissions import unfit
from sessions.trajectory import ExecutedTrajectory
from toolenv.environment import ToolEnvironment
from toolenv.errors import DataError, EnvironmentFailure, NotRecorded
from toolenv.model import Instance, Prediction

if TYPE_CHECKING:
    from eval.repair import RepairResult

NO_PREDICTION = {"outcome": "missing", "sentence": "there is no prediction, so no step of it broke"}
"""What repair says of a missing prediction."""


class PaperProfile:
    """One instance a unit; verdicts by ``eval.waterfall``.

    With ``repair`` every trajectory that failed is searched for the step that broke it; ``on_repair`` is told what was
    found.
    """

    name = "paper"

    def __init__(self, *, repair: bool = False, on_repair: Callable[[Item, RepairResult], None] | None = None) -> None:
        self._repair = repair or on_repair is not None
        self._on_repair = on_repair

    def units(self, items: Sequence[Item]) -> Iterable[Unit]:
        return (Unit(items=(item,)) for item in items)

    async def score(self, unit: Unit, context: ScoringContext) -> list[Verdict]:
        return [await self._score(item, context) for item in unit.items]

    async def _searched(
        self, case: Case, environment: ToolEnvironment, context: ScoringContext, verdict: Verdict, item: Item
    ) -> Verdict:
        """The verdict with what repair search found. Whatever fails during the search costs its result alone."""
        from eval.repair import search, summary

        try:
            found = await search(case, environment, judge=context.judge, verdict=verdict)
        except (EnvironmentFailure, JudgeFailure) as error:
            return msgspec.structs.replace(verdict, repair={"outcome": "failed", "sentence": str(error)})
        if self._on_repair is not None:
            self._on_repair(item, found)
        return msgspec.structs.replace(verdict, repair=summary(found))

    async def _score(self, item: Item, context: ScoringContext) -> Verdict:
        if item.instance is None:
            return _marked(extra(item.uuid, item.capability, item.domain), item)
        try:
            instance = context.instance(item.instance)
        except DataError as error:
            return _unscored(item, "ground truth failed", error)
        if instance.ground_truth is None:
            return _unscored(item, "no ground truth", "the dataset has no ground truth for this instance")
        if item.prediction is None:
            verdict = missing(item.uuid, item.capability, item.domain)
            return msgspec.structs.replace(verdict, repair=NO_PREDICTION) if self._repair else verdict
        try:
            prediction = context.load_prediction(item.prediction)
            why_unfit = unfit(prediction, instance)
            if why_unfit is not None:
                prediction = msgspec.structs.replace(prediction, calls=(), answer="", responses=None)
            environment = context.environments.serving(instance)
            truth = await context.truths.get(
                f"{environment.kind} {environment.name} {instance.capability} {instance.domain} {instance.uuid}",
                lambda: execute_truth(instance, environment),
            )
            predicted = await execute_prediction(instance, prediction, environment)
        except NotRecorded as error:
            return _unscored(item, "not recorded", error)
        except (EnvironmentFailure, DataError) as error:
            return _unscored(item, "environment", error)
        context.executed(item, "ground_truth", truth.executed)
        context.executed(item, "prediction", predicted)
        case = Case(
            run=context.run.name,
            instance=instance,
            truth=truth.executed,
            prediction=predicted,
            tools=truth.tools,
            truth_analysis=truth.analysis,
        )
        try:
            verdict = await evaluate(case, judge=context.judge)
        except JudgeFailure as error:
            return _unscored(item, "judge", error)
        if self._repair and verdict.passed is False:
            verdict = await self._searched(case, environment, context, verdict, item)
        verdict = reproducible.marked(verdict, prediction.responses, predicted)
        return _marked(_explained(verdict, why_unfit), item)


async def execute_truth(instance: Instance, environment: ToolEnvironment) -> Truth:
    """The ground truth of an instance, executed in a session of its own and analysed."""
    session = await environment.open(instance)
    try:
        executed = await execute(instance, GroundTruthDriver(instance), session)
        tools = tuple(await session.list_tools())
        return Truth(executed=executed, analysis=analyse_truth(instance, executed), tools=tools)
    finally:
        await session.close()


async def execute_prediction(
    instance: Instance, prediction: Prediction, environment: ToolEnvironment
) -> ExecutedTrajectory:
    """The calls of a prediction in a session of their own."""
    return await execute(instance, RecordingDriver(prediction), environment)


def _unscored(item: Item, reason: UnscoredReason, detail: Exception | str) -> Verdict:
    return unscored(item.uuid, item.capability, item.domain, reason, str(detail))


def _explained(verdict: Verdict, why_unfit: str | None) -> Verdict:
    """The verdict with the reason why the record holds no evaluated turn, before that of the stage that failed."""
    if why_unfit is None:
        return verdict
    stages = tuple(
        msgspec.structs.replace(stage, reason=f"{why_unfit}; {stage.reason}") if stage.outcome == "fail" else stage
        for stage in verdict.stages
    )
    return msgspec.structs.replace(verdict, stages=stages)


def _marked(verdict: Verdict, item: Item) -> Verdict:
    if item.prediction is None or not item.prediction.duplicate or "duplicate" in verdict.marks:
        return verdict
    return msgspec.structs.replace(verdict, marks=(*verdict.marks, "duplicate"))
