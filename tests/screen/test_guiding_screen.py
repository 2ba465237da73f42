"""Being led through a failed trajectory by keys: evidence, the verdict explained, divergences, marks and branches."""

from __future__ import annotations

from pathlib import Path

import pytest
import screen_toy as toy
from screen_opening import SMALL, WIDE, opened
from screen_reading import debugger, pane, shown, squeezed, until, until_settled, until_shown
from test_hostile_screen import TOGETHER, check, world_of

from sessions.store import Store
from vakra_tui.state.lines import Lines, text_of
from vakra_tui.state.panes.hop_graph import HopGraph
from vakra_tui.widgets.line_view import LineView


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")


@pytest.mark.parametrize("size", [WIDE, (120, 36), SMALL])
async def test_the_first_screen_says_which_step_broke_why_and_what_was_right(
    store: Store, size: tuple[int, int]
) -> None:
    async with opened(toy.wiring(instance="u-1", store=store), size) as (app, _):
        text = pane(app, debugger(app).query_one("#waterfall"))
        assert "BROKEN" in text
        assert "step 3 get_city: get_city is called where get_locations is due" in text
        assert 'get_locations(name="Dixie Brewing")' in text


async def test_i_leads_to_the_step_and_the_hop(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("b", "b", "t")
        screen = debugger(app)
        assert screen.cursor == 0
        await pilot.press("i")
        await pilot.pause()
        assert screen.row is not None and screen.row.tool == "get_city"
        graph = screen.query_one("#truth", LineView).source
        assert isinstance(graph, HopGraph) and graph.marked == 3
        assert "\u2503" in shown(app)
        assert "[call]" in squeezed(app)


async def test_i_on_a_folded_screen_opens_the_pane_of_the_step(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store), SMALL) as (app, pilot):
        await pilot.press("i")
        await until_shown(pilot, "not in the reference path")
        assert "step 3: get_city" in squeezed(app)


async def test_a_hop_that_was_pointed_at_in_a_folded_pane_comes_into_view_with_it(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store), SMALL) as (app, pilot):
        view = debugger(app).query_one("#truth", LineView)
        await pilot.press("i", "3")
        await until(pilot, lambda: "hop 3 API" in pane(app, view), "the hop")
        assert "get_locations" in pane(app, view)


async def test_the_hop_of_the_step_under_the_cursor_is_marked(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        graph = debugger(app).query_one("#truth", LineView)
        await pilot.press("b")
        assert isinstance(graph.source, HopGraph) and graph.source.marked == 2
        await pilot.press("b")
        assert graph.source.marked == 1
        await pilot.press("s", "s")
        assert graph.source.marked == 3, "the hop that was due where the trajectory broke"
        await pilot.press("s")
        assert graph.source.marked == 0


async def test_the_verdict_explained_shows_what_a_judge_sees(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("b", "b")
        await pilot.press("I")
        await until_shown(pilot, "what a judge sees and says")
        text = squeezed(app)
        assert "hop 3 get_locations not found Denver, Biloxi" in text
        assert "broke at tool selection: a tool of the reference was never called" in text
        assert "Nobody decided this." in text
        source = app.screen.query_one("#verdict", LineView).source
        assert isinstance(source, Lines)
        whole = text_of(source.lines)
        assert "Rules decided this offline; no model was asked" in whole
        assert whole.index("<<<BEGIN needed information") < whole.index(
            "You decide whether an assistant found everything"
        )
        await pilot.press("end")
        assert "Reply with one JSON object" in squeezed(app)
        await pilot.press("i")
        await pilot.pause()
        assert debugger(app).row is not None and debugger(app).row.tool == "get_city"  # type: ignore[union-attr]


async def test_the_verdict_explained_closes_and_says_where_there_is_none(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store, runs=[])) as (app, pilot):
        await pilot.press("I")
        await until_shown(pilot, "There is no verdict yet")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is debugger(app), "the debugger")
        await pilot.press("i")
        await until_shown(pilot, "v evaluates this branch")


