"""An agent at the wheel of the screen's session: what the debugger shows is worked out from this state."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from agent_endpoint import Endpoint
from agent_oracle import Oracle

from toolenv.errors import DataError
from vakra_tui.options import Options
from vakra_tui.state.memory import Memory
from vakra_tui.state.world import World
from vakra_tui.wiring import Wiring

COMMAND = f"command:{shlex.join([sys.executable, str(Path(__file__).with_name('echo_agent.py'))])}"


def opened(tmp_path: Path, **options: str) -> World:
    wiring = Wiring(Options(db=f"sqlite:///{tmp_path / 'store.sqlite'}", capabilities=(3,), **options))  # type: ignore[arg-type]
    world = World(wiring, Memory(tmp_path / "memory.json"))
    world.open()
    return world


async def test_a_command_at_the_wheel(tmp_path: Path) -> None:
    world = opened(tmp_path, agent=COMMAND)
    session = world.session(world.listing.entries[0])
    await session.open()
    await session.take_wheel("agent", 0)
    await session.run_to_end()
    assert session.scene is not None and session.scene.wheel == "agent"
    assert session._timeline is not None and session._timeline.finished
    assert {step.actor for step in session._timeline.steps} == {"agent"}
    await session.close()
    await world.close()


async def test_a_model_at_the_wheel(endpoint: Endpoint, tmp_path: Path) -> None:
    world = opened(tmp_path, agent="react", model="m", base_url=endpoint.base_url)
    dataset = world.wiring.dataset
    endpoint.default = Oracle(dataset.load(ref) for ref in dataset.refs(capability=3))
    session = world.session(world.listing.entries[0])
    await session.open()
    await session.take_wheel("agent", 0)
    await session.step()
    assert len(endpoint.requests) == 1
    await session.run_to_end()
    await session.evaluate()
    timeline = session._timeline
    assert (
        timeline is not None and timeline.finished and timeline.keeper is not None and timeline.keeper.ref is not None
    )
    kept = world.wiring.store.requests(timeline.keeper.ref.id)
    assert [record.request for record in kept] == endpoint.requests
    await session.close()
    await world.close()


async def test_no_agent_is_named(tmp_path: Path) -> None:
    world = opened(tmp_path)
    session = world.session(world.listing.entries[0])
    await session.open()
    with pytest.raises(DataError, match="--agent"):
        await session.take_wheel("agent", 0)
    await session.close()
    await world.close()
