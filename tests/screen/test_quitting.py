"""Leaving while something runs that never ends: it is stopped, what was begun before is kept, nothing is waited out."""

from __future__ import annotations

import asyncio
import errno

import pytest
import screen_toy as toy
from screen_opening import opened
from screen_reading import debugger, until

from sessions.store import Store
from vakra_tui.state.live.stopping import Stopped, Turns


async def test_what_runs_soon_ends_before_the_last_verb() -> None:
    turns, done = Turns(), []

    async def verb(name: str) -> None:
        await asyncio.sleep(0)
        done.append(name)

    first = [asyncio.ensure_future(turns.in_turn(verb, name)) for name in "abc"]
    await turns.last(verb, "close", patience_s=60)
    await asyncio.gather(*first)
    assert done == ["a", "b", "c", "close"]


async def test_what_never_ends_is_stopped_and_so_is_what_waits_behind_it() -> None:
    turns, done = Turns(), []

    async def hang() -> None:
        await asyncio.Event().wait()

    async def close() -> str:
        await asyncio.sleep(0.2)  # longer than the last verb waits for others: it is never stopped itself
        done.append("close")
        return "closed"

    hanging = [asyncio.ensure_future(turns.in_turn(hang)) for _ in range(5)]
    assert await turns.last(close, patience_s=0.01) == "closed"
    ended = await asyncio.gather(*hanging, return_exceptions=True)
    assert all(isinstance(each, Stopped) for each in ended)
    assert done == ["close"]


async def test_a_last_verb_that_fails_says_why() -> None:
    async def fails() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await Turns().last(fails, patience_s=60)


async def test_the_program_ends_in_order_while_an_agent_never_answers() -> None:
    wiring = toy.wiring(instances=[toy.instance("u-1")], store=Store.open("sqlite://"))
    async with opened(wiring) as (app, pilot):
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is not app.instances, "the debugger")
        session = debugger(app).session

        async def never() -> None:
            await asyncio.Event().wait()

        asked = asyncio.ensure_future(app.engine.run(session.in_turn(never)))
        await until(pilot, lambda: session.running, "the agent at work")
        await app.leave(0)
        assert app.return_code == 0
        assert app._exit_renderables == []
        with pytest.raises(Stopped):
            await asked


async def test_what_is_said_at_the_end_may_find_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        def print(self, *_: object, **__: object) -> None:
            raise OSError(errno.EIO, "Input/output error")

    wiring = toy.wiring(instances=[toy.instance("u-1")], store=Store.open("sqlite://"))
    async with opened(wiring) as (app, _):
        monkeypatch.setattr(app, "error_console", Gone())
        app.exit(return_code=130, message="not everything could be closed in order")
    assert app.return_code == 130
    assert app._exit_renderables == []
