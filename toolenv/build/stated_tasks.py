"""Tasks that somebody stated in full: paths of several hops, dialogues, policies, questions without a ground truth.

A record holds ``key`` (unique in its domain), ``capability`` and ``query`` with its ``hops``, or ``turns`` of such.
A hop is ``{"query", "sql"}`` or ``{"query", "answer", "doc_id"}``; one ``sql`` in place of ``hops`` is a hop that asks
the query itself. ``answer`` is stated where it is not the last hop's own. Further keys: ``style`` (capability 1),
``policy`` with ``policy_note`` and ``blocked_source``, ``ground_truth``, ``split``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from toolenv.build.questions import read_records
from toolenv.build.source import DocumentHop, Hop, Task, TaskTurn
from toolenv.errors import DataError
from toolenv.model import CAPABILITY_DIRS

_TURN_KEYS = ("query", "hops", "answer", "sql")


def read_tasks(path: Path, doc_ids: Collection[str]) -> list[Task]:
    """The tasks of a file. ``doc_ids`` are the documents that there are.

    Raises ``DataError`` that names the file and the record.
    """
    tasks = []
    for number, record in enumerate(read_records(path), 1):
        try:
            task = _task(record)
            _refuse_unfit(task, doc_ids)
        except (msgspec.ValidationError, TypeError, ValueError) as error:
            raise DataError(f"{path}: record {number} ({record.get('key')}) cannot be a task: {error}") from error
        tasks.append(task)
    return tasks


def _task(record: Mapping[str, Any]) -> Task:
    unknown = set(record) - {*Task.__struct_fields__, *_TURN_KEYS}
    if unknown:
        raise ValueError(f"nothing is known of {', '.join(sorted(unknown))}")
    rest = {name: value for name, value in record.items() if name not in _TURN_KEYS}
    turns = rest.get("turns")
    if turns is not None and not isinstance(turns, list):
        raise ValueError("turns are a list")
    if turns is None:
        turns = [{name: record[name] for name in _TURN_KEYS if name in record}]
    return msgspec.convert({**rest, "turns": [_turn(turn) for turn in turns]}, Task)


def _turn(turn: Any) -> dict[str, Any]:
    if not isinstance(turn, dict):
        raise TypeError("a turn is an object with a query and its hops")
    hops = turn.get("hops") or ()
    if "sql" in turn:
        hops = [{"query": turn.get("query"), "sql": turn["sql"]}]
    if not isinstance(hops, list | tuple) or not all(isinstance(hop, dict) for hop in hops):
        raise ValueError("hops are a list of objects")
    tagged = [{**hop, "source": "sql" if "sql" in hop else "document"} for hop in hops]
    return {"query": turn.get("query"), "hops": tagged, "answer": turn.get("answer")}


def _refuse_unfit(task: Task, doc_ids: Collection[str]) -> None:
    if task.capability not in CAPABILITY_DIRS:
        raise ValueError(f"capability is one of {', '.join(map(str, CAPABILITY_DIRS))}")
    if not task.turns:
        raise ValueError("it has no turn")
    hops = _hops(task.turns)
    documents = [hop for hop in hops if isinstance(hop, DocumentHop)]
    if task.capability < 4 and (len(task.turns) > 1 or documents):
        raise ValueError("dialogues and documents are of capability 4")
    if task.capability < 3 and len(hops) != 1:
        raise ValueError("a task of capability 1 or 2 has one hop")
    if (task.style is None) is (task.capability == 1):
        raise ValueError("style is for capability 1, and due there")
    if any(turn.answer is None and not turn.hops for turn in task.turns):
        raise ValueError("a turn without hops needs its answer")
    missing = [hop.doc_id for hop in documents if hop.doc_id not in doc_ids]
    if missing:
        raise ValueError(f"there is no document {missing[0]!r}")


def _hops(turns: Sequence[TaskTurn]) -> list[Hop]:
    return [hop for turn in turns for hop in turn.hops]
