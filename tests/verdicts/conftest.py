"""A tiny world on disk for verdicts: a database, tool universes, recorded answers, ground truths and predictions."""

from __future__ import annotations

import asyncio
import itertools
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from eval.case import Case
from eval.environments import EnvironmentChain
from eval.judge import Judge
from eval.model import Verdict
from eval.offline import OfflineJudge
from eval.paper import PaperProfile
from eval.profile import Item, ScoringContext, Unit
from eval.truths import GroundTruths
from eval.waterfall import evaluate
from sessions.submissions import Run
from sessions.trajectory import Answer, CallTool, ExecutedTrajectory, Step, Trajectory
from toolenv.dataset import Dataset
from toolenv.environment import ColumnInfo, ToolEnvironment
from toolenv.model import (
    CAPABILITY_DIRS,
    GroundTruth,
    GroundTruthTurn,
    Instance,
    ToolCall,
    ToolResult,
    ToolSpec,
    Turn,
)
from toolenv.native import NativeEnvironment
from toolenv.recorded import RecordedEnvironment

Calls = Sequence[tuple[str, Mapping[str, Any]]]

_counter = itertools.count()

HEROES = [
    (1, "Ant-Man", "Marvel Comics", 180, "Blue"),
    (2, "Aquaman", "DC Comics", 185, "Blue"),
    (3, "Batman", "DC Comics", 188, "Brown"),
    (4, "Catwoman", "DC Comics", 175, "Green"),
    (5, "Cyborg", "DC Comics", 198, "Brown"),
    (6, "Hellboy", "Dark Horse Comics", 259, "Gold"),
    (7, "Hulk", "Marvel Comics", 244, "Green"),
    (8, "Spawn", "Image Comics", 211, "Brown"),
    (9, "Thor", "Marvel Comics", 198, "Blue"),
    (10, "Vixen", "DC Comics", None, "Brown"),
]


