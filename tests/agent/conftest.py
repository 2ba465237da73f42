"""Makes the helper modules of this folder importable; one server for all tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from agent_endpoint import Endpoint, Server


@pytest.fixture(scope="session")
def agent_server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


@pytest.fixture
def endpoint(agent_server: Server) -> Endpoint:
    """An endpoint that no other test uses."""
    return agent_server.endpoint()
