"""The released server's recorded calls, replayed."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "replay_golden.py"


@pytest.fixture(scope="module")
def replaying() -> ModuleType:
    spec = importlib.util.spec_from_file_location("replay_golden", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "databases", "pandas2"),
    [("real", "data/bird", False), ("synthetic", "golden/db", False), ("synthetic_pandas2", "golden/db", True)],
)
def test_every_recorded_call_gets_its_answer(
    shared: Path, replaying: ModuleType, name: str, databases: str, pandas2: bool
) -> None:
    universes = replaying.universes_of(shared / "golden" / "universes.yaml")
    material = replaying.Material(universes, shared / databases)
    counts = asyncio.run(replaying.replay(shared / "golden" / name, material, pandas2, 3))
    assert counts["different"] == 0
    assert counts["equal text"] > 1000
    assert counts["failed alike"] > 500
