"""Environments over small servers of the tests' own; no log ever goes to a user's folder."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parent))

from small_entries import entry

from toolenv.remote import RemoteEnvironment

Make = Callable[..., RemoteEnvironment]


@pytest.fixture(autouse=True)
def _no_user_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "user"))


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    """Makes an environment from a fault's name, or from the entries of a connection file; all are closed afterwards."""
    made: list[RemoteEnvironment] = []

    def environment(fault: str | None = None, *, tasks: Any = None, limit: int = 4, **more: Any) -> RemoteEnvironment:
        path = tmp_path / f"connections-{len(made)}.yaml"
        if tasks is None:
            assert fault is not None
            tasks = dict.fromkeys((1, 2), entry(fault, **more))
        path.write_text(yaml.safe_dump({"tasks": tasks}))
        made.append(RemoteEnvironment(path, limit=limit, logs=tmp_path / "logs"))
        return made[-1]

    yield environment
    for one in made:
        await one.close()
