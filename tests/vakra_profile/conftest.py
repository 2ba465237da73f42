"""Small datasets and runs on disk, scored end to end by either profile."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from eval.case import Case
from eval.environments import EnvironmentChain
from eval.judge import Judge, JudgeFailure
from eval.model import Gate, Ruling, Verdict
from eval.offline import OfflineJudge
from eval.paper import PaperProfile
from eval.profile import Item, ScoringContext
from eval.truths import GroundTruths
from eval.vakra import VakraProfile
from sessions.submissions import Run
from sessions.trajectory import ExecutedTrajectory
from toolenv.dataset import Dataset
from toolenv.model import CAPABILITY_DIRS
from toolenv.native import NativeEnvironment
from toolenv.recorded import RecordedEnvironment

DOMAIN = "guild"
FIRST, SECOND = "aaaa-1", "bbbb-2"
"""The two tool universes: all heroes, and heroes joined with their powers."""

MAPPING = f"""
{FIRST}:
  domain: {DOMAIN}
  server_type: slot_filling
  init_args:
    alias_to_table_dict: {{"": {{original_table_name: hero, modified_table_name: hero}}}}
    condition_sequence: []
{SECOND}:
  domain: {DOMAIN}
  server_type: slot_filling
  init_args:
    alias_to_table_dict:
      T1: {{original_table_name: hero, modified_table_name: hero}}
      T2: {{original_table_name: power, modified_table_name: power}}
    condition_sequence: [[T1.id, T2.hero_id, INNER]]
"""

TOOLS = [
    {"name": "count_heroes", "inputSchema": schema}
    for schema in [
        {
            "type": "object",
            "properties": {"team": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["team"],
        }
    ]
]
RETRIEVER = {
    "name": f"query_{DOMAIN}",
    "inputSchema": {
        "type": "object",
        "properties": {"question": {"type": "string"}, "n_results": {"type": "integer"}},
        "required": ["question"],
    },
}


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"name": tool, "arguments": arguments}


def turn(
    answer: Any, calls: Any = (), *, turn_id: int = 0, responses: Any = None, query: str = "How many?"
) -> dict[str, Any]:
    """An output turn; ``calls`` may be a list of calls, None (no such key) or a whole sequence of odd form."""
    sequence: Any = calls
    if calls is None:
        sequence = {}
    elif isinstance(calls, list | tuple):
        sequence = {"tool_call": list(calls)}
    if responses is not None:
        sequence["tool_response"] = responses
    return {"turn_id": turn_id, "query": "How many?", "answer": answer, "sequence": sequence}


def record(uuid: Any, *turns: dict[str, Any]) -> dict[str, Any]:
    return {"uuid": uuid, "domain": DOMAIN, "status": "success", "error": "", "duration_s": 1.0, "output": list(turns)}


class ScriptedJudge:
    """Says that an answer is right when it is the ground truth's text, and grounded always; keeps what it was asked."""

    kind = "recorded"

    def __init__(self, *, down: bool = False, grounded: str = "pass") -> None:
        self.asked: list[tuple[Gate, Case]] = []
        self._down = down
        self._grounded = grounded

    async def rule(self, gate: Gate, case: Case) -> Ruling:
        self.asked.append((gate, case))
        if self._down:
            raise JudgeFailure("The judge is down.")
        outcome = self._grounded
        if gate == "consistent":
            assert case.instance.ground_truth is not None
            due = case.instance.ground_truth.evaluated.answer
            text = ", ".join(due) if isinstance(due, list) else due or ""
            outcome = "pass" if text == (case.prediction.trajectory.answer or "").lower() else "fail"
        return Ruling(outcome=outcome, decided_by="recorded", reason="scripted")  # type: ignore[arg-type]


class World:
    """A folder with a database, universes, recordings, ground truth and a run; ``score`` runs a profile over it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.executed: list[tuple[str, str, ExecutedTrajectory]] = []
        self._database()
        configs = folder / "data" / "configs"
        configs.mkdir(parents=True)
        (configs / "mcp_tool_universe_id_mapping.yaml").write_text(MAPPING)

    def _database(self) -> None:
        path = self._folder / "data" / "databases" / DOMAIN / f"{DOMAIN}.sqlite"
        path.parent.mkdir(parents=True)
        with sqlite3.connect(path) as database:
            database.execute("create table hero (id integer, name text, team text, age integer)")
            database.execute("create table power (hero_id integer, title text)")
            database.executemany(
                "insert into hero values (?, ?, ?, ?)",
                [(n, f"hero {n}", "red" if n % 3 else "blue", 20 + n) for n in range(1, 41)],
            )
            database.executemany(
                "insert into power values (?, ?)", [(n, "flight" if n % 2 else "speed") for n in range(1, 41)]
            )
        database.close()

    async def score(
        self,
        profile: str,
        truths: Sequence[Any],
        predictions: Sequence[Any],
        *,
        capability: int = 1,
        judge: Judge | None = None,
        recorded: Mapping[str, Any] | Sequence[dict[str, Any]] = (),
        environment: bool = True,
    ) -> dict[str, Verdict]:
        """Verdicts by uuid."""
        folder = CAPABILITY_DIRS[capability]
        self._write(self._folder / "data" / "test" / folder / "output" / f"{DOMAIN}.json", truths)
        self._write(self._folder / "run" / folder / f"{DOMAIN}.json", predictions)
        dataset = Dataset.open(self._folder / "data")
        run = Run.open(self._folder / "run", dataset)
        environments: list[Any] = [NativeEnvironment(dataset)] if environment and capability == 1 else []
        if capability != 1 and environment:
            environments = [RecordedEnvironment(self._recording(folder, recorded, capability))]
        context = ScoringContext(
            dataset=dataset,
            run=run,
            environments=EnvironmentChain(environments),
            judge=judge or (ScriptedJudge() if profile == "vakra" else OfflineJudge()),
            truths=GroundTruths(),
            on_executed=lambda item, side, done: self.executed.append((item.uuid, side, done)),
        )
        pairs: list[tuple[Any, Any]] = [(ref, run.get(ref)) for ref in dataset.refs()]
        known = {prediction for _, prediction in pairs}
        pairs += [(None, ref) for ref in run.refs() if ref not in known]
        items = [Item(position=at, instance=pair[0], prediction=pair[1]) for at, pair in enumerate(pairs)]
        scoring: Any = VakraProfile() if profile == "vakra" else PaperProfile()
        verdicts = [verdict for unit in scoring.units(items) for verdict in await scoring.score(unit, context)]
        assert len(verdicts) == len(items)
        return {verdict.uuid: verdict for verdict in verdicts}

    def _recording(self, folder: str, lines: Any, capability: int) -> Path:
        path = self._folder / "recorded" / folder / f"{DOMAIN}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        tools = [*TOOLS, RETRIEVER] if capability == 4 else TOOLS
        path.write_text("\n".join(json.dumps(line) for line in [{"tools": tools}, *lines]))
        return self._folder / "recorded"

    @staticmethod
    def _write(path: Path, records: Sequence[Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(list(records)))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
