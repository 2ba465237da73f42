"""What is remembered between two starts, stopping what runs, and errors of this program."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import screen_toy as toy
from screen_opening import opened
from screen_reading import debugger, rows, shown, squeezed, until, until_settled, until_shown

from sessions.store import Store
from toolenv.errors import DataError
from vakra_tui.app import VakraApp
from vakra_tui.screens.debugger import DebuggerScreen
from vakra_tui.screens.instances import InstancesScreen
from vakra_tui.state.lines import Line, plain
from vakra_tui.state.live.stopping import Stopped, Turns
from vakra_tui.state.memory import LOG_AT_MOST, Memory
from vakra_tui.state.panes.head import hint, list_hint
from vakra_tui.state.remembered import MOST_PLACES, NAME, Layout, Place, Remembered, recall, remember
from vakra_tui.widgets.key_line import KeyLine


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")


def test_what_was_remembered_comes_back(tmp_path: Path) -> None:
    place = Place(find="~cap 4", uuid="u-1", capability=4, domain="beer", run="a", debugging=True)
    given = Remembered(theme="light", layout=Layout({"steps": 30}, ("step",))).with_place("/data", place)
    remember(tmp_path / "new", given)
    assert recall(tmp_path / "new") == given
    assert [path.name for path in (tmp_path / "new").iterdir()] == [NAME]


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b"\xff\x00", b'{"layout": 3}', b'{"places": {"a": 1}}', b"[" * 9000]
)
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / NAME).write_bytes(damage)
    assert recall(tmp_path) == Remembered()


def test_a_folder_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"screen\.json cannot be written: "):
        remember(tmp_path / "file", Remembered())
    assert recall(tmp_path / "file") == Remembered()


async def test_that_nothing_is_remembered_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    async with opened(toy.wiring(instances=[toy.instance("u-1")], store=Store.open("sqlite://"))) as (app, pilot):
        monkeypatch.setattr(app.memory, "folder", tmp_path / "file")
        told: list[str] = []
        monkeypatch.setattr(app, "toast", lambda text, warn=False: told.append(text))
        app.keep(theme="light")
        await until(pilot, lambda: bool(told), "a note")
        app.keep(theme="dark")
        await app.engine.call(lambda: None)
        await pilot.pause()
    assert len(told) == 1
    assert told[0].startswith("Layout, theme and place will not be remembered: ")


def test_the_log_of_errors_does_not_grow_for_ever(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.crash_log.write_bytes(b"x" * (LOG_AT_MOST + 1))
    assert memory.keep_crash(ValueError("one")) == memory.crash_log
    assert memory.keep_crash(ValueError("two")) == memory.crash_log
    text = memory.crash_log.read_text(encoding="utf-8")
    assert "one" in text and "two" in text and "xx" not in text


def test_widths_out_of_reason_are_forgotten(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(json.dumps({"layout": {"widths": {"steps": 4000, "truth": 40}}}))
    assert recall(tmp_path).layout == Layout({"truth": 40})


def test_the_oldest_places_are_forgotten() -> None:
    remembered = Remembered()
    for number in range(MOST_PLACES + 5):
        remembered = remembered.with_place(str(number), Place())
    assert len(remembered.places) == MOST_PLACES
    assert "4" not in remembered.places and "5" in remembered.places


def two(store: Store, **options: Any) -> toy.ToyWiring:
    return toy.wiring(store=store, instances=[toy.instance(), toy.instance(uuid="u-2")], **options)


async def test_the_instance_that_was_left_opens_again(store: Store, tmp_path: Path) -> None:
    path = str(tmp_path / "again.sqlite")
    async with opened(two(Store.open(f"sqlite:///{path}"), instance="u-2")) as (_, pilot):
        await pilot.press("q")
    app = VakraApp(two(Store.open(f"sqlite:///{path}")))  # type: ignore[arg-type]
    async with app.run_test(size=(120, 36)) as pilot:
        await until_settled(pilot)
        assert debugger(app).session.instance.uuid == "u-2"


async def test_the_command_line_says_otherwise(store: Store, tmp_path: Path) -> None:
    path = str(tmp_path / "again.sqlite")
    async with opened(two(Store.open(f"sqlite:///{path}"), instance="u-2")) as (_, pilot):
        await pilot.press("q")
    async with opened(two(Store.open(f"sqlite:///{path}"), instance="u-1")) as (app, _):
        assert debugger(app).session.instance.uuid == "u-1"


async def test_the_search_of_the_list_comes_back(store: Store, tmp_path: Path) -> None:
    path = str(tmp_path / "again.sqlite")
    async with opened(two(Store.open(f"sqlite:///{path}"))) as (_, pilot):
        await pilot.press("slash", *"u-2", "enter")
        await until_shown(pilot, "1 of 2")
        await pilot.press("q")
    async with opened(two(Store.open(f"sqlite:///{path}"))) as (app, pilot):
        await until_shown(pilot, "1 of 2")
        assert isinstance(app.screen, InstancesScreen)
        assert app.instances.field.value == "u-2"


async def test_the_theme_comes_back(store: Store, tmp_path: Path) -> None:
    path = str(tmp_path / "again.sqlite")
    async with opened(two(Store.open(f"sqlite:///{path}"))) as (app, pilot):
        await pilot.press("colon", *"theme", "enter")
        await until_shown(pilot, "Which theme?")
        await pilot.press("end", "enter")
        await until(pilot, lambda: app.theme == "high-contrast", "the theme")
        await pilot.press("q")
    async with opened(two(Store.open(f"sqlite:///{path}"))) as (app, _):
        assert app.theme == "high-contrast"


async def test_stop_ends_the_innermost_part_that_can_be_stopped() -> None:
    turns = Turns()
    begun = asyncio.Event()
    told: list[str] = []

    async def wait() -> None:
        begun.set()
        await asyncio.Event().wait()

    async def verb() -> str:
        try:
            await turns.stoppable(wait())
        except Stopped:
            told.append("the part")
        return "the rest"

    assert not await turns.stop()
    running = asyncio.ensure_future(turns.in_turn(verb))
    await begun.wait()
    assert await turns.stop()
    assert await running == "the rest" and told == ["the part"]
    begun.clear()
    whole = asyncio.ensure_future(turns.in_turn(wait))
    await begun.wait()
    assert await turns.stop()
    with pytest.raises(Stopped):
        await whole
    assert not await turns.stop()


async def test_leaving_is_not_stopping() -> None:
    turns = Turns()
    begun = asyncio.Event()

    async def wait() -> None:
        begun.set()
        await asyncio.Event().wait()

    running = asyncio.ensure_future(turns.in_turn(wait))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


class Waiting(toy.ToyEnvironment):
    """Answers no call as long as it is closed."""

    closed = False

    async def pause(self) -> None:
        if self.closed:
            await asyncio.Event().wait()


async def test_a_run_is_stopped_and_goes_on(store: Store) -> None:
    environment = Waiting(toy.ANSWERS)
    async with opened(toy.wiring(instance="u-1", environment=environment, store=store)) as (app, pilot):
        await pilot.press("0")
        await until_shown(pilot, "Before the first step")
        environment.closed = True
        await pilot.press("c")
        await until_shown(pilot, "X stops")
        await pilot.press("X")
        await until_shown(pilot, "Stopped.")
        await until_settled(pilot)
        environment.closed = False
        await pilot.press("c")
        await until(pilot, lambda: (scene := debugger(app).scene) is not None and scene.finished, "the end")


async def test_a_stopped_evaluation_is_said_to_run_no_longer(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        monkeypatch.setattr(debugger(app).session, "_verdict", never)
        await pilot.press("v")
        await until_shown(pilot, "evaluating (X stops)")
        await pilot.press("X")
        await until_shown(pilot, "Stopped.")
        await until(pilot, lambda: "evaluating" not in squeezed(app), "that nothing is being evaluated")


async def test_why_steps_are_not_kept_can_be_read_whole(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        monkeypatch.setattr(debugger(app).session, "_store_problem", "The disk is full. " * 8 + "The end.")
        await pilot.press("v")
        await until_shown(pilot, "steps are not kept")
        await until_settled(pilot)
        app.call_later(app.action_problems)
        await until_shown(pilot, "Steps are not kept: The disk is full.")
        await until_shown(pilot, "The end.")


async def test_nothing_to_stop_is_told(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (_, pilot):
        await pilot.press("X")
        await until_shown(pilot, "Nothing is running.")


async def test_the_evaluation_of_rows_tells_how_far_it_is_and_stops(store: Store) -> None:
    environment = Waiting(toy.ANSWERS)
    environment.closed = True
    async with opened(two(store, environment=environment)) as (app, pilot):
        await pilot.press("V")
        await until_shown(pilot, "evaluating 1 of 2, X stops")
        await pilot.press("X")
        await until_shown(pilot, "The evaluation is stopped")
        await until(pilot, lambda: "evaluating 1 of 2" not in shown(app), "the end of the evaluation")
        environment.closed = False


async def test_an_error_in_an_action_is_a_dialog_with_the_logs_place(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: DebuggerScreen) -> None:
        raise KeyError("a\x1b[2Jb")

    monkeypatch.setattr(DebuggerScreen, "action_waterfall", broken)
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        app.tells_own_errors = True
        await pilot.press("4")
        await until_shown(pilot, "An error of vakra-tui")
        text = squeezed(app)
        assert "KeyError" in text and "crash.log" in text and "\x1b" not in text
        await pilot.press("escape")
        await pilot.press("3")
        assert debugger(app).focused_pane == "ground truth"
    log = (Memory.of_user().folder / "crash.log").read_text(encoding="utf-8")
    assert "in broken" in log


async def test_an_error_in_background_work_is_a_dialog(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(self: DebuggerScreen, *_: object) -> bool:
        raise ZeroDivisionError

    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        app.tells_own_errors = True
        monkeypatch.setattr(DebuggerScreen, "_do", broken)
        await pilot.press("v")
        await until_shown(pilot, "ZeroDivisionError")
        await pilot.press("escape")
        await until_shown(pilot, "root beer")


async def test_an_error_in_a_part_of_the_screen_ends_in_order(store: Store) -> None:
    wiring = toy.wiring(instance="u-1", store=store)
    app = VakraApp(wiring)  # type: ignore[arg-type]
    async with app.run_test(size=(100, 30)) as pilot:
        await until_settled(pilot)
        app.tells_own_errors = True
        app._handle_exception(RuntimeError("lost"))
        await pilot.pause()
    assert app.return_code == 2


async def test_a_stopped_reference_is_executed_when_it_is_needed(store: Store) -> None:
    environment = Waiting(toy.ANSWERS)
    environment.closed = True
    app = VakraApp(toy.wiring(instance="u-1", environment=environment, store=store))  # type: ignore[arg-type]
    async with app.run_test(size=(160, 45), notifications=True) as pilot:
        await until_shown(pilot, "executing the reference path (X stops)")
        environment.closed = False
        await pilot.press("X")
        await until_settled(pilot)
        await until_shown(pilot, "was stopped")
        await pilot.press("v")
        await until_shown(pilot, "tool sequence")
        await until_settled(pilot)
        scene = debugger(app).scene
        assert scene is not None and scene.verdict is not None and scene.verdict.status == "scored"


@pytest.mark.parametrize("made", [hint, list_hint])
def test_the_hint_is_three_lines_of_eighty_columns_with_the_keys_that_hold(made: Callable[..., list[Line]]) -> None:
    lines = [plain(each) for each in made(lambda id_: {"debugger.step": "S", "row.open": "S"}.get(id_, "x"))]
    assert len(lines) == 3
    assert max(len(each) for each in lines) <= 80
    assert " S " in lines[1] and "x all keys" in lines[1]


@pytest.mark.usefixtures("first_start")
async def test_the_first_start_on_ones_own_data_gives_a_hint_once(store: Store, tmp_path: Path) -> None:
    path = str(tmp_path / "again.sqlite")
    async with opened(two(Store.open(f"sqlite:///{path}"))) as (app, pilot):
        await until_shown(pilot, "Welcome. One row an instance")
        await pilot.press("down")
        assert "Welcome." not in squeezed(app)
        await pilot.press("q")
    async with opened(two(Store.open(f"sqlite:///{path}"))) as (app, _):
        assert "Welcome." not in squeezed(app)


async def test_the_order_of_the_list_comes_back(store: Store, tmp_path: Path) -> None:
    path = str(tmp_path / "again.sqlite")
    async with opened(two(Store.open(f"sqlite:///{path}"))) as (app, pilot):
        app.instances.sort_by("query")
        app.instances.sort_by("query")
        await until_shown(pilot, "sorted by query, reversed")
        await pilot.press("q")
    async with opened(two(Store.open(f"sqlite:///{path}"))) as (_, pilot):
        await until_shown(pilot, "sorted by query, reversed")


async def test_the_list_comes_back_to_the_row_that_was_open(store: Store) -> None:
    async with opened(two(store, instance="u-2")) as (app, pilot):
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, InstancesScreen), "the list")
        assert app.instances.entry is not None and app.instances.entry.uuid == "u-2"


async def test_the_footer_is_clicked(store: Store) -> None:
    async with opened(two(store)) as (app, pilot):
        await until_shown(pilot, " open ")
        await pilot.click(KeyLine, offset=(rows(app)[-1].index(" open ") + 1, 0))
        await until(pilot, lambda: isinstance(app.screen, DebuggerScreen), "the debugger")


async def test_a_repair_search_is_stopped(store: Store) -> None:
    environment = Waiting(toy.ANSWERS)
    instances = [toy.instance(policy="")]
    wiring = toy.wiring(instance="u-1", environment=environment, store=store, instances=instances)
    async with opened(wiring) as (app, pilot):
        environment.closed = True
        await pilot.press("r")
        await until_shown(pilot, "searching a repair")
        await until_shown(pilot, "(X stops)")
        await pilot.press("X")
        await until_shown(pilot, "Stopped.")
        await until_settled(pilot)
        environment.closed = False
        await pilot.press("v")
        await until_settled(pilot)
        assert debugger(app) is app.screen
