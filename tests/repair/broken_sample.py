"""Instances of the built-in sample, executed and broken in known ways."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from eval.case import Case
from eval.judge import Judge
from eval.offline import OfflineJudge
from eval.paper import execute_prediction, execute_truth
from eval.repair import RepairResult, search
from sessions.drivers.ground_truth import answer_text
from toolenv.dataset import Dataset
from toolenv.environment import ToolEnvironment
from toolenv.model import Instance, Prediction, ToolCall
from toolenv.native import NativeEnvironment


@dataclass(frozen=True)
class Sample:
    """The sample's dataset with an environment, and short ways to break one of its instances."""

    dataset: Dataset
    environment: NativeEnvironment

    def instance(self, capability: int, query: str) -> Instance:
        """The instance of a capability whose question holds some words."""
        for ref in self.dataset.refs(capability):
            instance = self.dataset.load(ref)
            if query in instance.query:
                return instance
        raise LookupError(query)

    def prediction(
        self,
        instance: Instance,
        change: Callable[[list[ToolCall]], Sequence[ToolCall] | None] = lambda calls: None,
        answer: str | None = None,
    ) -> Prediction:
        """The ground truth of an instance as a prediction, its calls (the opening apart) changed."""
        assert instance.ground_truth is not None
        turn = instance.ground_truth.evaluated
        calls = [call for call in turn.calls if call.name != "get_data"]
        calls = list(change(calls) or calls)
        return Prediction(
            uuid=instance.uuid,
            domain=instance.domain,
            query=instance.query,
            answer=answer_text(turn.answer) if answer is None else answer,
            calls=tuple(calls),
            capability=instance.capability,
            turn_id=turn.turn_id,
        )

    async def case(
        self, instance: Instance, prediction: Prediction, environment: ToolEnvironment | None = None
    ) -> Case:
        used = environment or self.environment
        truth = await execute_truth(instance, used)
        return Case(
            run="test",
            instance=instance,
            truth=truth.executed,
            prediction=await execute_prediction(instance, prediction, used),
            tools=truth.tools,
            truth_analysis=truth.analysis,
        )

    def searched(
        self,
        instance: Instance,
        prediction: Prediction,
        environment: ToolEnvironment | None = None,
        judge: Judge | None = None,
        **options: Any,
    ) -> RepairResult:
        async def run() -> RepairResult:
            case = await self.case(instance, prediction, environment)
            return await search(case, environment or self.environment, judge=judge or OfflineJudge(), **options)

        return asyncio.run(run())


def changed(call: ToolCall, **arguments: Any) -> ToolCall:
    return msgspec.structs.replace(call, arguments={**call.arguments, **arguments})
