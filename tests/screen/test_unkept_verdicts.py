"""A store that takes no verdicts: scoring goes on, and the problems tell why nothing is kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cached_property
from pathlib import Path

import pytest
from screen_reading import until, until_shown

from sessions.store import Store
from vakra_tui.app import VakraApp
from vakra_tui.options import Options
from vakra_tui.screens.instances import InstancesScreen
from vakra_tui.wiring import Wiring


class Impatient(Wiring):
    """Waits for a busy store for a moment only."""

    @cached_property
    def store(self) -> Store:
        return Store.open(self.options.db, wait_s=0.02)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "sessions.sqlite"
    Store.open(str(found)).close()
    return found


@pytest.fixture
def held(path: Path) -> Iterator[sqlite3.Connection]:
    """Another program that is writing into the store."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


async def test_the_problems_tell_why_verdicts_are_not_kept(path: Path, held: sqlite3.Connection) -> None:
    app = VakraApp(Impatient(Options(domains=("waters",), capabilities=(1,), limit=2, db=str(path))))
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.opened and bool(app.instances.listing.entries), "the list")
        entries = app.instances.listing.entries
        await until(pilot, lambda: all(entry.verdicts for entry in entries), "verdicts all the same")
        await until(pilot, lambda: not app.evaluating, "the end of the scoring")
        assert isinstance(app.screen, InstancesScreen)
        await until_shown(pilot, "! 1 problem in the data")
        app.call_later(app.action_problems)
        await until_shown(pilot, "Verdicts are not kept:")
        assert len(app.world.problems) == 1
        await pilot.press("escape")
        held.execute("ROLLBACK")
        await pilot.press("q")
