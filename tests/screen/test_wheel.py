"""Handing the wheel over: from which step on, and that what stays breaks the policy."""

from __future__ import annotations

from typing import Any

import screen_toy as toy
from screen_opening import opened
from screen_reading import debugger, pick, squeezed, until, until_shown
from screen_session import predicted, referred, scene_on

from sessions.store import Store
from vakra_tui.state.wheel import default, offers, warning

DOCUMENTS = "Use document retrievers to answer questions. Do not use any other type of tool."
ASKED: tuple[str, dict[str, Any]] = ("query_beer_factory", {"question": "Who brews Dixie?"})
BRAND: tuple[str, dict[str, Any]] = ("get_top_brand", {})


def broken(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"instances": referred(ASKED, policy=DOCUMENTS), "runs": predicted(*calls)}


async def test_on_a_call_both_places_are_offered_and_a_broken_policy_is_told() -> None:
    scene = await scene_on(**broken(BRAND, ASKED))
    offered = {offer.name: offer for offer in offers(scene, 0, None)}
    assert (offered["in its place"].at, offered["in its place"].words) == (0, "you decide in place of step 1")
    assert offered["human"].at == 1 and "after step 1, which stays and breaks the policy" in offered["human"].words
    assert default(scene, 0) == "in its place"
    assert "Step 1 breaks the policy" in warning(scene, 0) and "in its place" in warning(scene, 0)
    behind = {offer.name: offer for offer in offers(scene, 1, None)}
    assert (behind["in its place"].at, behind["human"].at) == (1, 2)
    assert "go back to step 1" in warning(scene, 1)


async def test_steps_that_keep_to_the_policy_bring_no_warning_and_an_answer_gives_way() -> None:
    scene = await scene_on(**broken(ASKED))
    assert warning(scene, 1) == "" and default(scene, 0) == "recording"
    offered = {offer.name: offer for offer in offers(scene, 1, "small")}
    assert "in its place" not in offered and "final answer" in offered["human"].words
    assert offered["agent"].words == "small decides"


async def test_playing_in_place_of_the_step_that_broke_leaves_it_out() -> None:
    wiring = toy.wiring(instance="u-1", store=Store.open("sqlite://"), **broken(BRAND, ASKED))
    async with opened(wiring, (80, 24)) as (app, pilot):
        screen = debugger(app)
        await until(pilot, lambda: screen.scene is not None and screen.scene.verdict is not None, "the verdict")
        await pilot.press("home", "w")
        await until_shown(pilot, "Step 1 breaks the policy")
        assert "in place of step 1" in squeezed(app) and "which stays and breaks the policy" in squeezed(app)
        await pick(pilot, "in its place")
        await until(pilot, lambda: screen.scene is not None and screen.scene.wheel == "human", "the wheel")
        assert screen.scene is not None and screen.scene.executed == 0 and not screen.scene.policy.violations
