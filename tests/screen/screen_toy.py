"""A small world in memory for the screen: instances, a run, and tools that answer from a table of texts.

The screen's parts are real; only the dataset and the tools are made here, so that a test can say exactly what a
response, a name or a query is, however hostile.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.environments import EnvironmentChain
from eval.offline import OfflineJudge
from eval.paper import PaperProfile
from toolenv.environment import TableView
from toolenv.model import (
    GroundTruth,
    GroundTruthTurn,
    Instance,
    Json,
    Prediction,
    ToolCall,
    ToolResult,
    ToolSpec,
    Turn,
    Value,
)


class Ref(Value, frozen=True):
    """A reference to an instance or to a prediction."""

    capability: int
    domain: str
    uuid: str
    position: int = 0
    duplicate: bool = False


class ToySession:
    """Answers each tool by its fixed text; a text that begins with ``FAIL `` is a failed call."""

    forks_by_copy = True

    def __init__(self, environment: ToyEnvironment) -> None:
        self.environment = environment

    async def list_tools(self) -> Sequence[ToolSpec]:
        return self.environment.tools

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        self.environment.calls.append((name, dict(arguments)))
        await self.environment.pause()
        answers = self.environment.answers
        if name not in answers:
            return ToolResult(text=f"Tool {name} not found", is_error=True, failed=True, error_kind="unknown_tool")
        text = answers[name]
        if text.startswith("FAIL "):
            return ToolResult(text=text[5:], is_error=True, failed=True, error_kind="tool_failed")
        return ToolResult(text=text)

    async def table(self, handle: str) -> TableView | None:
        return None

    async def fork(self) -> ToySession:
        return ToySession(self.environment)

    async def close(self) -> None:
        return None

    def on_tools_changed(self, listener: Callable[[], None]) -> None:
        return None


class ToyEnvironment:
    """Serves everything. ``work`` is awaited in every call: a slow environment."""

    kind = "native"
    name = "toy"

    def __init__(self, answers: Mapping[str, str], *, seconds: float = 0.0) -> None:
        self.answers = dict(answers)
        self.seconds = seconds
        self.calls: list[tuple[str, dict[str, Json]]] = []
        self.tools = [
            ToolSpec(
                name=name,
                description=f"answers about {name}",
                input_schema={
                    "type": "object",
                    "properties": {
                        "name": {"type": "string"},
                        "limit": {"type": "integer"},
                        "order": {"type": "string", "enum": ["up", "down"]},
                    },
                },
            )
            for name in self.answers
        ]

    async def pause(self) -> None:
        if self.seconds:
            await asyncio.sleep(self.seconds)

    def fingerprint(self) -> str | None:
        return None

    def serves(self, capability: int, domain: str) -> bool:
        return True

    async def open(self, instance: Instance) -> ToySession:
        return ToySession(self)

    async def close(self) -> None:
        return None


class ToyRun:
    """A run in memory."""

    def __init__(self, name: str, predictions: Sequence[Prediction]) -> None:
        self.name = name
        self.problems: tuple[str, ...] = ()
        self.duplicates = 0
        self._predictions = {prediction.uuid: prediction for prediction in predictions}

    @property
    def files(self) -> tuple[Path, ...]:
        return ()

    def file_of(self, ref: Ref) -> Path | None:
        return None

    def fingerprint(self) -> str:
        return f"sha256:toy-run-{self.name}"

    def refs(self) -> Sequence[Ref]:
        return [
            Ref(capability=prediction.capability or 0, domain=prediction.domain, uuid=uuid)
            for uuid, prediction in self._predictions.items()
        ]

    def load(self, ref: Ref) -> Prediction:
        return self._predictions[ref.uuid]


class ToyDataset:
    """A dataset in memory."""

    def __init__(self, instances: Sequence[Instance]) -> None:
        self.problems: tuple[str, ...] = ()
        self._instances = {instance.uuid: instance for instance in instances}

    def refs(self) -> Sequence[Ref]:
        return [
            Ref(capability=instance.capability, domain=instance.domain, uuid=instance.uuid, position=position)
            for position, instance in enumerate(self._instances.values())
        ]

    def load(self, ref: Ref) -> Instance:
        return self._instances[ref.uuid]

    @property
    def record_files(self) -> tuple[Path, ...]:
        return ()

    def files_of(self, ref: Ref) -> tuple[Path, ...]:
        return ()

    def universe(self, uuid: str) -> None:
        return None

    def fingerprint(self) -> str:
        return "sha256:toy"


class ToyKept:
    """Nothing was scored before."""

    def read(self, index: int) -> Any:
        return ()

    def others(self, index: int) -> list[str]:
        return []

    def keep(self, index: int, *scored: Any) -> None:
        return None

    def flush(self) -> None:
        return None

    waiting = 0

    def unread(self, index: int) -> tuple[int, str]:
        return 0, ""


class ToyWiring:
    """What ``vakra_tui.wiring`` gives the screen, with the toy parts."""

    def __init__(
        self,
        instances: Sequence[Instance],
        runs: Sequence[ToyRun],
        environment: ToyEnvironment,
        *,
        store: Any = None,
        instance: str | None = None,
    ) -> None:
        self.sample = False
        self.selected = instance is not None
        self.instance = instance
        self.dataset: Any = ToyDataset(instances)
        self.data_path = Path("toy-data")
        self.runs: Any = tuple(runs)
        self.run_names = tuple(run.name for run in runs)
        self.environment = environment
        self.environments = EnvironmentChain([environment])  # type: ignore[list-item]
        self.judge: Any = OfflineJudge()
        self.profile = PaperProfile()
        self.profile_name = self.profile.name
        self.store = store
        self.on_store_wait: Callable[[float], None] | None = None
        self.kept = ToyKept()

    def refs(self) -> Any:
        refs = self.dataset.refs()
        return refs if self.instance is None else [ref for ref in refs if ref.uuid.startswith(self.instance)]

    def selects(self, capability: int | None, domain: str, uuid: str) -> bool:
        return self.instance is None or uuid.startswith(self.instance)

    def judge_identity(self) -> str:
        return str(self.judge.kind)

    def use(self, runs: Mapping[str, Any], dataset: Any = None) -> None:
        self.runs, self.run_names = tuple(runs.values()), tuple(runs)

    async def close(self) -> None:
        return None


POLICY = (
    "If a user's query pertains to Food & Drink, which is/are about breweries and meals, make sure you try answering "
    "it by only using document retrievers. Do not use other types of tools."
)

ANSWERS = {
    "get_top_brand": json.dumps({"brand": "Dixie"}, indent=2),
    "query_beer_factory": json.dumps(
        {"results": [{"id": "d1", "text": "Dixie is brewed by Dixie Brewing in Denver.", "score": 7.1}]}
    ),
    "get_locations": json.dumps({"locations": ["Denver", "Biloxi"]}),
    "get_city": "FAIL Error calling API: 422",
}


def instance(uuid: str = "u-1", **changes: Any) -> Instance:
    """A capability-4 instance with two turns, a policy and a reference path API, RAG, API."""
    query = changes.pop("query", "Which brewer of the most reviewed root beer also sells in Denver?")
    answer = changes.pop("answer", ["Denver"])
    calls = changes.pop(
        "calls",
        (
            ToolCall(name="get_top_brand", arguments={}),
            ToolCall(name="query_beer_factory", arguments={"question": "Who brews Dixie?"}),
            ToolCall(name="get_locations", arguments={"name": "Dixie Brewing"}),
        ),
    )
    fields: dict[str, Any] = {
        "uuid": uuid,
        "capability": 4,
        "domain": "beer_factory",
        "turns": (
            Turn(turn_id=0, query="Which root beer is reviewed most?", answer=["Dixie"]),
            Turn(turn_id=1, query=query),
        ),
        "policy": POLICY,
        "ground_truth": GroundTruth(
            turns=(GroundTruthTurn(turn_id=1, query=query, answer=answer, calls=calls, responses=None),)
        ),
    }
    return Instance(**{**fields, **changes})


def prediction(uuid: str = "u-1", **changes: Any) -> Prediction:
    """Two calls (an API, then a failing one) and an answer."""
    fields: dict[str, Any] = {
        "uuid": uuid,
        "domain": "beer_factory",
        "query": "Which brewer of the most reviewed root beer also sells in Denver?",
        "answer": "It is Dixie Brewing.",
        "calls": (
            ToolCall(name="get_top_brand", arguments={"limit": "3"}),
            ToolCall(name="query_beer_factory", arguments={"question": "Who brews Dixie?"}),
            ToolCall(name="get_city", arguments={"name": "Zanzibar"}),
        ),
        "capability": 4,
        "turn_id": 1,
    }
    return Prediction(**{**fields, **changes})


def wiring(**changes: Any) -> ToyWiring:
    """One instance, one run that has a prediction of it."""
    return ToyWiring(
        changes.pop("instances", [instance()]),
        changes.pop("runs", [ToyRun("gpt-oss-120b", [prediction()])]),
        changes.pop("environment", ToyEnvironment(ANSWERS)),
        **changes,
    )