@dataclass
class World:
    """A dataset, a run and recorded environments being written; ``score`` reads them back as any user's would be."""

    root: Path
    domain: str = "superhero"
    inputs: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    outputs: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    predictions: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    universes: dict[str, Any] = field(default_factory=dict)
    tools: dict[int, dict[str, dict[str, Any]]] = field(default_factory=dict)
    answers: dict[int, list[dict[str, Any]]] = field(default_factory=dict)

    def instance(
        self,
        uuid: str,
        answer: Any,
        calls: Calls,
        *,
        capability: int = 1,
        query: str = "How many are there?",
        policy: str = "",
        context: Sequence[tuple[str, Any]] = (),
        **author_keys: Any,
    ) -> str:
        """An instance; of capability 1 the universe is the table of heroes and the opening is written as VAKRA does."""
        turns = [{"turn_id": n, "query": q, "answer": a} for n, (q, a) in enumerate(context)]
        last = {"turn_id": len(turns), "query": query}
        written = [{"name": name, "arguments": dict(arguments)} for name, arguments in calls]
        if capability == 1:
            written.insert(0, {"name": "get_data", "arguments": {"tool_universe_id": uuid}})
            tables = {"": {"original_table_name": "heroes", "modified_table_name": "heroes"}}
            self.universes[uuid] = {
                "domain": self.domain,
                "init_args": {"alias_to_table_dict": tables, "condition_sequence": [], "database_path": "x"},
                "query": query,
                "server_type": author_keys.pop("style", "slot_filling"),
            }
        self.inputs.setdefault(capability, []).append(
            {
                "uuid": uuid,
                "domain": self.domain,
                "num_turns": len(turns) + 1,
                "dialogue": {"turns": [*turns, last]},
                "tools": [],
                "additional_instructions": policy,
            }
        )
        output = [
            *({**turn, "sequence": {"tool_call": [], "tool_response": []}} for turn in turns),
            {**last, "answer": answer, "sequence": {"tool_call": written}},
        ]
        self.outputs.setdefault(capability, []).append(
            {"uuid": uuid, "domain": self.domain, "output": output, "additional_instructions": policy, **author_keys}
        )
        return uuid

    def predict(self, uuid: str, answer: Any, calls: Calls, *, capability: int = 1, **output: Any) -> None:
        written = [{"name": name, "arguments": arguments} for name, arguments in calls]
        turn = {"turn_id": 0, "query": "q", "answer": answer, "sequence": {"tool_call": written}, **output}
        record = {
            "uuid": uuid,
            "domain": self.domain,
            "status": "success",
            "error": "",
            "duration_s": 1.0,
            "output": [turn],
        }
        self.predictions.setdefault(capability, []).append(record)

    def tool(self, name: str, capability: int = 2, **properties: str) -> None:
        """A recorded endpoint; every property is required."""
        schema = {
            "type": "object",
            "properties": {key: {"type": kind} for key, kind in properties.items()},
            "required": list(properties),
        }
        self.tools.setdefault(capability, {})[name] = {"name": name, "inputSchema": schema}

    def answered(self, name: str, arguments: Mapping[str, Any], body: Any, capability: int = 2) -> None:
        """What a recorded endpoint answers: JSON as the release prints it, or a text as it stands."""
        text = body if isinstance(body, str) else json.dumps(body, indent=2)
        line = {"name": name, "arguments": dict(arguments), "response_text": text, "is_error": False}
        self.answers.setdefault(capability, []).append(line)

    def write(self) -> tuple[Path, Path, Path]:
        data, run, recorded = self.root / "data", self.root / "run", self.root / "recorded"
        database = data / "databases" / self.domain / f"{self.domain}.sqlite"
        database.parent.mkdir(parents=True, exist_ok=True)
        database.unlink(missing_ok=True)
        with sqlite3.connect(database) as connection:
            connection.execute("CREATE TABLE heroes (id INTEGER, name TEXT, publisher TEXT, height INTEGER, eyes TEXT)")
            connection.executemany("INSERT INTO heroes VALUES (?, ?, ?, ?, ?)", HEROES)
        for capability, folder in CAPABILITY_DIRS.items():
            for side, records in (("input", self.inputs), ("output", self.outputs)):
                if capability in records:
                    _write(data / "test" / folder / side / f"{self.domain}.json", records[capability])
            if capability in self.predictions:
                _write(run / folder / f"{self.domain}.json", self.predictions[capability])
            if capability in self.tools:
                lines = [{"tools": list(self.tools[capability].values())}, *self.answers.get(capability, [])]
                path = recorded / folder / f"{self.domain}.jsonl"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        configs = data / "configs"
        configs.mkdir(parents=True, exist_ok=True)
        (configs / "mcp_tool_universe_id_mapping.yaml").write_text(yaml.safe_dump(self.universes), "utf-8")
        run.mkdir(exist_ok=True)
        return data, run, recorded

    def score(self, judge: Judge | None = None) -> dict[str, Verdict]:
        """The verdicts of ``--profile paper`` by uuid, in a batch of one."""
        data, run, recorded = self.write()
        places = [recorded] if recorded.is_dir() else []
        return asyncio.run(scored(data, run, places, judge or OfflineJudge()))

    def verdict(self, judge: Judge | None = None) -> Verdict:
        """The verdict on the only instance."""
        (verdict,) = self.score(judge).values()
        return verdict


async def scored(data: Path, run_path: Path, recorded: Sequence[Path], judge: Judge) -> dict[str, Verdict]:
    dataset = Dataset.open(data)
    run = Run.open(run_path, dataset)
    environments: list[ToolEnvironment] = [RecordedEnvironment(place) for place in recorded]
    chain = EnvironmentChain([*environments, NativeEnvironment(dataset)])
    context = ScoringContext(dataset=dataset, run=run, environments=chain, judge=judge, truths=GroundTruths())
    verdicts = {}
    for position, ref in enumerate(dataset.refs()):
        item = Item(position=position, instance=ref, prediction=run.get(ref))
        (verdict,) = await PaperProfile().score(Unit(items=(item,)), context)
        verdicts[ref.uuid] = verdict
    await context.truths.close()
    await chain.close()
    return verdicts


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture(scope="session")
def make_world(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], World]:
    """New worlds for property tests."""
    return lambda: World(tmp_path_factory.mktemp("world"))


