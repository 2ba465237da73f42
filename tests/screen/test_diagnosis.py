"""Which step broke a trajectory, why, and what was right: one case a gate and a class of the sieve."""

from __future__ import annotations

from typing import Any

import pytest
import screen_toy as toy
from screen_session import predicted, referred, scene_on

from vakra_tui.state.diagnosis import Place, diagnose, next_divergence, places
from vakra_tui.state.lines import plain
from vakra_tui.state.panes.truth import truth_lines
from vakra_tui.state.panes.waterfall import strip_lines
from vakra_tui.state.scene import Scene

BRAND: tuple[str, dict[str, Any]] = ("get_top_brand", {})
SOLD: tuple[str, dict[str, Any]] = ("get_locations", {"name": "Dixie"})


async def place_of(**changes: object) -> tuple[Scene, Place]:
    scene = await scene_on(**changes)
    place = diagnose(scene)
    assert place is not None
    return scene, place


async def test_a_broken_policy_leads_to_the_call_and_to_the_first_hop_that_is_allowed() -> None:
    policy = "Use document retrievers to answer questions. Do not use any other type of tool."
    asked = ("query_beer_factory", {"question": "Who brews Dixie?"})
    scene, place = await place_of(instances=referred(asked, policy=policy), runs=predicted(BRAND, asked))
    assert (place.gate, place.step, place.hop) == ("policy", 0, 1)
    assert "document retrievers only" in place.what
    assert place.right.startswith("query_beer_factory(question=")
    assert scene.first_trouble == 0
    assert scene.policy.violations == (1,)


async def test_a_policy_that_leaves_nothing_to_call_asks_to_decline() -> None:
    policy = "Use document retrievers to answer questions. Do not use any other type of tool."
    _, place = await place_of(instances=referred(answer="I cannot answer", policy=policy), runs=predicted(BRAND))
    assert (place.gate, place.step, place.hop) == ("policy", 0, None)
    assert place.right.startswith("make no call and decline")


async def test_a_tool_that_was_never_called_leads_to_where_it_was_due() -> None:
    scene, place = await place_of(instances=referred(BRAND, SOLD), runs=predicted(BRAND))
    assert scene.verdict is not None and scene.verdict.sieve == "tool_selection"
    assert (place.step, place.hop) == (1, 2)
    assert place.what == "the trajectory ends here and get_locations was never called"
    assert place.right == 'get_locations(name="Dixie")'


async def test_another_tool_in_its_place_is_the_break() -> None:
    scene, place = await place_of(instances=referred(BRAND, SOLD), runs=predicted(BRAND, ("get_city", {"name": "x"})))
    assert (place.step, place.hop) == (1, 2)
    assert place.what == "get_city is called where get_locations is due"
    assert scene.rows[1].beside and not scene.rows[0].beside


async def test_no_call_at_all() -> None:
    _, place = await place_of(instances=referred(BRAND), runs=predicted())
    assert (place.what, place.right, place.hop) == ("no call was made", "get_top_brand()", 1)


async def test_a_wrong_argument_name_is_pointed_at() -> None:
    environment = toy.ToyEnvironment({**toy.ANSWERS, "get_locations": "FAIL no name was given"})
    scene = await scene_on(
        instances=referred(BRAND, ("query_beer_factory", {"question": "Who?"})),
        runs=predicted(BRAND, ("query_beer_factory", {"ask": "Who?"})),
        environment=environment,
    )
    gaps = {(gap.argument, gap.kind) for gap in scene.rows[1].gaps}
    assert gaps == {("question", "missing"), ("ask", "unknown")}
    assert scene.truth.hops[1].aligned == 2


async def test_a_wrong_value_is_told_beside_what_was_due() -> None:
    answers = {**toy.ANSWERS, "get_city": "[]"}
    scene = await scene_on(
        instances=referred(BRAND, ("get_locations", {"name": "Dixie"})),
        runs=predicted(BRAND, ("get_locations", {"name": "Barqs"})),
        environment=toy.ToyEnvironment(answers),
    )
    (gap,) = scene.rows[1].gaps
    assert (gap.argument, gap.kind, gap.expected, gap.given) == ("name", "value", "Dixie", "Barqs")
    text = "\n".join(map(plain, truth_lines(scene)))
    assert 'name = "Dixie"  \u25c2\u00a0hop\u00a01  step 2 has "Barqs"' in text


async def test_a_wrong_answer_leads_to_the_answer_and_to_the_right_one() -> None:
    scene, place = await place_of(instances=referred(BRAND, answer=("Dixie",)), runs=predicted(BRAND, answer="Barqs"))
    assert (place.gate, place.step) == ("consistent", 1)
    assert place.right == "answer Dixie"
    assert next_divergence(scene, -1) == 1


async def test_what_passed_has_no_break() -> None:
    scene = await scene_on(instances=referred(BRAND, answer=("Dixie",)), runs=predicted(BRAND, answer="Dixie"))
    assert scene.verdict is not None and scene.verdict.passed
    assert diagnose(scene) is None and places(scene) == () and scene.first_trouble is None
    assert next_divergence(scene, -1) is None


async def test_an_undecided_gate_is_open_and_says_who_is_to_decide() -> None:
    _, place = await place_of(instances=referred(BRAND, answer=("Dixie",)), runs=predicted(BRAND, answer=""))
    assert place.outcome in ("undecided", "fail")


async def test_an_instance_without_prediction_says_so() -> None:
    scene = await scene_on(runs=[toy.ToyRun("empty", [])])
    assert diagnose(scene) is None, "nothing was evaluated yet"


async def test_every_place_that_the_gate_points_at_is_gone_through_and_the_strip_tells_it() -> None:
    scene = await scene_on()
    found = places(scene)
    assert [place.hop for place in found] == [3]
    words = "\n".join(map(plain, strip_lines(scene)))
    assert "BROKEN" in words and "get_city is called where get_locations is due" in words
    assert 'RIGHT     hop 3: get_locations(name="Dixie Brewing")' in words
    assert "i goes there" in words


async def test_a_hidden_reference_is_not_told_by_the_strip() -> None:
    scene = await scene_on()
    import msgspec

    hidden = msgspec.structs.replace(scene, reference_shown=False, hints=0)
    assert "RIGHT" not in "\n".join(map(plain, strip_lines(hidden)))
    assert "RIGHT" in "\n".join(map(plain, strip_lines(msgspec.structs.replace(hidden, hints=3))))


async def test_the_flow_of_values_is_drawn_from_hop_to_argument_and_answer() -> None:
    scene = await scene_on()
    flows = {(flow.source, flow.target, flow.argument) for flow in scene.truth.flows}
    assert (1, 2, "question") in flows
    assert (2, 3, "name") in flows
    assert (2, 0, "") in flows, "the first response that shows the answer"


@pytest.mark.parametrize("cursor", [-1, 0, 1])
async def test_divergences_follow_each_other(cursor: int) -> None:
    scene = await scene_on()
    # Step 1 converts an argument that the reference leaves out; step 3 stands for no hop; the answer lacks a hop.
    found = []
    index = next_divergence(scene, cursor)
    while index is not None:
        found.append(index)
        index = next_divergence(scene, index)
    assert found == [each for each in (0, 2, 3) if each > cursor]
