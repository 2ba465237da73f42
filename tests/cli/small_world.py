"""A small dataset of capability 1 (two domains, ten instances each) with a run, and the command run on it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOMAINS = ("shop", "farm")
FOLDER = "capability_1_bi_apis"
GOODS = [(1, "apple", 3), (2, "bread", 7), (3, "cheese", 9), (4, "dates", 3), (5, "eggs", 5)]


@dataclass(frozen=True)
class World:
    """``data`` and ``run`` are folders; the command keeps its store and its files in ``root``."""

    root: Path
    data: Path
    run: Path

    def command(self, *arguments: str | Path) -> list[str]:
        return [sys.executable, "-m", "vakra_tui", *(str(argument) for argument in arguments)]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "XDG_DATA_HOME": str(self.root / "data-home"), "XDG_CACHE_HOME": str(self.root / "cache")}

    def batch(self, *arguments: str | Path, **keys: Any) -> subprocess.CompletedProcess[str]:
        """The batch on the dataset and the run; both may be replaced by giving ``--run`` or another first argument."""
        given = [str(argument) for argument in arguments]
        data = [] if given and not given[0].startswith("-") else [self.data]
        run = [] if "--run" in given else ["--run", self.run]
        return self.done("--batch", *data, *given, *run, **keys)

    def done(self, *arguments: str | Path, **keys: Any) -> subprocess.CompletedProcess[str]:
        """Any command, to its end."""
        return subprocess.run(
            self.command(*arguments),
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            **keys,
        )

    def file(self, side: str, domain: str) -> Path:
        return self.data / "test" / FOLDER / side / f"{domain}.json"

    def predictions(self, domain: str) -> Path:
        return self.run / FOLDER / f"{domain}.json"


def uuid_of(domain: str, number: int) -> str:
    return f"{domain}-{number:04}"


def calls_of(domain: str, number: int) -> list[dict[str, Any]]:
    price = GOODS[number % len(GOODS)][2]
    return [
        {"name": "get_data", "arguments": {"tool_universe_id": uuid_of(domain, number)}},
        {
            "name": "filter_data",
            "arguments": {
                "data_label": "retrieved_goods_1",
                "key_name": "goods_price",
                "value": price,
                "condition": "equal_to",
            },
        },
        {
            "name": "aggregate_data",
            "arguments": {
                "aggregation_operation": "count",
                "distinct": False,
                "limit": -1,
                "data_label": "filtered_goods_1",
                "key_name": "goods_id",
            },
        },
    ]


def record(domain: str, number: int, answer: Any, calls: list[dict[str, Any]]) -> dict[str, Any]:
    turn = {"turn_id": 0, "query": f"How many goods cost {number}?", "answer": answer, "sequence": {"tool_call": calls}}
    return {"uuid": uuid_of(domain, number), "domain": domain, "output": [turn]}


def prediction(domain: str, number: int, answer: str) -> dict[str, Any]:
    body = record(domain, number, answer, calls_of(domain, number))
    return {**body, "status": "success", "error": "", "duration_s": 1.0}


def right_answer(number: int) -> int:
    price = GOODS[number % len(GOODS)][2]
    return sum(cost == price for _, _, cost in GOODS)


def make_world(root: Path, count: int = 10) -> World:
    """``count`` instances a domain; every third prediction of the run answers a wrong number."""
    data, run = root / "data", root / "run"
    universes = []
    for domain in DOMAINS:
        database = data / "databases" / domain / f"{domain}.sqlite"
        database.parent.mkdir(parents=True)
        with sqlite3.connect(database) as connection:
            connection.execute("CREATE TABLE goods (id INTEGER PRIMARY KEY, name TEXT, price INTEGER)")
            connection.executemany("INSERT INTO goods VALUES (?, ?, ?)", GOODS)
        connection.close()
        inputs, outputs, predictions = [], [], []
        for number in range(count):
            uuid = uuid_of(domain, number)
            universes.append(universe(uuid, domain))
            query = f"How many goods cost {number}?"
            inputs.append(
                {
                    "uuid": uuid,
                    "domain": domain,
                    "num_turns": 1,
                    "dialogue": {"turns": [{"turn_id": 0, "query": query}]},
                    "tools": [],
                    "additional_instructions": "",
                }
            )
            right = right_answer(number)
            outputs.append(record(domain, number, [right], calls_of(domain, number)))
            predictions.append(prediction(domain, number, str(right + 1 if number % 3 == 0 else right)))
        for path, records in (
            (data / "test" / FOLDER / "input" / f"{domain}.json", inputs),
            (data / "test" / FOLDER / "output" / f"{domain}.json", outputs),
            (run / FOLDER / f"{domain}.json", predictions),
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(records))
    mapping = data / "configs" / "mcp_tool_universe_id_mapping.yaml"
    mapping.parent.mkdir()
    mapping.write_text("".join(universes))
    return World(root=root, data=data, run=run)


def universe(uuid: str, domain: str) -> str:
    return (
        f"{uuid}:\n  domain: {domain}\n  init_args:\n    alias_to_table_dict:\n      T1:\n"
        "        modified_table_name: goods\n        original_table_name: goods\n    condition_sequence: []\n"
        f"    database_path: databases/{domain}/{domain}.sqlite\n  query: q\n  server_type: slot_filling\n"
    )
