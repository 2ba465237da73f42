"""Keys that come before the screens are imported wait in their turn, without holding the event loop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import screen_toy as toy
from screen_reading import debugger, until, until_settled
from textual import events

from sessions.store import Store
from vakra_tui import preparing
from vakra_tui.app import VakraApp
from vakra_tui.screens.help import HelpScreen

PATIENCE = 12_000
"""Looks, each after some milliseconds."""

IN_A_NEW_PROCESS = """
import asyncio, sys, threading
sys.path.append(sys.argv[1])
import screen_toy as toy
from textual import events
from vakra_tui.app import VakraApp

keys = sys.argv[2].split()
imported = []
loop_thread = threading.get_ident()

def audit(event, arguments):
    if event == "import" and threading.get_ident() == loop_thread and arguments[0].startswith("vakra_tui.screens."):
        imported.append(arguments[0])

async def main():
    app = VakraApp(toy.wiring())
    assert "vakra_tui.screens.debugger" not in sys.modules
    async with app.run_test() as pilot:
        sys.addaudithook(audit)
        for key in keys:
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        while not app.prepared or not app.opened:
            await asyncio.sleep(0.01)
        await pilot.pause()
        print(imported, [type(screen).__name__ for screen in app.screen_stack])

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("keys", "screens"),
    [("question_mark", "'HelpScreen'"), ("S", "'InstancesScreen'")],
)
async def test_the_loop_imports_no_screen(keys: str, screens: str) -> None:
    """In a process that has imported none; the keys are there before the list is."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", IN_A_NEW_PROCESS, str(Path(__file__).parent), keys, stdout=subprocess.PIPE
    )
    output, _ = await process.communicate()
    told = output.decode()
    assert told.startswith("[] ["), told
    assert screens in told


class Held:
    """Imports that take until ``go`` is set; whether each has begun."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self.go = threading.Event()
        self.begun = threading.Event()
        monkeypatch.setattr(preparing, name, self._wait)

    def _wait(self) -> None:
        self.begun.set()
        assert self.go.wait(60)


@pytest.fixture
def app() -> VakraApp:
    return VakraApp(toy.wiring(store=Store.open("sqlite://")))  # type: ignore[arg-type]


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Held]:
    holding = Held(monkeypatch, request.param)
    yield holding
    holding.go.set()


def press(app: VakraApp, *keys: str) -> None:
    """As a terminal does it: nobody waits for what the key does."""
    for key in keys:
        app.post_message(events.Key(key, key if len(key) == 1 else None))


async def meanwhile(holds: Callable[[], bool]) -> None:
    """Until something holds, while the application itself waits: a pilot would wait with it."""
    for _ in range(PATIENCE):
        if holds():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("waited in vain")


@pytest.mark.parametrize("held", ["import_debugger"], indirect=True)
async def test_a_row_is_opened_when_the_debugger_is_there(app: VakraApp, held: Held) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        press(app, "enter", "question_mark")
        await meanwhile(lambda: held.begun.is_set() and app.opened)
        assert app.screen is app.instances
        held.go.set()
        await until_settled(pilot)
        await until(pilot, lambda: isinstance(app.screen, HelpScreen), "the help that was asked for behind it")


@pytest.mark.parametrize("held", ["import_screens"], indirect=True)
async def test_what_needs_no_screen_does_not_wait(app: VakraApp, held: Held) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await meanwhile(held.begun.is_set)
        press(app, "enter")
        await until_settled(pilot)
        press(app, "question_mark", "escape")
        for _ in range(20):
            await asyncio.sleep(0)
        assert app.screen is debugger(app)
        assert not app.prepared
        held.go.set()
        await until(pilot, lambda: app.prepared, "all modules")
        await until(pilot, lambda: app.screen is debugger(app), "the help, closed again")


@pytest.mark.parametrize("held", ["import_debugger"], indirect=True)
async def test_leaving_does_not_wait(app: VakraApp, held: Held) -> None:
    async with app.run_test(size=(100, 30)):
        await meanwhile(held.begun.is_set)
        press(app, "q")
        await meanwhile(lambda: app.return_code is not None)
        held.go.set()
    assert app.return_code == 0


@pytest.mark.parametrize("held", ["import_debugger"], indirect=True)
async def test_the_mouse_waits_as_keys_do(app: VakraApp, held: Held) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await meanwhile(held.begun.is_set)
        mouse = {"x": 5, "y": 8, "delta_x": 0, "delta_y": 0, "button": 1, "shift": False, "meta": False, "ctrl": False}
        app.post_message(events.MouseDown(None, **mouse))  # type: ignore[arg-type]
        app.post_message(events.MouseUp(None, **mouse))  # type: ignore[arg-type]
        for _ in range(20):
            await asyncio.sleep(0)
        assert app.screen is app.instances
        held.go.set()
        await until(pilot, lambda: app.prepared, "all modules")
