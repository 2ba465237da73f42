"""The debugger on what lacks something: a ground truth, a prediction, a call, an earlier turn."""

from __future__ import annotations

from pathlib import Path

import pytest
import screen_toy as toy
from screen_opening import SMALL, opened
from screen_reading import rows, squeezed, until_settled, until_shown

from sessions.store import Store
from toolenv.model import GroundTruth, GroundTruthTurn, ToolCall, Turn


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")


async def test_an_instance_without_ground_truth_says_so_everywhere(store: Store) -> None:
    wiring = toy.wiring(instance="u-1", store=store, instances=[toy.instance(ground_truth=None)])
    async with opened(wiring) as (app, pilot):
        text = squeezed(app)
        assert "no ground truth: not scored" in text
        assert "No ground truth in this dataset." in text
        assert "get_city" in text
        await pilot.press("o")
        await until_shown(pilot, "nothing to hint at")
        await pilot.press("enter")


async def test_a_reference_that_fails_is_a_visible_state(store: Store) -> None:
    calls = (ToolCall(name="get_city", arguments={"name": "Denver"}),)
    wiring = toy.wiring(instance="u-1", store=store, instances=[toy.instance(calls=calls)])
    async with opened(wiring) as (app, _):
        text = squeezed(app)
        assert "THE REFERENCE ITSELF FAILS" in text
        assert "get_city: Error calling API: 422" in text
        assert "unscored: ground truth failed" in text


async def test_a_reference_without_calls_is_vacuous(store: Store) -> None:
    wiring = toy.wiring(instance="u-1", store=store, instances=[toy.instance(calls=())])
    async with opened(wiring) as (app, _):
        assert "The reference path has no calls." in squeezed(app)


async def test_an_instance_without_prediction_shows_its_ground_truth(store: Store) -> None:
    wiring = toy.wiring(instance="u-1", store=store, runs=[toy.ToyRun("empty", [])])
    async with opened(wiring) as (app, _):
        text = squeezed(app)
        assert "no prediction: ground truth only" in text
        assert "hop 1 API" in text
        assert "get_locations(" in text


async def test_a_prediction_for_no_instance_opens_with_its_own_query(store: Store) -> None:
    extra = toy.prediction(uuid="x-9", query="A query of its own?")
    wiring = toy.wiring(store=store, runs=[toy.ToyRun("r", [toy.prediction(), extra])])
    async with opened(wiring) as (app, pilot):
        await until_shown(pilot, "A query of its own?")
        assert "1 extra" in squeezed(app)
        await pilot.press("end", "enter")
        await until_settled(pilot)
        text = squeezed(app)
        assert "no such instance in the dataset: not scored" in text
        assert "A query of its own?" in text
        assert "get_top_brand" in text


async def test_a_response_that_differs_from_the_file_is_shown_beside(store: Store) -> None:
    told = toy.prediction(responses=('{"brand": "Other"}', toy.ANSWERS["query_beer_factory"], "Error calling API: 422"))
    wiring = toy.wiring(instance="u-1", store=store, runs=[toy.ToyRun("r", [told])])
    async with opened(wiring) as (app, pilot):
        await pilot.press("b", "b")
        assert "the file holds another response" in squeezed(app)
        await pilot.press("t")
        await until_shown(pilot, 'brand: "Dixie"')
        assert "the difference tab shows both" in squeezed(app)
        await pilot.press("t", "t", "t")
        await until_shown(pilot, '- "brand": "Other"')
        assert '+ "brand": "Dixie"' in squeezed(app)
        assert "1 line gone, 1 line new" in squeezed(app)
        await pilot.press("s")
        assert "the file holds another response" not in squeezed(app)


async def test_turns_of_other_kinds_do_not_break_the_header(store: Store) -> None:
    odd = toy.instance(
        turns=(Turn(turn_id=3, query=""),),
        policy="",
        ground_truth=GroundTruth(turns=(GroundTruthTurn(turn_id=3, query="", answer=None, calls=()),)),
    )
    async with opened(toy.wiring(instance="u-1", store=store, instances=[odd])) as (app, _):
        assert "no query" in squeezed(app)
        assert "POLICY" not in squeezed(app)


async def test_a_first_run_without_a_prediction_is_told_with_the_one_that_is_shown(store: Store) -> None:
    runs = [toy.ToyRun("flawed", []), toy.ToyRun("explorer", [toy.prediction()])]
    async with opened(toy.wiring(instance="u-1", store=store, runs=runs), SMALL) as (app, pilot):
        await until_shown(pilot, "flawed has no prediction of this instance: explorer is shown.")
        assert "run explorer" in rows(app)[0]


async def test_a_question_without_earlier_turns_says_so(store: Store) -> None:
    alone = toy.instance(turns=(Turn(turn_id=0, query="Which brewer?"),))
    async with opened(toy.wiring(instance="u-1", store=store, instances=[alone])) as (_, pilot):
        await pilot.press("h")
        await until_shown(pilot, "There are no earlier turns")
