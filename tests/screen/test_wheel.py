"""Handing the wheel over: from which step on, and that what stays breaks the policy."""

from __future__ import annotations

from typing import Any

import pytest
import screen_toy as toy
from screen_opening import opened
from screen_reading import debugger, pick, squeezed, until, until_shown
from screen_session import predicted, referred, scene_on, session_on

from sessions.store import Store
from sessions.trajectory import CallTool
from toolenv.model import ToolCall
from vakra_tui.screens.tools import ToolsScreen
from vakra_tui.state.wheel import RECORDING, WHOLE, default, offers, warning

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


async def test_behind_calls_of_ones_own_the_recording_leaves_as_many_out_or_fewer() -> None:
    played = CallTool(call=ToolCall(name=ASKED[0], arguments=ASKED[1]))
    async with session_on(toy.wiring(store=Store.open("sqlite://"), **broken(BRAND, BRAND))) as session:
        for made in range(4):
            await session.play(played, made)
        scene = session.scene
        assert scene is not None
        said = [
            [
                (offer.name, offer.left_out, offer.words)
                for offer in offers(scene, cursor, None)
                if offer.wheel == RECORDING
            ]
            for cursor in range(4)
        ]
    every = (WHOLE, 0, "next get_top_brand; none of its own left out")
    but_one = ("without 1", 1, "next get_top_brand; 1 call of its own left out")
    but_two = ("without 2", 2, "next its answer; 2 calls of its own left out")
    assert said == [
        [(RECORDING, None, "next get_top_brand; 1 call of its own left out"), every],
        [(RECORDING, None, "next its answer; 2 calls of its own left out"), but_one, every],
        [(RECORDING, None, "next its answer; 2 calls of its own left out"), but_two, but_one, every],
        [(RECORDING, None, "next its answer; 2 calls of its own left out"), every],
    ]


@pytest.mark.parametrize(
    ("at", "left_out", "made"),
    [
        (0, None, ["query_beer_factory", "get_top_brand"]),
        (0, 0, ["query_beer_factory", "get_top_brand", "get_top_brand"]),
        (1, 0, ["get_top_brand", "query_beer_factory", "get_top_brand"]),
        (1, None, ["get_top_brand", "query_beer_factory"]),
    ],
)
async def test_a_recording_goes_on_where_it_is_told_to(at: int, left_out: int | None, made: list[str]) -> None:
    played = CallTool(call=ToolCall(name=ASKED[0], arguments=ASKED[1]))
    async with session_on(toy.wiring(store=Store.open("sqlite://"), **broken(BRAND, BRAND))) as session:
        await session.play(played, at)
        await session.take_wheel("recording", at + 1, left_out)
        assert session.scene is not None
        branch = session.scene.on_branch
        name = RECORDING if left_out is None else WHOLE
        assert default(session.scene, at) == name, "who is at the wheel is preselected"
        for _ in range(2):  # looked at again after another branch it goes on as before
            assert [row.tool for row in session.scene.rows] == [*made, "final answer"], "what is to come is shown"
            await session.look_at(0)
            assert [row.tool for row in session.scene.rows if row.call is not None] == [BRAND[0]] * 2
            await session.look_at(branch)
        await session.run_to_end()
        assert [row.tool for row in session.scene.rows if row.call is not None] == made
        assert session.scene.finished and not session.recorded_only


async def test_a_call_put_in_between_leaves_the_whole_recording_to_follow() -> None:
    """The missing call is put in before the first, and the rest is the recording's: it passes."""
    wiring = toy.wiring(
        instance="u-1",
        store=Store.open("sqlite://"),
        instances=referred(ASKED, BRAND),
        runs=predicted(BRAND, answer="Denver"),
    )
    async with opened(wiring, (80, 24)) as (app, pilot):
        screen = debugger(app)
        await until(pilot, lambda: screen.scene is not None and screen.scene.verdict is not None, "the verdict")
        assert screen.scene is not None and screen.scene.verdict is not None
        assert screen.scene.verdict.passed is False
        await pilot.press("0")
        await until(pilot, lambda: screen.scene is not None and screen.scene.executed == 0, "the beginning")
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, ToolsScreen), "the tools")
        await pilot.press(*'query_beer_factory {"question": "Who brews Dixie?"}', "enter")
        await until(pilot, lambda: screen.scene is not None and screen.scene.executed == 1, "the call")
        await pilot.press("w")
        await until_shown(pilot, "next get_top_brand; none of its own left out")
        await pick(pilot, WHOLE)
        await until(pilot, lambda: screen.scene is not None and screen.scene.wheel == "recording", "the wheel")
        await pilot.press("c")
        await until(pilot, lambda: screen.scene is not None and screen.scene.finished, "the end")
        assert [row.tool for row in screen.scene.rows if row.call] == [ASKED[0], BRAND[0]]
        await pilot.press("v")
        await until_shown(pilot, "+ PASSED")


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
