"""Two runs that show what a dataset's scores mean: the ground truths as predictions, and the same calls shuffled.

Both are in the submission format. ``oracle`` repeats every ground truth. ``shuffled`` has its calls with the texts and
numbers of the arguments dealt out anew among the instances of a file, and each answer one instance further.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolenv.build.layout import write_json
from toolenv.errors import DataError
from toolenv.model import CAPABILITY_DIRS, Json

NAMES = ("oracle", "shuffled")
_KEPT = frozenset(["input_1", "input_2", "n_results", "limit", "n"])
"""Arguments that hold handles or say how much is shown."""


def write_reference_runs(data: Path, runs: Path, split: str = "test") -> None:
    """Write ``runs/oracle`` and ``runs/shuffled`` for a split of a dataset; ``runs`` must be absent or empty.

    Raises ``DataError`` for a folder that cannot be written and a file that is not of VAKRA's layout.
    """
    try:
        if runs.exists() and (not runs.is_dir() or any(runs.iterdir())):
            raise DataError(f"{runs} exists and is not an empty folder; write the runs into a new one")
        for folder in CAPABILITY_DIRS.values():
            for path in sorted((data / split / folder / "output").glob("*.json")):
                records = _records(path)
                write_json(runs / "oracle" / folder / path.name, oracle(records))
                write_json(runs / "shuffled" / folder / path.name, shuffled(records, random.Random(0)))
    except OSError as error:
        raise DataError(f"{error.filename or runs} cannot be read or written: {error.strerror}") from error


def oracle(records: Sequence[Mapping[str, Any]]) -> list[Json]:
    """Submission records that repeat the ground truths."""
    return [
        _submission(record, record["output"][-1]["sequence"]["tool_call"], answer_text(record["output"][-1]["answer"]))
        for record in records
    ]


def shuffled(records: Sequence[Mapping[str, Any]], rng: random.Random) -> list[Json]:
    """Submission records with the ground truths' calls, texts and numbers of the arguments dealt out anew.

    A call whose arguments hold nothing but handles keeps them; the answers go one instance further.
    """
    turns = [record["output"][-1] for record in records]
    calls = [
        [{"name": c["name"], "arguments": dict(c["arguments"])} for c in t["sequence"]["tool_call"]] for t in turns
    ]
    places = [
        (call["arguments"], name)
        for made in calls
        for call in made
        if call["name"] != "get_data"
        for name, value in call["arguments"].items()
        if isinstance(value, str | int | float) and not isinstance(value, bool) and _is_free(name)
    ]
    for kind in (str, (int, float)):
        chosen = [(arguments, name) for arguments, name in places if isinstance(arguments[name], kind)]
        values = [arguments[name] for arguments, name in chosen]
        rng.shuffle(values)
        for (arguments, name), value in zip(chosen, values, strict=True):
            arguments[name] = value
    answers = [answer_text(turn["answer"]) for turn in turns]
    return [
        _submission(record, made, answers[(number + 1) % len(answers)])
        for number, (record, made) in enumerate(zip(records, calls, strict=True))
    ]


def answer_text(answer: Json) -> str:
    """A ground-truth answer as an agent would write it: one value plainly, several as a JSON list."""
    if isinstance(answer, list) and len(answer) == 1 and not isinstance(answer[0], list):
        return str(answer[0])
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def _submission(record: Mapping[str, Any], calls: Sequence[Mapping[str, Any]], answer: str) -> Json:
    turn = record["output"][-1]
    output = {
        "turn_id": turn["turn_id"],
        "query": turn["query"],
        "answer": answer,
        "sequence": {"tool_call": list(calls)},
    }
    return {
        "uuid": record["uuid"],
        "domain": record["domain"],
        "status": "success",
        "error": "",
        "duration_s": 0.0,
        "output": [output],
    }


def _is_free(name: str) -> bool:
    return not name.startswith("data_label") and name not in _KEPT


def _records(path: Path) -> list[dict[str, Any]]:
    """The records of an output file; those that hold no ground truth are left out."""
    try:
        found = json.loads(path.read_bytes())
        records = [record for record in found if record["output"]]
        for record in records:
            turn = record["output"][-1]
            _ = (record["uuid"], record["domain"], turn["turn_id"], turn["query"], turn["answer"])
            _ = [(call["name"], dict(call["arguments"])) for call in turn["sequence"]["tool_call"]]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise DataError(f"{path} is not a file of ground truths: {error}") from error
    return records