async def test_a_click_on_the_waterfall_leads_as_the_key_does(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("b", "b")
        await pilot.click("#waterfall", offset=(20, 1))
        await pilot.pause()
        assert debugger(app).cursor == 2


async def test_divergences_are_gone_to_one_after_the_other(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        screen = debugger(app)
        await pilot.press("b", "b")
        await pilot.press("D")
        await until(pilot, lambda: screen.cursor == 2, "step 3")
        await pilot.press("D")
        await until(pilot, lambda: screen.cursor == 3, "the answer")
        await pilot.press("D")
        await until_shown(pilot, "No further divergence")


async def test_what_was_not_run_yet_runs_up_to_the_divergence(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("0")
        await until_shown(pilot, "Before the first step")
        await until_settled(pilot)
        screen = debugger(app)
        assert screen.scene is not None and screen.scene.executed == 0
        await pilot.press("D")
        await until(pilot, lambda: screen.scene is not None and screen.scene.pause is not None, "a pause")
        assert screen.scene is not None and screen.scene.breakpoints == ()
        assert screen.row is not None and screen.scene.executed < 4


async def test_marks_and_notes_are_shown_kept_and_taken_away(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        steps = debugger(app).query_one("#steps")
        await pilot.press("m")
        await until(pilot, lambda: "\u25c6" in pane(app, steps), "the mark")
        await pilot.press("M", *"why Zanzibar?", "enter")
        await until(pilot, lambda: "\u270e" in pane(app, steps), "the sign of the note")
        await until_shown(pilot, "why Zanzibar?")
    again = toy.wiring(instance="u-1", store=Store.open(f"sqlite:///{store.path}"))
    async with opened(again) as (app, pilot):
        steps = debugger(app).query_one("#steps")
        await pilot.press("end", "b")
        await until(pilot, lambda: "\u25c6" in pane(app, steps) and "\u270e" in pane(app, steps), "mark and note")
        assert "why Zanzibar?" in squeezed(app)
        await pilot.press("m")
        await until(pilot, lambda: "\u25c6" not in pane(app, steps), "no mark")
        await pilot.press("M")
        await until_shown(pilot, "Note on step 3")
        app.screen.query_one("#answer").value = ""  # type: ignore[attr-defined]
        await pilot.press("enter")
        await until(pilot, lambda: "\u270e" not in pane(app, steps), "no note")


async def test_marked_steps_are_gone_to_round_the_end(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        screen = debugger(app)
        steps = screen.query_one("#steps")
        await pilot.press("apostrophe")
        await until(pilot, lambda: any("No step is marked" in note.message for note in app._notifications), "a toast")
        await pilot.press("m")
        await until(pilot, lambda: pane(app, steps).count("\u25c6") == 1, "a mark")
        await pilot.press("b", "b", "m")
        await until(pilot, lambda: pane(app, steps).count("\u25c6") == 2, "two marks")
        await pilot.press("apostrophe")
        assert screen.cursor == 2
        await pilot.press("apostrophe")
        assert screen.cursor == 0


async def test_a_click_on_a_hop_leads_to_the_step_that_stands_for_it(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        screen = debugger(app)
        view = screen.query_one("#truth", LineView)
        graph = view.source
        assert isinstance(graph, HopGraph)
        for hop, cursor in ((1, 0), (2, 1), (3, 2)):
            row = (graph.row_of(hop) or 0) - view.scroll_offset.y
            await pilot.click(view, offset=(8, row))
            await pilot.pause()
            assert (screen.cursor, graph.marked) == (cursor, hop)


async def test_branches_are_drawn_between_the_steps_and_enter_looks_at_one(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        steps = debugger(app).query_one("#steps")
        await pilot.press("b", "b", "a", *"Denver", "enter")
        await until(pilot, lambda: "main" in pane(app, steps), "the branch that was left")
        text = pane(app, steps)
        assert "\u2514 main R" in text and "+3 steps" in text
        assert debugger(app).cursor == 1
        await pilot.press("up")
        await pilot.pause()
        assert debugger(app).cursor == 0
        await pilot.press("enter")
        await until(pilot, lambda: "get_city" in pane(app, steps), "the first branch")
        assert "fork 2a H +1 step" in pane(app, steps)


@pytest.mark.parametrize("text", TOGETHER, ids=range(len(TOGETHER)))
async def test_hostile_text_through_the_verdict_the_dialogs_and_the_notes(text: str, tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path / 's.sqlite'}")
    wiring = world_of(text, store)
    wiring.instance, wiring.selected = wiring.dataset.refs()[0].uuid, True
    async with opened(wiring, (120, 36)) as (app, pilot):
        for key in ("i", "i", "D", "4", "3", "end"):
            await pilot.press(key)
            check(app)
        await pilot.press("I")
        await until_shown(pilot, "the verdict explained")
        for key in ("end", "pageup", "home", "escape"):
            await pilot.press(key)
            check(app)
        for key in ("y", "E"):
            await pilot.press(key)
            await until(pilot, lambda: app.screen is not debugger(app), "a dialog")
            check(app)
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is debugger(app), "the debugger")
        await pilot.press("1", "home", "m", "M")
        await until(pilot, lambda: app.screen is not debugger(app), "the dialog of the note")
        app.screen.query_one("#answer").value = text  # type: ignore[attr-defined]
        await pilot.press("enter")
        steps = debugger(app).query_one("#steps")
        await until(pilot, lambda: "\u270e" in pane(app, steps), "the note")
        check(app)
