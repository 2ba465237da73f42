"""The sample's runs: ``oracle`` copies the ground truth, ``flawed`` and ``explorer`` change it as ``changes.yaml`` says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from toolenv.build.layout import SPLIT, write_json
from toolenv.model import CAPABILITY_DIRS, Json

Record = dict[str, Any]


def write_runs(dataset: Path, runs: Path) -> None:
    """Write every run in the submission format."""
    for capability, domain, records in _ground_truths(dataset):
        write_json(
            runs / "oracle" / CAPABILITY_DIRS[capability] / f"{domain}.json", [oracle(record) for record in records]
        )


def oracle(truth: Record) -> Record:
    """The submission record that repeats a ground truth's evaluated turn."""
    turn = truth["output"][-1]
    return submission(truth, turn["sequence"]["tool_call"], answer_text(turn["answer"]))


def submission(truth: Record, calls: list[Mapping[str, Json]], answer: str) -> Record:
    """A submission record for an instance with the given calls and answer."""
    turn = truth["output"][-1]
    return {
        "uuid": truth["uuid"],
        "domain": truth["domain"],
        "status": "success",
        "error": "",
        "duration_s": 0.0,
        "output": [
            {
                "turn_id": turn["turn_id"],
                "query": turn["query"],
                "answer": answer,
                "sequence": {"tool_call": [dict(call) for call in calls]},
            }
        ],
    }


def answer_text(answer: Json) -> str:
    """A ground-truth answer as an agent would write it: one value plainly, several as a JSON list."""
    if isinstance(answer, list) and len(answer) == 1 and not isinstance(answer[0], list):
        return str(answer[0])
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def _ground_truths(dataset: Path) -> Iterator[tuple[int, str, list[Record]]]:
    for capability, folder in CAPABILITY_DIRS.items():
        for path in sorted((dataset / SPLIT / folder / "output").glob("*.json")):
            yield capability, path.stem, json.loads(path.read_text(encoding="utf-8"))