# --- trajectories made by hand ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """A table in memory; every one has a fingerprint of its own, so that contents are what must be compared."""

    names: tuple[str, ...]
    cells: tuple[tuple[Any, ...], ...]
    fingerprint: str = field(default_factory=lambda: f"made {next(_counter)}", compare=False)

    @property
    def num_records(self) -> int:
        return len(self.cells)

    @property
    def columns(self) -> tuple[ColumnInfo, ...]:
        return tuple(ColumnInfo(name=name, dtype="object") for name in self.names)

    def rows(self, start: int, stop: int) -> Sequence[tuple[Any, ...]]:
        return self.cells[start:stop]

    def column(self, index: int) -> Any:
        return (row[index] for row in self.cells)

    def peek(self, handle: str) -> str:
        details = [
            {"name": name, "dtype": "object", "first_3_values": [row[index] for row in self.cells[:3]]}
            for index, name in enumerate(self.names)
        ]
        return json.dumps({"handle": handle, "num_records": len(self.cells), "key_details": details})


@dataclass(frozen=True)
class Made:
    """A call that somebody made and what it gave: a JSON body, a text, a table, or a failure."""

    name: str
    body: Any = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    failed: bool = False
    handle: str | None = None

    def step(self) -> tuple[Step, Any]:
        table = self.body if isinstance(self.body, Rows) else None
        handle = self.handle or (f"made_{id(self.body)}" if table is not None else None)
        if table is not None:
            text = table.peek(handle or "")
        else:
            text = self.body if isinstance(self.body, str) else json.dumps(self.body)
        result = ToolResult(text=text, failed=self.failed, handle=None if self.failed else handle)
        return Step(
            actor="recording", decision=CallTool(call=ToolCall(name=self.name, arguments=self.arguments)), result=result
        ), table


def executed(instance: Instance, calls: Sequence[Made], answer: str) -> ExecutedTrajectory:
    steps, views = zip(*(made.step() for made in calls), strict=True) if calls else ((), ())
    last = Step(actor="recording", decision=Answer(text=answer))
    return ExecutedTrajectory(trajectory=Trajectory(instance=instance, steps=(*steps, last)), tables=(*views, None))


def made_case(
    truth: Sequence[Made],
    answer: Any,
    predicted: Sequence[Made],
    said: str,
    *,
    query: str = "What is it?",
    capability: int = 2,
    domain: str = "superhero",
    policy: str = "",
    context: Sequence[tuple[str, Any]] = (),
    tools: Sequence[ToolSpec] = (),
) -> Case:
    """A case whose two sides are given as executed."""
    turns = (
        *(Turn(turn_id=n, query=q, answer=a) for n, (q, a) in enumerate(context)),
        Turn(turn_id=len(context), query=query),
    )
    calls = tuple(ToolCall(name=made.name, arguments=made.arguments) for made in truth)
    reference = GroundTruth(turns=(GroundTruthTurn(turn_id=len(context), query=query, answer=answer, calls=calls),))
    instance = Instance(
        uuid="u", capability=capability, domain=domain, turns=turns, policy=policy, ground_truth=reference
    )
    return Case(
        run="r",
        instance=instance,
        truth=executed(instance, truth, ""),
        prediction=executed(instance, predicted, said),
        tools=tools,
    )


def judged(case: Case, judge: Judge | None = None) -> Verdict:
    return asyncio.run(evaluate(case, judge=judge or OfflineJudge()))


@dataclass(frozen=True)
class Bench:
    """What tests take from here, since test modules do not import each other."""

    made: type[Made] = Made
    rows: type[Rows] = Rows
    case: Callable[..., Case] = made_case
    judged: Callable[..., Verdict] = judged
    executed: Callable[..., ExecutedTrajectory] = executed


@pytest.fixture(scope="session")
def bench() -> Bench:
    return Bench()
