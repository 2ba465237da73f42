"""What is closed when the program ends, and what is remembered where nothing can be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import screen_toy as toy
from screen_opening import opened
from screen_reading import debugger, until, until_shown

from sessions.store import Store
from toolenv.errors import EnvironmentFailure
from vakra_tui.state.memory import Memory
from vakra_tui.state.world import World


@pytest.mark.asyncio
async def test_all_parts_are_closed_where_one_of_them_fails_to(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    wiring: Any = toy.wiring(store=Store.open("sqlite://"))
    world: Any = World(wiring)
    world.open()

    async def fails() -> None:
        raise EnvironmentFailure("the server does not answer")

    async def close() -> None:
        closed.append("wiring")

    monkeypatch.setattr(world._truths, "close", fails)
    monkeypatch.setattr(wiring, "close", close)
    world.keeping.ready()
    with pytest.raises(EnvironmentFailure):
        await world.close()
    assert closed == ["wiring"] and not world.keeping.opened


@pytest.mark.asyncio
async def test_the_agent_is_let_go_where_the_sessions_cannot_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    world: Any = World(toy.wiring(store=Store.open("sqlite://")))  # type: ignore[arg-type]
    world.open()
    session: Any = world.session(world.listing.entries[0])
    await session.open()

    async def fails() -> None:
        raise EnvironmentFailure("the server does not answer")

    let_go: list[bool] = []

    class Asker:
        async def close(self) -> None:
            let_go.append(True)

    session._asker = Asker()
    monkeypatch.setattr(session._timeline, "close", fails)
    with pytest.raises(EnvironmentFailure):
        await session.close()
    assert let_go == [True]
    await world.close()


@pytest.mark.asyncio
async def test_leaving_a_session_that_cannot_be_closed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(toy.wiring(store=Store.open("sqlite://"), instance="u-1")) as (app, pilot):

        async def fails(at: int | None = None) -> None:
            raise EnvironmentFailure("the server does not answer")

        monkeypatch.setattr(debugger(app).session, "close", fails)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.instances, "the list")
        await until_shown(pilot, "Not everything of the session could be closed")


def test_a_folder_that_cannot_be_looked_into_is_as_good_as_none(tmp_path: Path) -> None:
    memory = Memory(tmp_path / ("x" * 300))
    assert memory.hint_was_seen(), "a hint that cannot be remembered would come again at every start"
    memory.keep_hint_seen()
    assert memory.keep_crash(ValueError("x")) is None
