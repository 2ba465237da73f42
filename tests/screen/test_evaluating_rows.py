"""Rows are evaluated one after the other: a later wish comes first, a failure ends nothing; leaving always leaves."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import screen_toy as toy
from screen_opening import opened
from screen_reading import shown, until, until_shown

from sessions.store import Store
from toolenv.errors import EnvironmentFailure
from vakra_tui.screens.help import HelpScreen
from vakra_tui.state.entry import Entry


class Scoring:
    """Takes the place of ``World.evaluate``: notes the rows, waits where it is told to, fails for some."""

    def __init__(self, failing: frozenset[str] = frozenset()) -> None:
        self.rows: list[str] = []
        self.go_on = asyncio.Event()
        self._failing = failing
        self._loop = asyncio.get_running_loop()

    async def __call__(self, entry: Entry) -> None:
        self.rows.append(entry.uuid)
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self.go_on.wait(), self._loop))
        if entry.uuid in self._failing:
            raise EnvironmentFailure("the server does not answer")


def wiring() -> toy.ToyWiring:
    return toy.wiring(instances=[toy.instance(f"u-{number}") for number in range(1, 5)], store=Store.open("sqlite://"))


async def test_a_row_that_is_asked_for_later_comes_first_and_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(wiring()) as (app, pilot):
        scoring = Scoring()
        monkeypatch.setattr(app.world, "evaluate", scoring)
        one, two, three, four = app.instances.listing.entries
        app.evaluate_entries([one, two, three])
        await until(pilot, lambda: scoring.rows == ["u-1"], "the first row at work")
        app.evaluate_entries([three])
        app.evaluate_entries([four])
        scoring.go_on.set()
        await until(pilot, lambda: not app.evaluating, "the end")
        assert scoring.rows == ["u-1", "u-4", "u-3", "u-2"]


async def test_a_failure_ends_nothing_and_is_told_once_for_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(wiring()) as (app, pilot):
        scoring = Scoring(failing=frozenset({"u-1", "u-3"}))
        scoring.go_on.set()
        monkeypatch.setattr(app.world, "evaluate", scoring)
        app.evaluate_entries(app.instances.listing.entries)
        await until_shown(pilot, "the server does not answer (2 rows)")
        assert scoring.rows == ["u-1", "u-2", "u-3", "u-4"]


async def test_what_is_stopped_ends_and_the_next_begins_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(wiring()) as (app, pilot):
        scoring = Scoring()
        monkeypatch.setattr(app.world, "evaluate", scoring)
        app.evaluate_entries(app.instances.listing.entries)
        await until(pilot, lambda: scoring.rows == ["u-1"], "the first row at work")
        assert app.stop_evaluating()
        assert not app.stop_evaluating()
        app.evaluate_entries(app.instances.listing.entries[1:3])
        scoring.go_on.set()
        await until(pilot, lambda: not app.evaluating, "the end")
        assert scoring.rows == ["u-1", "u-2", "u-3"]


async def test_what_ends_behind_a_dialog_is_shown_once_the_dialog_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(wiring()) as (app, pilot):
        scoring = Scoring()
        monkeypatch.setattr(app.world, "evaluate", scoring)
        app.evaluate_entries(app.instances.listing.entries)
        await until_shown(pilot, "evaluating 1 of 4")
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen), "the help")
        scoring.go_on.set()
        await until(pilot, lambda: not app.evaluating, "the end")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.instances and "evaluating" not in shown(app), "the list as it is")


async def test_the_program_ends_also_where_something_cannot_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(wiring()) as (app, pilot):

        async def fails() -> None:
            raise EnvironmentFailure("the server does not answer")

        closes: Any = app.world.close
        monkeypatch.setattr(app.world, "close", fails)
        await pilot.press("q")
        await until(pilot, lambda: app.return_code is not None, "the end")
        assert app.return_code == 0
        await app.engine.run(closes())
