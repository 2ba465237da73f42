"""Panes: how they share the width, and what zooming, folding, sizing, jumping and the mouse do with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import screen_toy as toy
from hypothesis import given
from hypothesis import strategies as st
from screen_opening import SMALL, opened
from screen_reading import debugger, shown, squeezed, until, until_settled, until_shown
from textual.pilot import Pilot

from sessions.store import Store
from vakra_tui.app import VakraApp
from vakra_tui.screens.instances import InstancesScreen
from vakra_tui.screens.jump import JumpScreen
from vakra_tui.state.layout import LEAST_MIDDLE, PANES, resized, visible, widths
from vakra_tui.state.remembered import WIDTHS
from vakra_tui.widgets.line_view import LineView
from vakra_tui.widgets.pick_list import PickList

MIDDLE_SIZE = (120, 36)
SIZES = [(160, 45), MIDDLE_SIZE, SMALL]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")


def panes(app: VakraApp) -> dict[str, int]:
    """The panes that are seen and their widths."""
    boxes = {"steps": "steps-pane", "step": "step-pane", "ground truth": "truth-pane"}
    found = {pane: debugger(app).query_one(f"#{id_}") for pane, id_ in boxes.items()}
    return {pane: box.size.width + 2 * (box.styles.border_left[0] != "") for pane, box in found.items() if box.display}


@given(
    st.sets(st.sampled_from(PANES), min_size=1),
    st.dictionaries(st.sampled_from(["steps", "ground truth"]), st.integers(*WIDTHS)),
    st.integers(100, 300),
)
def test_widths_fit_and_leave_the_middle_its_room(seen: set[str], chosen: dict[str, int], columns: int) -> None:
    found = widths(seen, chosen, columns)
    given_ = [width for width in found.values() if width is not None]
    assert set(found) == seen and len(given_) == len(seen) - 1
    assert all(width >= WIDTHS[0] for width in given_)
    assert columns - sum(given_) >= (LEAST_MIDDLE if "step" in seen else WIDTHS[0])


@given(
    st.sampled_from(PANES),
    st.sampled_from([-8, -4, 4, 8]),
    st.dictionaries(st.sampled_from(["steps", "ground truth"]), st.integers(*WIDTHS)),
    st.integers(100, 300),
)
def test_sizing_keeps_every_pane_readable(pane: str, by: int, chosen: dict[str, int], columns: int) -> None:
    after = resized(pane, by, PANES, chosen, columns)
    assert after is not None
    found = widths(PANES, after, columns)
    assert columns - sum(width for width in found.values() if width is not None) >= LEAST_MIDDLE


def test_one_pane_has_nothing_to_share() -> None:
    assert resized("step", 4, ("step",), {}, 80) is None


def test_a_pane_grows_by_what_was_asked() -> None:
    assert resized("steps", 4, PANES, {}, 160) == {"steps": 44}
    assert resized("step", 4, PANES, {}, 160) == {"ground truth": 40}
    assert resized("step", -4, PANES, {}, 160) == {"steps": 44}


def test_narrow_and_zoomed_show_one_pane() -> None:
    assert visible((), "step", False, 80) == ("step",)
    assert visible((), "step", True, 160) == ("step",)
    assert visible(("step",), "steps", False, 160) == ("steps", "ground truth")
    assert visible(PANES, "step", False, 160) == ("step",)


async def test_zoom_fold_and_size(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        assert list(panes(app)) == list(PANES)
        await pilot.press("2", "z")
        assert list(panes(app)) == ["step"]
        await pilot.press("tab")
        assert list(panes(app)) == ["ground truth"]
        await pilot.press("z")
        assert list(panes(app)) == list(PANES)
        before = panes(app)
        await pilot.press("greater_than_sign")
        assert panes(app)["ground truth"] == before["ground truth"] + 4
        assert panes(app)["step"] == before["step"] - 4
        await pilot.press("less_than_sign")
        assert panes(app) == before
        await pilot.press("Z")
        assert list(panes(app)) == ["steps", "step"]
        assert "ground truth" in shown(app)
        await pilot.press("Z", "Z")
        await until_shown(pilot, "One pane stays.")
        await pilot.press("3")
        assert "ground truth" in panes(app)
        assert debugger(app).focused_pane == "ground truth"


async def test_the_arrangement_comes_back(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "again.sqlite"
    async with opened(toy.wiring(instance="u-1", store=Store.open(f"sqlite:///{path}"))) as (app, pilot):
        await pilot.press("greater_than_sign", "greater_than_sign", "3", "Z")
        arranged = panes(app)
        await pilot.press("q")
    async with opened(toy.wiring(instance="u-1", store=Store.open(f"sqlite:///{path}"))) as (app, pilot):
        assert panes(app) == arranged
        await pilot.press("colon", *"all panes", "enter")
        await until(pilot, lambda: list(panes(app)) == list(PANES), "all panes")


@pytest.mark.parametrize("size", SIZES)
async def test_tab_goes_round_the_panes(store: Store, size: tuple[int, int]) -> None:
    async with opened(toy.wiring(instance="u-1", store=store), size) as (app, pilot):
        seen = []
        for _ in range(3):
            await pilot.press("tab")
            seen.append(debugger(app).focused_pane)
        assert seen == ["step", "ground truth", "steps"]
        await pilot.press("shift+tab")
        assert debugger(app).focused_pane == "ground truth"


@pytest.mark.parametrize("size", SIZES)
async def test_jump_mode_goes_to_any_pane(store: Store, size: tuple[int, int]) -> None:
    async with opened(toy.wiring(instance="u-1", store=store), size) as (app, pilot):
        for letter, pane in (("d", "ground truth"), ("s", "step"), ("a", "steps")):
            await pilot.press("semicolon")
            await until(pilot, lambda: isinstance(app.screen, JumpScreen), "jump mode")
            await until_shown(pilot, f"[{letter}]")
            await pilot.press(letter)
            await until(pilot, lambda wanted=pane: debugger(app).focused_pane == wanted, pane)  # type: ignore[misc]
        await pilot.press("semicolon", "9")
        await until(pilot, lambda: app.screen is debugger(app), "jump mode to end")
        await pilot.press("semicolon", "escape")
        await until(pilot, lambda: app.screen is debugger(app), "jump mode to end")


async def test_jump_mode_shows_a_tab_of_the_step(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("semicolon")
        await until_shown(pilot, "[h]")
        await pilot.press("h")
        await until(pilot, lambda: "[response]" in squeezed(app), "the tab")


async def test_jump_mode_works_in_the_list(store: Store) -> None:
    async with opened(toy.wiring(store=store)) as (app, pilot):
        await pilot.press("slash", "semicolon", "backspace", "tab")
        await pilot.press("semicolon")
        await until(pilot, lambda: isinstance(app.screen, JumpScreen), "jump mode")
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, InstancesScreen), "the list")


async def focus_by_click(pilot: Pilot[Any], selector: str) -> None:
    await pilot.click(selector, offset=(3, 1))


async def test_the_mouse_focuses_panes_and_scrolls_them(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store), (120, 20)) as (app, pilot):
        await focus_by_click(pilot, "#truth")
        assert debugger(app).focused_pane == "ground truth"
        truth = debugger(app).query_one("#truth", LineView)
        await pilot._post_mouse_events([_scroll()], "#truth", offset=(3, 2))
        await until(pilot, lambda: truth.scroll_offset.y > 0, "the wheel")


def _scroll() -> Any:
    from textual.events import MouseScrollDown

    return MouseScrollDown


async def test_focus_and_scroll_survive_a_reload(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store), (120, 20)) as (app, pilot):
        screen = debugger(app)
        await pilot.press("3", "end")
        truth = screen.query_one("#truth", LineView)
        await until(pilot, lambda: truth.scroll_offset.y > 0, "the end of the ground truth")
        place = truth.scroll_offset.y
        await pilot.press("v")
        await until_settled(pilot)
        assert screen.focused_pane == "ground truth"
        assert truth.scroll_offset.y == place
        app.choose_theme("light")
        await pilot.pause()
        assert truth.scroll_offset.y == place and screen.focused_pane == "ground truth"
        listed = screen.query_one("#steps", PickList)
        cursor = listed.cursor
        await pilot.resize_terminal(80, 24)
        await pilot.resize_terminal(120, 20)
        assert listed.cursor == cursor and screen.focused_pane == "ground truth"


@pytest.mark.parametrize("size", [(40, 12), (20, 6), (250, 80)])
async def test_odd_sizes_do_not_break(store: Store, size: tuple[int, int]) -> None:
    async with opened(toy.wiring(instance="u-1", store=store), size) as (app, pilot):
        await pilot.press("tab", "z", "greater_than_sign", "Z", "3", "semicolon", "a", "question_mark", "escape", "4")
        assert debugger(app).scene is not None
        await pilot.press("escape", "slash", "a", "escape")
        assert isinstance(app.screen, InstancesScreen)
