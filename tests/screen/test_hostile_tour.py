"""Every command of every screen in a hostile world, with hostile text typed wherever one can type."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from contextlib import closing
from pathlib import Path

import pytest
import screen_toy as toy
from screen_reading import shown, until, until_settled
from screen_tour import Idle, Tour
from test_hostile_screen import BRACKETS, CONTROLS, HOSTILE, check, world_of

from sessions.store import Store
from vakra_tui.app import VakraApp

NEEDLE = "[/][null]"
"""Begins every text, so that it is seen even where a cell has room for little."""

TEXT = f"{NEEDLE} {' '.join(HOSTILE)}"

SHOWS_DATA = {
    "AskAgainScreen",
    "CallScreen",
    "CompareScreen",
    "DebuggerScreen",
    "InstancesScreen",
    "ScoresScreen",
    "SessionsScreen",
    "TablesScreen",
    "ToolsScreen",
}


def hostile_world(folder: Path) -> toy.ToyWiring:
    """``world_of`` with a second run that calls and answers otherwise, and a database of hostile names."""
    tables = folder / "tables.sqlite"
    named = TEXT.replace("\0", "").replace("\udc80", "").replace('"', '""')
    with closing(sqlite3.connect(tables)) as connection:
        connection.execute(f'CREATE TABLE "{named}" ("{named}" TEXT)')
        connection.execute(f'INSERT INTO "{named}" VALUES (?)', (named,))
        connection.commit()
    wiring = world_of(TEXT, Store.open(f"sqlite:///{folder / 's.sqlite'}"))
    first = wiring.runs[0]
    other = first.load(first.refs()[0])
    runs = (first, toy.ToyRun(f"{TEXT} other", [toy.prediction(calls=other.calls[1:], answer=f"{TEXT} {TEXT}")]))
    wiring.runs = runs
    wiring.run_names = tuple(run.name for run in runs)
    wiring.dataset.database = lambda domain: tables
    # A name that a folder can have: as long as one may be, without the two characters that none holds.
    wiring.data_path = Path("".join(BRACKETS[8:] + CONTROLS).translate({0: None, ord("/"): None})[:120])
    return wiring


async def test_nothing_that_data_holds_crashes_or_leaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PAGER", "cat")
    monkeypatch.setenv("EDITOR", "true")
    app = VakraApp(hostile_world(tmp_path))  # type: ignore[arg-type]
    idle = Idle(monkeypatch)
    seen: dict[str, bool] = defaultdict(bool)
    async with app.run_test(size=(120, 36), notifications=True, tooltips=True) as pilot:

        async def each(name: str) -> None:
            check(app)
            seen[type(app.screen).__name__] |= NEEDLE in shown(app)

        tour = Tour(app, pilot, idle, each=each, typed=TEXT)
        await until(pilot, lambda: app.opened, "the list")
        await tour.settle()
        await tour.walk()
        app.open_entry(app.instances.listing.entries[0])
        await until_settled(pilot)
        for _ in range(3):
            await tour.walk()
    assert {name for name in SHOWS_DATA if name in seen and not seen[name]} == set()
    assert {"CompareScreen", "DebuggerScreen", "InstancesScreen", "ScoresScreen", "SessionsScreen"} <= set(seen)
