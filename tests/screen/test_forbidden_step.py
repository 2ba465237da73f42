"""A step that the policy forbids and whose response is right: what is said of it fits together."""

from __future__ import annotations

from typing import Any

from screen_session import predicted, referred, scene_on

from vakra_tui.state.comparison import hop_words
from vakra_tui.state.lines import plain
from vakra_tui.state.panes.step import call_source
from vakra_tui.state.panes.steps import step_flags
from vakra_tui.state.panes.truth import hops_words, truth_lines

BRAND: tuple[str, dict[str, Any]] = ("get_top_brand", {})
POLICY = "Use document retrievers to answer questions. Do not use any other type of tool."


async def test_a_forbidden_step_recovers_nothing_in_any_pane() -> None:
    scene = await scene_on(instances=referred(BRAND, policy=POLICY), runs=predicted(BRAND))
    row, hop = scene.rows[0], scene.truth.hops[0]
    assert row.policy and row.recovers == (1,) and hop.forbidden
    assert [text for text, _ in step_flags(row)][:1] == ["POL"] and not any(
        "\u2713" in text for text, _ in step_flags(row)
    )
    told = "\n".join(plain(each) for each in truth_lines(scene))
    assert "only by step 1, which breaks the policy" in told and "recovered @1" not in told
    assert hops_words(scene) == "0/1 hop" and "breaks the policy" in hop_words(hop)[0]
    source = call_source(row, scene)
    source.layout(200)
    call = "\n".join(plain(each) for each in source.lines)
    assert "would complete hop 1, but the policy forbids the call" in call
    assert "but the policy forbids the call" in row.reference


async def test_a_forbidden_step_beside_the_path_is_not_said_to_be_right_perhaps() -> None:
    asked = ("query_beer_factory", {"question": "Who brews Dixie?"})
    scene = await scene_on(instances=referred(asked, policy=POLICY), runs=predicted(BRAND, asked))
    assert scene.rows[0].reference == "not in the reference path, and the policy forbids it"
    assert not scene.truth.hops[0].forbidden
