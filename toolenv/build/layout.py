"""The files of a dataset in VAKRA's layout."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolenv.build.source import DomainSource, Passage, Split, Task
from toolenv.model import CAPABILITY_DIRS, Json, Universe

SPLIT = "test"
SPLITS: tuple[Split, ...] = ("test", "train")
_SERVER_TYPES = {"slot": "slot_filling", "sel": "selection"}


def write_json(path: Path, content: Json) -> None:
    """One JSON file, readable and the same bytes for the same content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def instance_path(root: Path, capability: int, side: str, domain: str, split: Split = "test") -> Path:
    """The file of one capability, side (``input`` or ``output``), domain and split."""
    return root / split / CAPABILITY_DIRS[capability] / side / f"{domain}.json"


def database_path(root: Path, domain: str) -> Path:
    return root / "databases" / domain / f"{domain}.sqlite"


def endpoints_path(root: Path, domain: str) -> Path:
    return root / "endpoints" / f"{domain}.json"


def input_record(uuid: str, domain: str, task: Task, context_answers: Sequence[Json]) -> dict[str, Json]:
    """What an agent is given: the dialogue, with the answers of all turns but the last, and the policy."""
    turns: list[dict[str, Any]] = []
    for turn_id, turn in enumerate(task.turns):
        record: dict[str, Any] = {"turn_id": turn_id, "query": turn.query}
        if turn_id < len(task.turns) - 1:
            record["answer"] = context_answers[turn_id]
        turns.append(record)
    return {
        "uuid": uuid,
        "domain": domain,
        "num_turns": len(task.turns),
        "dialogue": {"turns": turns},
        "tools": [],
        "additional_instructions": task.policy,
    }


def write_documents(root: Path, domain: str, passages: Iterable[Passage]) -> None:
    write_json(root / "documents" / f"{domain}_docs.json", [{"doc_id": p.doc_id, "text": p.text} for p in passages])


def write_configs(root: Path, sources: Sequence[DomainSource], universes: Iterable[Universe]) -> None:
    """Tool universes, the collections offered in each domain, and the domains' topic groups."""
    import yaml

    entries = {universe.id: _universe_entry(universe) for universe in universes}
    path = root / "configs" / "mcp_tool_universe_id_mapping.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(entries, allow_unicode=True, sort_keys=False), encoding="utf-8")
    offered = {s.name: [s.name, *s.offered] for s in sources if s.passages}
    write_json(root / "configs" / "retriever_domains.json", offered)
    write_json(root / "configs" / "domain_topics.json", {s.name: s.topic for s in sources if s.topic})


def _universe_entry(universe: Universe) -> Mapping[str, Json]:
    return {
        "domain": universe.domain,
        "init_args": {
            "alias_to_table_dict": {
                t.alias: {"original_table_name": t.original_name, "modified_table_name": t.modified_name}
                for t in universe.tables
            },
            "condition_sequence": [list(condition) for condition in universe.conditions],
            "database_path": f"databases/{universe.domain}/{universe.domain}.sqlite",
        },
        "query": universe.query,
        "server_type": _SERVER_TYPES[universe.style],
    }
