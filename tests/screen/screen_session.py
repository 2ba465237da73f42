"""A debugger's session on a toy wiring without a screen: what its scenes say, checked as plain values."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import screen_toy as toy

from sessions.store import Store
from vakra_tui.state.scene import Scene
from vakra_tui.state.session import DebugSession
from vakra_tui.state.world import World


@asynccontextmanager
async def session_on(wiring: toy.ToyWiring) -> AsyncIterator[DebugSession]:
    """The session of the first instance, opened to its end."""
    world = World(wiring)  # type: ignore[arg-type]
    world.open()
    session = world.session(world.listing.entries[0])
    await session.open()
    yield session
    await session.close()


async def scene_on(**changes: Any) -> Scene:
    """The scene of the toy instance after it was opened and evaluated; ``changes`` are the wiring's."""
    changes.setdefault("store", Store.open("sqlite://"))
    async with session_on(toy.wiring(**changes)) as session:
        assert session.scene is not None
        return session.scene


def predicted(*calls: tuple[str, dict[str, Any]], answer: str = "Denver and Biloxi") -> Any:
    """A run with these calls as its prediction."""
    from toolenv.model import ToolCall

    made = tuple(ToolCall(name=name, arguments=arguments) for name, arguments in calls)
    return [toy.ToyRun("r", [toy.prediction(calls=made, answer=answer)])]


def referred(*calls: tuple[str, dict[str, Any]], answer: Any = ("Denver",), policy: str = "") -> Any:
    """An instance with these calls as its reference."""
    from toolenv.model import ToolCall

    made = tuple(ToolCall(name=name, arguments=arguments) for name, arguments in calls)
    return [toy.instance(calls=made, answer=list(answer) if isinstance(answer, tuple) else answer, policy=policy)]
