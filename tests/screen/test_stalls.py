"""The event loop never waits: every command is run against slow tools, a slow judge and a slow disk."""

from __future__ import annotations

import asyncio
import functools
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import screen_toy as toy
from screen_probe import watched
from screen_reading import until, until_settled
from screen_tour import LEAVING, Idle, Tour

from eval.case import Case
from eval.model import Gate, Ruling
from eval.offline import OfflineJudge
from sessions.store import Store
from vakra_tui.app import VakraApp
from vakra_tui.state.commands import COMMANDS

SLOW_S = 0.01

PROCESSOR_S = 0.1
"""Processor time that no callback may take: twice what a person notices, as tests share their machine."""

SLOW_MACHINE = 5
"""A callback may also take so many times what a million additions take here: on a slow machine everything does."""

WIDGETS = 24
"""Widgets of a screen at most: each is styled, laid out and mounted whenever the screen is opened."""

UNREACHED = frozenset({"folded.fold", "folded.open", "folded.shut", "proposal.edit", "proposal.reject"})
"""Commands on what an agent said; there is none here."""


class SlowEnvironment(toy.ToyEnvironment):
    """Every call first lets others work, then holds its thread: a server on the network, tools in process."""

    async def pause(self) -> None:
        await asyncio.sleep(SLOW_S)
        time.sleep(SLOW_S)  # noqa: ASYNC251 (tools that do not yield are what is tried here)


class SlowJudge(OfflineJudge):
    """Every question takes its time."""

    async def rule(self, gate: Gate, case: Case) -> Ruling:
        await asyncio.sleep(SLOW_S)
        return await super().rule(gate, case)


def additions_s() -> float:
    """Processor time of a million additions."""
    before, total = time.thread_time(), 0
    for number in range(1_000_000):
        total += number
    return time.thread_time() - before


def slowed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that first waits, as a slow disk does."""

    @functools.wraps(function)
    def slow(*arguments: Any, **named: Any) -> Any:
        time.sleep(SLOW_S)
        return function(*arguments, **named)

    return slow


def on_slow_disk(part: Any) -> Any:
    """A part whose every public method waits before it answers."""
    for name in dir(type(part)):
        if not name.startswith("_") and callable(getattr(part, name)):
            setattr(part, name, slowed(getattr(part, name)))
    return part


def slow_world(folder: Path, answers: Mapping[str, str] = toy.ANSWERS) -> toy.ToyWiring:
    """Three instances, two runs; ``answers`` of the tools."""
    tables = folder / "beer_factory.sqlite"
    with closing(sqlite3.connect(tables)) as connection:
        connection.execute("CREATE TABLE brand (name TEXT, stars INTEGER)")
        connection.execute("INSERT INTO brand VALUES ('Dixie', 5)")
        connection.commit()
    uuids = ("u-1", "u-2", "u-3")
    runs = [
        on_slow_disk(toy.ToyRun(name, [toy.prediction(uuid, answer=answer) for uuid in uuids]))
        for name, answer in (("one", "It is Dixie Brewing."), ("two", "Denver"), *((f"run {n}", "") for n in range(3)))
    ]
    wiring = toy.wiring(
        instances=[toy.instance(uuid) for uuid in uuids],
        runs=runs,
        environment=SlowEnvironment(answers),
        store=on_slow_disk(Store.open(f"sqlite:///{folder / 's.sqlite'}")),
    )
    wiring.dataset.database = lambda domain: tables
    on_slow_disk(wiring.dataset)
    wiring.judge = SlowJudge()
    return wiring


@pytest.fixture
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a pager and an editor that end at once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PAGER", "cat")
    monkeypatch.setenv("EDITOR", "true")
    return tmp_path


async def test_no_command_makes_the_screen_wait(own_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = VakraApp(slow_world(own_place))  # type: ignore[arg-type]
    idle = Idle(monkeypatch)
    widgets: dict[str, int] = {}
    with watched() as probe:
        async with app.run_test(size=(100, 30), notifications=True, tooltips=True) as pilot:

            async def each(name: str) -> None:
                probe.during = name
                for screen in app.screen_stack:
                    widgets[type(screen).__name__] = len(screen.query("*"))

            tour = Tour(app, pilot, idle, each=each)
            await until(pilot, lambda: app.opened and app.prepared, "the list, and all modules")
            await tour.settle()
            probe.collections.clear()  # at the start there is little to visit, and the limit is another one
            probe.imports.clear()
            await tour.walk()
            app.open_entry(app.instances.listing.entries[0])
            await until_settled(pilot)
            for _ in range(3):
                await tour.walk()
            probe.thread = 0  # what leaving takes is another matter
    missing = {command.id for command in COMMANDS if command.key_list} - tour.done - LEAVING - UNREACHED
    assert probe.blocking == []
    assert missing == set()
    assert probe.collections == []
    assert probe.imports == []
    assert {name: number for name, number in widgets.items() if number > WIDGETS} == {}
    longest = probe.longest(first=False)
    assert longest is not None
    assert longest.processor < max(PROCESSOR_S, SLOW_MACHINE * additions_s()), longest


async def test_every_module_is_imported_beside_the_event_loop() -> None:
    import subprocess
    import sys

    said = """
import sys
import vakra_tui.app
from vakra_tui.preparing import SCREENS, import_all
assert "vakra_tui.screens.scores" not in sys.modules
import_all()
print([path.stem for path in SCREENS.glob("*.py") if f"vakra_tui.screens.{path.stem}" not in sys.modules])
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", said, stdout=subprocess.PIPE)
    output, _ = await process.communicate()
    assert output.decode().strip() == "['__init__']"


async def test_the_probe_sees_what_waits_and_what_works_too_long() -> None:
    async def waits() -> None:
        time.sleep(0)  # noqa: ASYNC251 (what the probe is for)

    async def works() -> None:
        before = time.thread_time()
        while time.thread_time() - before < PROCESSOR_S:
            pass

    async def leaves_it_to_others() -> None:
        await asyncio.to_thread(time.sleep, 0)

    with watched() as probe:
        for work in (waits, works, leaves_it_to_others):
            probe.during = work.__name__
            await asyncio.create_task(work())
    assert [each.partition(" at ")[0] for each in probe.blocking] == ["waits: time.sleep"]
    longest = probe.longest(first=True)
    assert longest is not None
    assert (longest.during, longest.processor >= PROCESSOR_S) == ("works", True)
