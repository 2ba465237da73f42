"""The header in any width: state, wheel and the way to stop stay; and what is not computed yet is told as that."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest
import screen_toy as toy
from screen_session import predicted, session_on

from sessions.dataflow.provenance import origins
from sessions.store import Store
from sessions.trajectory import Trajectory
from toolenv.model import ToolCall, ToolSpec
from vakra_tui.state.lines import plain
from vakra_tui.state.live.asking import Asking
from vakra_tui.state.panes import head, truth
from vakra_tui.state.panes.waterfall import strip_lines
from vakra_tui.state.scene import Scene, TruthView
from vakra_tui.wrap import width_of

RETRY = "asking python3 /opt/agents/agent.py, 12 s; asks again in 30 s: HTTP 429: rate limit of the organisation met"


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with session_on(toy.wiring(store=Store.open("sqlite://"))) as session:
        assert session.scene is not None
        yield session.scene


@pytest.mark.parametrize("width", [80, 100, 120, 160])
def test_the_way_to_stop_is_never_cut(scene: Scene, width: int) -> None:
    busy = msgspec.structs.replace(
        scene, working=RETRY, stoppable=True, wheel="agent", branch="agent from 3", store_problem="the disk is full"
    )
    content = head.header(busy, width)
    told = plain(content)
    assert width_of(content) <= width
    assert "(X stops) \u2026" in told
    assert "x FAILED" in told and "wheel: agent" in told
    assert "asking" in told
    assert "(X stops)" in plain(strip_lines(msgspec.structs.replace(busy, verdict=None))[0])
    idle = plain(head.header(msgspec.structs.replace(scene, working="opening"), width))
    assert "opening \u2026" in idle and "stops" not in idle


def test_what_was_not_computed_yet_is_no_verdict(scene: Scene) -> None:
    view = msgspec.structs.replace(scene.policy, text="p", kind="documents only", applicability="applies")
    asked = msgspec.structs.replace(scene, policy=msgspec.structs.replace(view, violations=()))
    pending = tuple(msgspec.structs.replace(row, step=None) for row in scene.rows)

    def policy(**changes: object) -> str:
        return plain(head.policy(msgspec.structs.replace(asked, **changes), whole=False)[0]).replace("\u00a0", " ")

    assert "no step breaks it" in policy(finished=True)
    assert "no step" not in policy(finished=False, working="opening") and "\u2026" in policy(
        finished=False, working="opening"
    )
    assert "no step so far breaks it" in policy(finished=False, working="")
    assert "no step was made yet" in policy(finished=False, working="", rows=pending)


def test_hops_that_are_not_looked_for_yet_are_not_counted(scene: Scene) -> None:
    assert truth.hops_words(scene) == "2/3 hops"
    unknown = tuple(msgspec.structs.replace(hop, known=False, recovered_at=None) for hop in scene.truth.hops)
    running = msgspec.structs.replace(scene, truth=TruthView(state="running", hops=unknown))
    assert truth.hops_words(running) == "\u2026/3 hops"
    view = msgspec.structs.replace(scene.truth, hops=unknown)
    assert truth.hops_words(msgspec.structs.replace(scene, truth=view, working="running")) == "\u2026/3 hops"


async def test_no_prediction_is_told_with_what_to_do() -> None:
    async with session_on(toy.wiring(store=Store.open("sqlite://"), runs=[toy.ToyRun("r", [])])) as session:
        assert session.scene is not None
        told = plain(strip_lines(session.scene)[0])
        assert "n calls a tool, w hands the wheel over" in told


async def test_an_old_answer_that_is_given_again_says_so() -> None:
    from vakra_tui.state.lines import text_of
    from vakra_tui.state.panes.step import call_source

    async with session_on(toy.wiring(store=Store.open("sqlite://"), runs=predicted(("get_top_brand", {})))) as session:
        await session.take_wheel("recording", 0)
        await session.run_to_end()
        scene = session.scene
        assert scene is not None and scene.on_branch
        assert "the recording's old answer again" in text_of(call_source(scene.rows[-1], scene).lines)


def test_a_value_that_nobody_had_to_see_says_why() -> None:
    schema = {"properties": {"order": {"enum": ["up", "down"], "default": "up"}, "on": {"type": "boolean"}}}
    tools = (ToolSpec(name="t", description="", input_schema=schema),)
    instance = toy.instance(uuid="u-7", capability=1, universe_id="w-9")
    trajectory = Trajectory(instance=instance)

    def told(name: str, **arguments: object) -> list[str]:
        return [each.text for each in origins(trajectory, ToolCall(name=name, arguments=arguments), tools)]

    assert told("t", order="down") == ["one of the choices in the tool's schema"]
    assert told("t", order="up") == ["the default in the tool's schema"]
    assert told("t", on=True) == ["a switch: true or false, as the tool's schema says"]
    assert told("t", order=None) == ["no value: nothing had to be seen for it"]
    assert told("get_data", tool_universe_id="w-9") == ["the instance's own tool universe"]
    assert told("get_data", tool_universe_id="u-7") == ["the instance's own tool universe"]
    assert told("get_data", tool_universe_id="x") == ["not the tool universe of this instance"]


def test_the_words_about_an_agent_keep_its_name_short() -> None:
    class Named(Asking):
        agent_name = "command:" + "x" * 200
        _agent_wait = None
        _heard = ""

    words = Named._words(Named.__new__(Named), 12.0)
    assert words.endswith(", 12 s") and len(words) < 60
