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
from vakra_tui.options import Options
from vakra_tui.state.memory import Memory
from vakra_tui.state.session_list import when_words
from vakra_tui.state.world import World
from vakra_tui.wiring import Wiring


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
async def test_a_wiring_ends_what_asks_before_what_keeps_and_all_of_it() -> None:
    ended: list[str] = []

    class Part:
        def __init__(self, name: str, *, fails: bool = False) -> None:
            self.name, self.fails = name, fails

        def close(self) -> None:
            ended.append(self.name)
            if self.fails:
                raise EnvironmentFailure(f"{self.name} does not answer")

    wiring = Wiring(Options())
    wiring.__dict__.update(agent=Part("agent", fails=True), environments=Part("environments"), store=Part("store"))
    wiring._former.append(Part("former"))  # type: ignore[arg-type]
    with pytest.raises(EnvironmentFailure, match="agent"):
        await wiring.close()
    assert ended == ["agent", "environments", "store", "former"]
    await wiring.close()
    assert len(ended) == 4


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


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 1e20, -1e20])
def test_a_time_that_is_none_is_told_as_such(seconds: float) -> None:
    assert when_words(seconds) == when_words(seconds, brief=True) == "at no time"
