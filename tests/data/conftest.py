"""A small dataset of our own, and a writer of folders in VAKRA's layout."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from toolenv.model import Instance, Turn

BI = "capability_1_bi_apis"
DASHBOARDS = "capability_2_dashboard_apis"
TURNS = "capability_4_multiturn"


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def truth(uuid: str, *calls: Any, answer: Any = "1", domain: str = "hockey", **more: Any) -> dict[str, Any]:
    turn = {"turn_id": 0, "query": "q", "answer": answer, "sequence": {"tool_call": list(calls)}}
    return {"uuid": uuid, "domain": domain, "output": [turn], **more}


def question(uuid: str, *queries: str, domain: str = "hockey", policy: str = "") -> dict[str, Any]:
    turns = [{"turn_id": number, "query": query} for number, query in enumerate(queries or ("q",))]
    return {
        "uuid": uuid,
        "domain": domain,
        "num_turns": len(turns),
        "dialogue": {"turns": turns},
        "tools": [],
        "additional_instructions": policy,
    }


def prediction(uuid: str, *calls: Any, answer: str = "1", domain: str = "hockey", turn_id: int = 0) -> dict[str, Any]:
    turn = {"turn_id": turn_id, "query": "q", "answer": answer, "sequence": {"tool_call": list(calls)}}
    return {"uuid": uuid, "domain": domain, "status": "success", "error": "", "duration_s": 1.0, "output": [turn]}


Write = Callable[[Mapping[str, Any]], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write files below a fresh folder: bytes and text as they are, everything else as JSON. Returns the folder."""

    def put(files: Mapping[str, Any]) -> Path:
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                path.write_bytes(content)
            elif isinstance(content, str):
                path.write_text(content, encoding="utf-8")
            else:
                path.write_text(json.dumps(content, indent=1), encoding="utf-8")
        return tmp_path

    return put


UNIVERSES = """\
u-1:
  domain: hockey
  init_args:
    alias_to_table_dict:
      T1:
        modified_table_name: team
        original_table_name: team
      T2:
        modified_table_name: player
        original_table_name: player
    condition_sequence:
    - - T1.id
      - T2.team_id
      - INNER
    database_path: databases/hockey/hockey.sqlite
  query: Who scored most?
  server_type: slot_filling
u-2:
  domain: hockey
  init_args:
    alias_to_table_dict:
      ? ''
      : modified_table_name: team
        original_table_name: team
    condition_sequence: []
    database_path: databases/hockey/hockey.sqlite
  query: 'Which: team?'
  server_type: selection
"""


@pytest.fixture
def hockey(write: Write) -> Path:
    """A dataset of one domain: two instances of capability 1 over a real database."""
    folder = write(
        {
            f"test/{BI}/input/hockey.json": [question("u-1", "Who scored most?"), question("u-2")],
            f"test/{BI}/output/hockey.json": [
                truth(
                    "u-1",
                    call("get_data", tool_universe_id="u-1"),
                    call(
                        "filter_data",
                        data_label="retrieved_team_1",
                        key_name="player_goals",
                        value=1,
                        condition="greater_than",
                    ),
                    call("aggregate_data", data_label="filtered_team_1", aggregation_operation="count"),
                    answer=[2],
                ),
                truth(
                    "u-2", call("get_data", tool_universe_id="u-2"), call("get_names", data_label="retrieved_data_1")
                ),
            ],
            "configs/mcp_tool_universe_id_mapping.yaml": UNIVERSES,
        }
    )
    database = folder / "databases" / "hockey" / "hockey.sqlite"
    database.parent.mkdir(parents=True)
    connection = sqlite3.connect(database)
    connection.executescript(
        "CREATE TABLE team (id INTEGER, name TEXT);"
        "CREATE TABLE player (team_id INTEGER, nick TEXT, goals INTEGER);"
        "INSERT INTO team VALUES (1, 'Reds'), (2, 'Blues');"
        "INSERT INTO player VALUES (1, 'Al', 3), (1, 'Bo', 1), (2, 'Cy', 5), (2, 'Di', NULL);"
    )
    connection.commit()
    connection.close()
    return folder


def instance(uuid: str = "u", capability: int = 2, domain: str = "hockey") -> Instance:
    universe = uuid if capability == 1 else None
    turns = (Turn(turn_id=0, query="q"),)
    return Instance(uuid=uuid, capability=capability, domain=domain, turns=turns, universe_id=universe)
