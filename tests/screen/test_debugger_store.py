"""The debugger and its store, which may be held, damaged or slow: what was shown comes back, what runs is ended."""

from __future__ import annotations

from pathlib import Path

import pytest
import screen_toy as toy
from screen_opening import WIDE, opened
from screen_reading import squeezed, until, until_settled, until_shown

from sessions.store import Store
from vakra_tui.app import VakraApp


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")


async def test_a_store_held_by_another_process_is_told(store: Store) -> None:
    wiring = toy.wiring(instance="u-1", store=store)
    async with opened(wiring) as (_, pilot):
        assert wiring.on_store_wait is not None
        wiring.on_store_wait(3.2)
        wiring.on_store_wait(3.4)
        await until_shown(pilot, "Waiting for the session store")


def contents(folder: Path) -> list[bytes]:
    """What the files of a folder hold."""
    return [path.read_bytes() for path in folder.iterdir() if path.is_file()]


async def test_a_damaged_store_is_set_aside_with_consent_only(tmp_path: Path) -> None:
    path = tmp_path / "sessions.sqlite"
    path.write_bytes(b"this is no database" * 300)

    class Wiring(toy.ToyWiring):
        @property
        def store(self) -> Store:
            return Store.open(f"sqlite:///{path}")

        @store.setter
        def store(self, given: Store | None) -> None:
            return None

    wiring = Wiring([toy.instance()], [toy.ToyRun("r", [toy.prediction()])], toy.ToyEnvironment(toy.ANSWERS))
    app = VakraApp(wiring)  # type: ignore[arg-type]
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await until_shown(pilot, "set it aside")
        assert path.read_bytes().startswith(b"this is no database")
        await pilot.press("down", "enter")
        await until_shown(pilot, "The old file is now")
        assert not path.exists()
        await pilot.press("enter")
        await until_settled(pilot)
        assert "steps are not kept" not in squeezed(app)
        assert path.exists()
    assert b"this is no database" * 300 in contents(tmp_path)


async def test_keys_pressed_while_it_opens_are_done_in_turn(store: Store) -> None:
    environment = toy.ToyEnvironment(toy.ANSWERS, seconds=0.1)
    app = VakraApp(toy.wiring(instance="u-1", store=store, environment=environment))  # type: ignore[arg-type]
    async with app.run_test(size=WIDE) as pilot:
        await until_shown(pilot, "steps")
        await pilot.press("s", "s", "v", "s")
        await until_shown(pilot, "broke at: tool selection")
        screen = await until_settled(pilot)
        assert screen.scene is not None
        assert screen.scene.finished
        assert screen.scene.executed == 4
        assert not screen.scene.stale


async def test_leaving_while_something_runs_ends_it(store: Store) -> None:
    environment = toy.ToyEnvironment(toy.ANSWERS, seconds=30.0)
    app = VakraApp(toy.wiring(instance="u-1", store=store, environment=environment))  # type: ignore[arg-type]
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: bool(environment.calls), "a call that takes long")
        await pilot.press("escape")
        await until_shown(pilot, "1 instance")
        await pilot.press("q")


async def test_every_step_that_was_shown_comes_back(store: Store) -> None:
    first = toy.wiring(instance="u-1", store=store, runs=[])
    async with opened(first) as (_, pilot):
        await pilot.press("n")
        await until_shown(pilot, "4 tools on offer")
        await pilot.press(*"get_top_brand {}", "enter")
        await until_shown(pilot, "step 1: get_top_brand")
        # The application ends here without a word to the store, as a killed one would.
        path = store.path
    assert path is not None
    again = toy.wiring(instance="u-1", store=Store.open(f"sqlite:///{path}"), runs=[])
    async with opened(again) as (app, _):
        assert "step 1: get_top_brand" in squeezed(app)
        assert "wheel: human" in squeezed(app)
