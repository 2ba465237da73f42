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


async def test_behind_a_call_of_ones_own_the_recording_leaves_one_out_or_none() -> None:
    played = CallTool(call=ToolCall(name=ASKED[0], arguments=ASKED[1]))
    async with session_on(toy.wiring(store=Store.open("sqlite://"), **broken(BRAND, BRAND))) as session:
        for made in range(3):
            await session.play(played, made)
        scene = session.scene
        assert scene is not None
        said = [
            (offer.name, offer.following, offer.words)
            for cursor in range(3)
            for offer in offers(scene, cursor, None)
            if offer.wheel == "recording"
        ]
    instead, beside = "yours in place of its own, then", "yours beside its own, then"
    assert said == [
        ("recording", None, f"{instead} get_top_brand"),
        ("whole recording", 0, f"{beside} get_top_brand"),
        ("recording", None, f"{instead} its answer"),
        ("whole recording", 0, f"{beside} get_top_brand"),
        ("recording", None, f"{instead} its answer"),
        ("whole recording", 0, f"{beside} get_top_brand"),
    ]


@pytest.mark.parametrize(
    ("at", "following", "made"),
    [
        (0, None, ["query_beer_factory", "get_top_brand"]),
        (0, 0, ["query_beer_factory", "get_top_brand", "get_top_brand"]),
        (1, 1, ["get_top_brand", "query_beer_factory", "get_top_brand"]),
        (1, 2, ["get_top_brand", "query_beer_factory"]),
    ],
)
async def test_a_recording_goes_on_where_it_is_told_to(at: int, following: int | None, made: list[str]) -> None:
    played = CallTool(call=ToolCall(name=ASKED[0], arguments=ASKED[1]))
    async with session_on(toy.wiring(store=Store.open("sqlite://"), **broken(BRAND, BRAND))) as session:
        await session.play(played, at)
        await session.take_wheel("recording", at + 1, following)
        assert session.scene is not None
        assert [row.tool for row in session.scene.rows] == [*made, "final answer"], "what is to come is shown"
        await session.run_to_end()
        assert [row.tool for row in session.scene.rows if row.call is not None] == made
        assert session.scene.finished and not session.recorded_only
        await session.look_at(0)
        assert [row.tool for row in session.scene.rows if row.call is not None] == ["get_top_brand", "get_top_brand"]


async def test_a_call_put_in_between_leaves_the_whole_recording_to_follow() -> None:
    wiring = toy.wiring(instance="u-1", store=Store.open("sqlite://"), **broken(BRAND, BRAND))
    async with opened(wiring, (80, 24)) as (app, pilot):
        screen = debugger(app)
        await until(pilot, lambda: screen.scene is not None and screen.scene.verdict is not None, "the verdict")
        await screen.session.play(CallTool(call=ToolCall(name=ASKED[0], arguments=ASKED[1])), 0)
        await until(pilot, lambda: screen.scene is not None and screen.scene.executed == 1, "the call")
        await pilot.press("home", "w")
        await until_shown(pilot, "yours beside its own, then get_top_brand")
        await pick(pilot, "whole recording")
        await until(pilot, lambda: screen.scene is not None and screen.scene.wheel == "recording", "the wheel")
        await pilot.press("c")
        await until(pilot, lambda: screen.scene is not None and screen.scene.finished, "the end")
        assert screen.scene is not None
        assert [row.tool for row in screen.scene.rows if row.call] == [ASKED[0], BRAND[0], BRAND[0]]


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
