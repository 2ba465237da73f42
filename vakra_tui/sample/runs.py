"""The sample's runs on its dataset.

``oracle`` repeats the ground truth. ``flawed`` and ``explorer`` change it as ``flawed.yaml`` and ``explorer.yaml`` of
each domain say; a key that they do not name keeps the ground truth. A change holds ``key`` and any of

* ``calls``: the calls in place of the ground truth's (in capability 1 those after the opening),
* ``edits``: changes to single calls, each ``{call: <1-based>, drop | name | set | rename}``,
* ``answer``: another answer; ``missing: true``: no prediction;
* in ``flawed.yaml`` also ``why`` and what the waterfall must say: ``failed_stage`` and ``sieve``.

``labels.jsonl`` lies beside the runs and holds, for every instance of ``flawed``, what it must score.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolenv.build.layout import SPLIT, write_json
from toolenv.build.reference_runs import answer_text
from toolenv.build.writer import instance_uuid
from toolenv.errors import DataError
from toolenv.model import CAPABILITY_DIRS
from vakra_tui.sample.sources import domains, sources_folder

Record = dict[str, Any]
Call = dict[str, Any]


def write_runs(dataset: Path, runs: Path) -> None:
    """Write every run in the submission format, and the labels of the flawed one."""
    changes = {run: _changes(run) for run in ("flawed", "explorer")}
    labels: list[Record] = []
    for capability, domain, uuids, truths in _files(dataset):
        for run in ("oracle", "flawed", "explorer"):
            wanted = [change_of(changes.get(run, {}), truth) for truth in truths]
            made = [record for t, c in zip(truths, wanted, strict=True) if (record := changed(t, c)) is not None]
            write_json(runs / run / CAPABILITY_DIRS[capability] / f"{domain}.json", made)
        known = {truth["uuid"] for truth in truths}
        for uuid in uuids:
            labels.append(_label(uuid, capability, domain, changes["flawed"].get(uuid), uuid in known))
    _refuse_leftovers(changes, {label["uuid"] for label in labels})
    text = "".join(json.dumps(label, ensure_ascii=False) + "\n" for label in labels)
    (runs / "labels.jsonl").write_text(text, encoding="utf-8")


def changed(truth: Record, change: Mapping[str, Any]) -> Record | None:
    """The submission record of a ground truth under a change; None where there is to be no prediction."""
    if change.get("missing"):
        return None
    turn = truth["output"][-1]
    calls: list[Call] = copy.deepcopy(turn["sequence"]["tool_call"])
    if "calls" in change:
        opening = [call for call in calls[:1] if call["name"] == "get_data"]
        calls = [*opening, *change["calls"]]
    calls = _edited(calls, change.get("edits", ()))
    answer = change["answer"] if "answer" in change else answer_text(turn["answer"])
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
                "sequence": {"tool_call": calls},
            }
        ],
    }


def change_of(changes: Mapping[str, Mapping[str, Any]], truth: Record) -> Mapping[str, Any]:
    """The change that is named for an instance, or none."""
    return changes.get(truth["uuid"], {})


def _edited(calls: Sequence[Call], edits: Sequence[Mapping[str, Any]]) -> list[Call]:
    result: list[Call | None] = list(calls)
    for edit in edits:
        call = result[edit["call"] - 1]
        if edit.get("drop") or call is None:
            result[edit["call"] - 1] = None
            continue
        arguments = {edit.get("rename", {}).get(name, name): value for name, value in call["arguments"].items()}
        result[edit["call"] - 1] = {
            "name": edit.get("name", call["name"]),
            "arguments": arguments | edit.get("set", {}),
        }
    return [call for call in result if call is not None]


def _changes(run: str) -> dict[str, Mapping[str, Any]]:
    """The changes of a run by uuid."""
    import yaml

    found: dict[str, Mapping[str, Any]] = {}
    for domain in domains():
        text = sources_folder().joinpath(domain, f"{run}.yaml").read_text(encoding="utf-8")
        for entry in yaml.safe_load(text):
            uuid = instance_uuid(domain, entry["key"])
            if uuid in found:
                raise DataError(f"{run}.yaml of {domain} changes {entry['key']!r} twice; keep one of the two.")
            found[uuid] = entry
    return found


def _label(uuid: str, capability: int, domain: str, change: Mapping[str, Any] | None, has_truth: bool) -> Record:
    if not has_truth:
        stage, sieve, why = None, None, "no ground truth"
    elif change is None:
        stage, sieve, why = None, "none", "calls and answer of the ground truth"
    else:
        stage, sieve, why = change["failed_stage"], change["sieve"], change["why"]
    return {
        "uuid": uuid,
        "run": "flawed",
        "capability": capability,
        "domain": domain,
        "failed_stage": stage,
        "sieve": sieve,
        "why": why,
    }


def _refuse_leftovers(changes: Mapping[str, Mapping[str, Mapping[str, Any]]], known: set[str]) -> None:
    for run, by_uuid in changes.items():
        for uuid, change in by_uuid.items():
            if uuid not in known:
                raise DataError(f"{run}.yaml changes {change['key']!r}, which is no task of its domain.")


def _files(dataset: Path) -> Iterator[tuple[int, str, list[str], list[Record]]]:
    """Capability, domain, the uuids of the inputs, and the ground truths of every file pair."""
    for capability, folder in CAPABILITY_DIRS.items():
        for path in sorted((dataset / SPLIT / folder / "input").glob("*.json")):
            inputs = json.loads(path.read_text(encoding="utf-8"))
            truths = json.loads((path.parent.parent / "output" / path.name).read_text(encoding="utf-8"))
            yield capability, path.stem, [record["uuid"] for record in inputs], truths
