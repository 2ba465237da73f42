"""The verdict explained in plain lines: evidence in words, what a model was shown and said, what nobody kept."""

from __future__ import annotations

import json

import msgspec
import screen_toy as toy
from screen_session import predicted, referred, scene_on, session_on

from eval.case import Case
from eval.judges.cache import KeptRuling
from eval.judges.context import Cut
from eval.judges.human import HumanRuling, HumanRulings
from eval.model import Evidence, Gate, Ruling
from sessions.store import Store
from vakra_tui.state.inspecting import asked_of, judged_gates
from vakra_tui.state.lines import text_of
from vakra_tui.state.panes.verdict import verdict_lines

REPLY = '{"reason": "it \x1b[31mdoes not\x1b[0m agree", "ruling": "fail"}'


class ModelJudge:
    """A judge whose rulings on the final response were made by a model and kept."""

    kind = "openai"

    async def rule(self, gate: Gate, case: Case) -> Ruling:
        return Ruling(
            outcome="fail", decided_by="judge", reason="it does not agree", evidence=({"reply": "not agree"},)
        )

    async def inspect(self, gate: Gate, case: Case) -> KeptRuling | None:
        if gate != "consistent":
            return None
        return KeptRuling(
            outcome="fail",
            reason="it does not agree",
            span="not agree",
            messages=({"role": "system", "content": "You judge."}, {"role": "user", "content": "the material"}),
            replies=("garbage", REPLY),
            parameters={"temperature": 0.0, "seed": None, "response_format": {"type": "json_object"}},
            cuts=(Cut(section="assistant call 1", step=1, kept=10, of=20),),
            model="m-1",
            input_tokens=1200,
            output_tokens=30,
            cost=0.0123,
            attempts=2,
        )


async def test_what_a_model_saw_and_said_is_shown_whole() -> None:
    wiring = toy.wiring(
        store=Store.open("sqlite://"),
        instances=referred(("get_top_brand", {}), answer=("Dixie",)),
        runs=predicted(("get_top_brand", {}), answer="Barqs"),
    )
    wiring.judge = ModelJudge()
    async with session_on(wiring) as session:
        assert session.scene is not None and session.scene.verdict is not None
        assert session.scene.verdict.failed_stage == "final_response"
        (asked,) = await session.asked()
        assert (asked.gate, asked.decided_by, asked.replies) == ("consistent", "judge", ("garbage", REPLY))
        text = text_of(verdict_lines(session.scene, (asked,)))
    assert "a model was asked: model m-1, temperature 0.0, 1,200 tokens in, 30 out, 0.0123 USD, 2 requests" in text
    assert "10 of 20 characters of assistant call 1 were shown" in text
    assert "reply 1 of 2" in text and "garbage" in text and REPLY in text
    assert text.index(REPLY) < text.index("the material") < text.index("You judge.")
    assert "consistent  \u2717\u00a0FAIL  by judge  Does the answer agree with the reference answer?" in text
    assert "the judge's words not agree" in text


async def test_a_persons_ruling_keeps_what_it_overrode_in_words() -> None:
    wiring = toy.wiring(
        store=Store.open("sqlite://"),
        instances=referred(("get_top_brand", {}), answer=("Dixie",)),
        runs=predicted(("get_top_brand", {}), answer="Barqs"),
    )
    async with session_on(wiring) as session:
        await session.rule("consistent", HumanRuling(outcome="pass", reason="both are root beer"))
        assert session.scene is not None
        text = text_of(verdict_lines(session.scene, await session.asked()))
    assert "by human" in text and "both are root beer" in text
    assert "overrides the judge, which said " in text, text[:1500]
    assert "You ruled this, and no reply of a model is kept." in text


async def test_the_judge_behind_a_person_is_asked_what_it_kept() -> None:
    async with session_on(toy.wiring(store=Store.open("sqlite://"))) as session:
        assert session.scene is not None and session.scene.verdict is not None
        assert list(judged_gates(session.scene.verdict)) == ["policy", "tool_sequence"]
        verdict = session.scene.verdict
        timeline = session._ready()
        assert session._truth is not None
        case = Case(
            run="r",
            instance=session.instance,
            truth=session._truth.executed,
            prediction=await timeline.executed(),
            tools=session._truth.tools,
        )
        found = await asked_of(case, HumanRulings(ModelJudge(), {}), verdict)
    assert [asked.replies for asked in found] == [(), ()], "this judge kept nothing of these gates"
    assert all("<<<BEGIN question" in asked.messages[-1]["content"] for asked in found)


async def test_evidence_of_any_form_is_told_and_nothing_is_lost() -> None:
    scene = await scene_on()
    assert scene.verdict is not None
    evidence: tuple[Evidence, ...] = (
        {"hop": 3, "step": 3, "missing": [f"v{n}" for n in range(20)], "count": 20},
        {"strange": {"a": [1]}, "step": "x"},
        {},
    )
    stages = tuple(
        msgspec.structs.replace(stage, evidence=evidence) if stage.outcome == "fail" else stage
        for stage in scene.verdict.stages
    )
    odd = msgspec.structs.replace(scene, verdict=msgspec.structs.replace(scene.verdict, stages=stages))
    text = text_of(verdict_lines(odd, None))
    assert "hop 3 at step 3 get_city  not found v0, v1" in text and "and 8 more  in all 20" in text
    assert f"strange {json.dumps({'a': [1]})}" in text
    assert "looking up what the judge saw" in text


async def test_a_hidden_reference_stays_hidden() -> None:
    async with session_on(toy.wiring(store=Store.open("sqlite://"))) as session:
        await session.toggle_reference()
        assert session.scene is not None
        hidden = text_of(verdict_lines(session.scene, await session.asked()))
        await session.toggle_reference()
        whole = text_of(verdict_lines(session.scene, await session.asked()))
    assert "reference call" not in hidden and "which is hidden; O shows it" in hidden
    assert "reference call" in whole
