"""Makes the helper modules of this folder importable; one server for all tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))

from agent_endpoint import Endpoint, Server


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A real model is run only where its folder is named; elsewhere that test is not chosen at all."""
    if os.environ.get("VAKRA_TUI_SMALL_MODEL"):
        return
    left_out = [item for item in items if item.get_closest_marker("small_model")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def agent_server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


@pytest.fixture
def endpoint(agent_server: Server) -> Endpoint:
    """An endpoint that no other test uses."""
    return agent_server.endpoint()
