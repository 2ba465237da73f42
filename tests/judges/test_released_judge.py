"""One reply, read by either profile: rows E1, E12 and E17 of the contract end to end."""

from __future__ import annotations

from typing import Any

import pytest

from eval.case import Case
from eval.judge import JudgeFailure
from eval.judges import HumanRuling, HumanRulings, JudgeSettings, NoJudge, OpenAIJudge
from eval.judges.recorded import RecordedJudge
from eval.model import Gate, Ruling
from eval.vakra.replies import JUDGE_ERROR
from eval.vakra.scoring import ReleasedJudge, in_released_form
from sessions.trajectory import Answer, ExecutedTrajectory, Step, Trajectory
from toolenv.model import GroundTruth, GroundTruthTurn, Instance, Turn
from toolenv.openai_compat import EndpointSettings
from toolenv.openai_compat.settings import RetryPolicy

QUICK = RetryPolicy(first_wait_s=0.001, longest_backoff_s=0.002, max_attempts=3)


def case() -> Case:
    truth = GroundTruthTurn(turn_id=0, query="How many?", answer=["42"], calls=())
    instance = Instance(
        uuid="u",
        capability=2,
        domain="d",
        turns=(Turn(turn_id=0, query="How many?"),),
        ground_truth=GroundTruth(turns=(truth,)),
    )
    steps = (Step(actor="recording", decision=Answer(text="It is 42.")),)
    prediction = ExecutedTrajectory(trajectory=Trajectory(instance=instance, steps=steps), tables=(None,))
    return Case(run="r", instance=instance, truth=None, prediction=prediction, tools=())


async def read_by_both(endpoint: Any, gate: Gate) -> tuple[Ruling, Ruling]:
    settings = EndpointSettings(model="m", base_url=endpoint.base_url, retries=QUICK)
    judge = OpenAIJudge(JudgeSettings(endpoint=settings))
    released = in_released_form(judge)
    assert isinstance(released, ReleasedJudge)
    try:
        return await released.rule(gate, case()), await judge.rule(gate, case())
    finally:
        await judge.aclose()


@pytest.mark.parametrize(
    "reply",
    ['```json\n{"explanation": "ok", "score": 1}\n```', 'Sure! {"explanation": "ok", "score": 1}', '{"score": 1} end'],
)
async def test_e1_a_reply_that_is_not_bare_json(endpoint: Any, said: Any, reply: str) -> None:
    endpoint.default = lambda body: said(reply)
    released, right = await read_by_both(endpoint, "consistent")
    assert released.outcome == "fail" and released.reason.startswith(JUDGE_ERROR)
    assert right.outcome == "pass"
    assert len(endpoint.asked) == 2, "the release does not ask again"


@pytest.mark.parametrize(
    ("reply", "released_outcome", "right_outcome"),
    [
        ("The response has no unsupported claims.\nyes", "fail", "pass"),
        ("choose a label from [yes, partial, no, unsure]\nno", "pass", "fail"),
        ("<conclusion>\nyes\nfine\n</conclusion>", "pass", "pass"),
    ],
)
async def test_e17_the_first_label_word(
    endpoint: Any, said: Any, reply: str, released_outcome: str, right_outcome: str
) -> None:
    endpoint.default = lambda body: said(reply)
    released, right = await read_by_both(endpoint, "grounded")
    assert (released.outcome, right.outcome) == (released_outcome, right_outcome)
    assert "response_format" not in endpoint.asked[0], "a label is not JSON"
    assert "response_format" in endpoint.asked[1]


async def test_e12_a_judge_that_fails_is_a_failure_in_either_form(endpoint: Any, failed: Any) -> None:
    endpoint.default = lambda body: failed(500, "scripted")
    settings = EndpointSettings(model="m", base_url=endpoint.base_url, retries=QUICK)
    judge = OpenAIJudge(JudgeSettings(endpoint=settings))
    for form in (judge, in_released_form(judge)):
        with pytest.raises(JudgeFailure, match="scripted"):
            await form.rule("grounded", case())
    await judge.aclose()


async def test_other_judges_and_a_persons_rulings_are_what_they_are(endpoint: Any, said: Any, tmp_path: Any) -> None:
    (tmp_path / "r.jsonl").write_text('{"uuid": "u", "gate": "grounded", "ruling": "pass"}')
    for judge in (NoJudge(), RecordedJudge(tmp_path / "r.jsonl")):
        assert in_released_form(judge) is judge
    endpoint.default = lambda body: said("no")
    settings = EndpointSettings(model="m", base_url=endpoint.base_url, retries=QUICK)
    model = OpenAIJudge(JudgeSettings(endpoint=settings))
    person = in_released_form(HumanRulings(model, {("r", "u", "grounded"): HumanRuling(outcome="pass")}))
    ruling = await person.rule("grounded", case())
    assert (ruling.outcome, ruling.decided_by) == ("pass", "human")
    assert ruling.evidence[0]["judge"]["outcome"] == "fail"
    await model.aclose()
