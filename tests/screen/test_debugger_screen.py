"""The debugger by its keys: press them, read what a person would read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import screen_toy as toy
from screen_opening import SMALL, WIDE, opened
from screen_reading import debugger, pane, rows, shown, squeezed, until, until_settled, until_shown
from textual.widgets import Input

from sessions.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")


async def test_a_failed_prediction_opens_where_it_broke_with_everything_in_view(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, _):
        text = squeezed(app)
        assert "beer_factory / cap 4 / u-1" in text
        assert "run gpt-oss-120b" in text
        assert "Which brewer of the most reviewed root beer also sells in Denver?" in text
        assert "turn 2 of 2" in text
        assert "POLICY documents only for" in text
        assert "API" in text
        assert "one reference path" in text
        assert "hop 1 API" in text
        assert "recovered @1" in text
        assert "hop 3 API" in text
        assert "MISSING" in text
        assert "needs: 'Denver', 'Biloxi'" in text
        assert "WATERFALL" in text
        assert "hop 3 (get_locations) needs 'Denver', 'Biloxi'" in text
        assert "broke at: tool selection" in text
        assert debugger(app).row is not None
        assert debugger(app).row.tool == "get_city"  # type: ignore[union-attr]
        assert "Error calling API: 422" in text


async def test_stepping_moves_the_cursor_and_changes_no_history(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("b", "b")
        assert "step 1: get_top_brand" in squeezed(app)
        assert '"3" ~> 3 as the schema says' in squeezed(app)
        assert "the reference leaves it out" in squeezed(app)
        await pilot.press("s")
        assert "step 2: query_beer_factory" in squeezed(app)
        assert "Dixie is brewed by Dixie Brewing in Denver." in squeezed(app)
        await pilot.press("c")
        assert "step 4: final answer" in squeezed(app)
        await pilot.press("s")
        await until_shown(pilot, "The end of the trajectory.")
        await pilot.press("g")
        await pilot.press("2", "enter")
        await until_shown(pilot, "step 2: query_beer_factory")
        assert debugger(app).scene.executed == 4  # type: ignore[union-attr]


async def test_the_tabs_of_a_step(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("b", "t")
        assert "[response]" in squeezed(app)
        assert "score 7.1" in squeezed(app)
        await pilot.press("t")
        assert "this step made no table" in squeezed(app)
        await pilot.press("t")
        assert '{"results": [{"id": "d1"' in squeezed(app)
        await pilot.press("t")
        assert "holds no response of this step" in squeezed(app)
        await pilot.press("t", "t")
        assert "[provenance]" in squeezed(app)
        assert 'question = "Who brews Dixie?"' in squeezed(app)
        await pilot.press("t")
        await until_shown(pilot, "nothing goes over a wire")
        await pilot.press("T", "T")
        await until_shown(pilot, "a recorded prediction holds its calls and its answer only")


async def test_the_context_of_a_dialogue_unfolds(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        assert "Which root beer is reviewed most?" not in squeezed(app)
        await pilot.press("h")
        assert "turn 1 Which root beer is reviewed most?" in squeezed(app)
        assert "answer Dixie" in squeezed(app)


async def test_small_terminals_fold_the_panes(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store), SMALL) as (app, pilot):
        assert "[steps] step ground truth" in squeezed(app)
        assert "hop 1 API" not in squeezed(app)
        await pilot.press("3")
        assert "hop 1 API" in squeezed(app)
        await pilot.press("2")
        assert "Error calling API: 422" in squeezed(app)
        assert "WATERFALL" in squeezed(app)
        assert all(len(row) <= 80 for row in rows(app))
        await pilot.resize_terminal(*WIDE)
        await until_shown(pilot, "hop 1 API")


async def test_a_call_by_hand_from_the_past_is_a_branch_and_evaluates(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("b", "n")
        await until_shown(pilot, "4 tools on offer")
        await pilot.press(*"get_loc")
        assert "get_locations" in squeezed(app)
        await pilot.press("enter")
        await until_shown(pilot, "Run as step")
        await pilot.press(*"Dixie Brewing".replace(" ", "_").split("_")[0], "f2")
        await until_shown(pilot, "scratch, no trace")
        assert debugger(app).scene.executed == 4  # type: ignore[union-attr]
        await pilot.press("f3")
        await until_shown(pilot, "branch fork 3a")
        await until_shown(pilot, "hop 3 API ✓ recovered @3")
        assert debugger(app).scene.executed == 3  # type: ignore[union-attr]
        await pilot.press("a", *"Denver", "enter")
        await until_shown(pilot, "step 4: final answer")
        await pilot.press("v")
        await until_shown(pilot, "final response ✓ PASS")
        await pilot.press("B")
        await until_shown(pilot, "Branches of this session")
        await pilot.press("home", "enter")
        await until_shown(pilot, "get_city")
        assert "⑂1" in shown(app)


async def test_a_raw_line_runs_and_completes(store: Store) -> None:
    wiring = toy.wiring(instance="u-1", store=store, runs=[])
    async with opened(wiring) as (app, pilot):
        await pilot.press("n")
        await until_shown(pilot, "4 tools on offer")
        await pilot.press(*"get_loc", "tab")
        assert "get_locations " in squeezed(app)
        await pilot.press("tab")
        assert 'get_locations {"name": }' in squeezed(app)
        await pilot.press(*'"x y"', "enter")
        await until_shown(pilot, "step 1: get_locations")
        assert wiring.environment.calls[-1] == ("get_locations", {"name": "x y"})


async def test_refusals_are_told_while_typing(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store, runs=[])) as (app, pilot):
        await pilot.press("n")
        await until_shown(pilot, "4 tools on offer")
        await pilot.press(*"get_loc", "enter")
        await until_shown(pilot, "the schema accepts this")
        await pilot.press("down", *"ten")
        await until_shown(pilot, "'ten' is not of type 'integer'")
        await pilot.press("down", "down")
        await until_shown(pilot, "one of up, down")
        assert '"order": "up"' in squeezed(app)


async def test_arrows_never_take_the_keyboard_from_what_is_typed(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store, runs=[])) as (_, pilot):
        await pilot.press("n")
        await until_shown(pilot, "4 tools on offer")
        await pilot.press("down", "down", "up", *"get_loc", "down", "enter")
        await until_shown(pilot, "get_locations {}")
        await pilot.press("up", "up", "up", "down", "down", "down", *"zz")
        await until_shown(pilot, "zz")


async def test_the_wheel_goes_to_the_ground_truth_and_hints_come_one_at_a_time(store: Store) -> None:
    wiring = toy.wiring(instance="u-1", store=store, runs=[])
    async with opened(wiring) as (app, pilot):
        assert "get_top_brand()" not in squeezed(app)
        await pilot.press("o")
        await until_shown(pilot, "get_top_brand()")
        assert "get_locations(" not in squeezed(app)
        await pilot.press("O")
        await until_shown(pilot, "get_locations(")
        await pilot.press("w")
        await until_shown(pilot, "Who is at the wheel?")
        await pilot.press("down", "enter")
        await until_shown(pilot, "wheel: ground truth")
        await pilot.press("s")
        await until_shown(pilot, "step 1: get_top_brand")
        await pilot.press("c")
        await until_shown(pilot, "step 4: final answer")
        await pilot.press("v")
        await until_shown(pilot, "final response ✓ PASS")


async def test_declining_and_exporting(store: Store, tmp_path: Path) -> None:
    async with opened(toy.wiring(instance="u-1", store=store, runs=[])) as (app, pilot):
        await pilot.press("x")
        await until_shown(pilot, "I'm unable to answer.")
        await pilot.press("enter")
        await until_shown(pilot, "step 1: final answer")
        for kind in ("prediction", "reference"):
            await pilot.press("E")
            await until_shown(pilot, "Export this branch as")
            await pilot.press(*(["enter"] if kind == "prediction" else ["down", "enter"]))
            if kind == "reference":
                await until_shown(pilot, "Write this branch as ground truth?")
                await pilot.press("down", "enter")
            await until_shown(pilot, "Folder to write it to")
            field = app.screen.query_one("#answer")
            field.value = str(tmp_path / kind)  # type: ignore[attr-defined]
            await pilot.press("enter")
            await until(pilot, lambda kind=kind: any((tmp_path / kind).rglob("*.json")), "the file")  # type: ignore[misc]
    (path,) = (tmp_path / "prediction").rglob("*.json")
    (record,) = json.loads(path.read_text())
    assert record["output"][0]["answer"] == "I'm unable to answer."
    assert path.parent.name == "capability_4_multiturn"
    (path,) = (tmp_path / "reference").rglob("*.json")
    assert json.loads(path.read_text())[0]["output"][-1]["answer"] == "I'm unable to answer."


async def test_a_flag_is_kept_with_its_note(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (_, pilot):
        await pilot.press("f", *"wrong city", "enter")
        await until_shown(pilot, "ground truth flagged")
        assert [flag.text for flag in store.flags()] == ["wrong city"]
    again = toy.wiring(instance="u-1", store=Store.open(f"sqlite:///{store.path}"))
    async with opened(again) as (_, pilot):
        await until_shown(pilot, "ground truth flagged")


async def test_help_lists_the_keys_and_closes(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("question_mark")
        await until_shown(pilot, "one step forth")
        await pilot.press("escape")
        assert "one step forth" not in squeezed(app)
        await pilot.press("f1")
        await until_shown(pilot, "one step forth")


async def test_help_begins_with_the_keys_of_the_list_in_the_list(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("escape")
        await until_shown(pilot, "evaluate all")
        await pilot.press("question_mark")
        await until_shown(pilot, "open the debugger")
        shown = squeezed(app)
        assert "one step forth" not in shown or shown.index("open the debugger") < shown.index("one step forth")


async def test_the_palette_offers_what_the_keys_do(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (_, pilot):
        await pilot.press("ctrl+p")
        await pilot.press(*"evaluate")
        await until_shown(pilot, "Evaluate")


@pytest.mark.parametrize("size", [(40, 12), (60, 16), (250, 70)])
async def test_any_size_shows_something_useful(size: tuple[int, int], store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store), size) as (app, pilot):
        assert "beer_factory" in squeezed(app)
        assert "WATERFALL" in squeezed(app)
        await pilot.press("3")
        assert "hop 1" in squeezed(app) or size[1] < 14
        assert all(len(row) <= size[0] for row in rows(app))


async def test_the_mouse_chooses_steps_and_tabs(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.click("#steps", offset=(6, 0))
        assert "step 1: get_top_brand" in squeezed(app)
        await pilot.click("#step-tabs", offset=(9, 0))
        assert "[response]" in squeezed(app)
        await pilot.press("tab")
        assert app.focused is not None
        assert app.focused.id == "step"


async def test_json_folds_by_key(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("g", "1", "enter", "t")
        await until_shown(pilot, 'brand: "Dixie"')
        await pilot.press("home", "enter")
        assert 'brand: "Dixie"' not in pane(app, app.screen.query_one("#step"))
        await pilot.press("enter")
        assert 'brand: "Dixie"' in pane(app, app.screen.query_one("#step"))


async def test_a_small_header_shortens_the_place_and_keeps_run_and_branch(store: Store) -> None:
    uuid = "04f88e0a-70fd-4321-9876-e21e7704fa8d"
    runs = [toy.ToyRun("explorer", [toy.prediction(uuid=uuid)])]
    wiring = toy.wiring(instance=uuid, store=store, instances=[toy.instance(uuid=uuid)], runs=runs)
    async with opened(wiring, SMALL) as (app, pilot):
        await pilot.press("end", "e")
        await until_shown(pilot, "The final answer")
        await pilot.press("end", *"!", "enter")
        await until(pilot, lambda: "branch " in rows(app)[0], "the branch in the header")
        assert "run explorer" in rows(app)[0] and "04f88e0a\u202604fa8d" in rows(app)[0]


async def test_another_run_of_the_same_instance(store: Store) -> None:
    runs = [toy.ToyRun("first", [toy.prediction()]), toy.ToyRun("second", [toy.prediction(answer="Denver it is")])]
    async with opened(toy.wiring(instance="u-1", store=store, runs=runs)) as (app, pilot):
        assert "run first" in squeezed(app)
        await pilot.press("R")
        await until_shown(pilot, "Which run?")
        await pilot.press("down", "enter")
        await until_shown(pilot, "run second")
        await until_settled(pilot)
        await pilot.press("c")
        await until_shown(pilot, "Denver it is")


async def test_editing_an_answer_opens_its_form_and_makes_a_branch(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("end", "e")
        await until_shown(pilot, "the recorded answer; typing replaces it, Enter answers")
        assert app.screen.query_one("#answer", Input).value == "It is Dixie Brewing."
        await pilot.press("end", *"!", "enter")
        await until_settled(pilot)
        await until(pilot, lambda: debugger(app).scene.on_branch == 1, "the branch")  # type: ignore[union-attr]
        row = debugger(app).scene.rows[-1]  # type: ignore[union-attr]
        assert (row.answer, row.actor) == ("It is Dixie Brewing.!", "human")


async def test_evaluating_what_did_not_change_says_so(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (_, pilot):
        await pilot.press("v")
        await until_shown(pilot, "Evaluated: failed, nothing has changed since.")


async def test_a_digit_chooses_a_branch_and_only_where_rows_are_numbers(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store)) as (app, pilot):
        await pilot.press("end", "e")
        await until_shown(pilot, "The final answer")
        await pilot.press("end", *"!", "enter")
        await until(pilot, lambda: debugger(app).scene.on_branch == 1, "the branch")  # type: ignore[union-attr]
        await pilot.press("B")
        await until_shown(pilot, "or its number chooses")
        await pilot.press("7")
        await until_shown(pilot, "or its number chooses")
        await pilot.press("0")
        await until(pilot, lambda: debugger(app).scene.on_branch == 0, "the recording")  # type: ignore[union-attr]


async def test_editing_a_call_makes_a_branch(store: Store) -> None:
    wiring = toy.wiring(instance="u-1", store=store)
    async with opened(wiring) as (app, pilot):
        assert debugger(app).row.tool == "get_city"  # type: ignore[union-attr]
        await pilot.press("e")
        await until_shown(pilot, "Run as step")
        assert "Zanzibar" in squeezed(app)
        await pilot.press("end", "!", "enter")
        await until_shown(pilot, "branch fork 3a")
        await until_shown(pilot, "step 3: get_city")
        assert wiring.environment.calls[-1] == ("get_city", {"name": "Zanzibar!"})


async def test_a_note_takes_one_line_and_is_not_told_twice(store: Store) -> None:
    async with opened(toy.wiring(instance="u-1", store=store), SMALL) as (app, pilot):
        await pilot.press("0", "b", "b")
        await until_shown(pilot, "Before the first step")
        told = [row for row in rows(app) if "Before the first step" in row or "or the end." in row]
        assert len(told) == 1 and told[0].rstrip().endswith("or the end.")


async def test_the_step_that_broke_is_marked_in_the_list(store: Store) -> None:
    from screen_session import predicted

    runs = predicted(("query_beer_factory", {"question": "Who brews Dixie?"}))
    async with opened(toy.wiring(instance="u-1", store=store, runs=runs), WIDE) as (app, pilot):
        await until_shown(pilot, "BROKEN step 1")
        broken = [row for row in rows(app) if "BROKEN" in row and "query_beer" in row]
        assert any("1 R \u2717 query_beer" in row for row in broken)
        await pilot.press("0")
        await until_shown(pilot, "not evaluated yet")
        assert "BROKEN" not in squeezed(app)
