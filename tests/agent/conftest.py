"""Makes the helper modules of this folder importable; one server for all tests."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))

from agent_endpoint import Endpoint, Server
from agent_harness import QUICK, Run
from agent_toy import ToyEnvironment, instance

from sessions.agent import AgentRun, AgentSettings, run_agent
from sessions.agent.agent import ReactAgent
from toolenv.openai_compat import Client, Dialect, EndpointSettings


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


@pytest.fixture(params=["whole", "streamed"])
def stream(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "streamed")


@pytest.fixture
async def run(endpoint: Endpoint, stream: bool) -> AsyncIterator[Run]:
    """Runs the harness on a toy instance; the settings as keyword arguments."""
    agents: list[ReactAgent] = []

    async def go(
        environment: ToyEnvironment | None = None,
        about: Any = None,
        dialect: Dialect | None = None,
        **settings: Any,
    ) -> AgentRun:
        agent = ReactAgent("m", endpoint.base_url, AgentSettings(stream=stream, **settings))
        changed = EndpointSettings(
            model="m", base_url=endpoint.base_url, retries=QUICK, timeout_s=60, dialect=dialect or Dialect()
        )
        agent.client = Client(changed)
        agents.append(agent)
        return await run_agent(about or instance(), agent, environment or ToyEnvironment())

    yield go
    for agent in agents:
        await agent.aclose()
