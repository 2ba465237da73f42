"""Not asked, undecided, not reached and wrong are four different things, in verdicts and in what is summed up."""

from __future__ import annotations

from eval.case import Case
from eval.judge import JudgeFailure
from eval.judges import NoJudge
from eval.model import Gate, Ruling
from eval.scored import Scored
from eval.scores import tally
from tests.vakra_profile.conftest import ScriptedJudge, World, call, record, turn

RED = {"name": "count_heroes", "arguments": {"team": "red"}, "response_text": '{"count": 27}', "is_error": False}
ASK_RED = [call("count_heroes", team="red")]


class Failing(ScriptedJudge):
    """Cannot be read where the dialogue is ``b``."""

    async def rule(self, gate: Gate, case: Case) -> Ruling:
        if case.instance.uuid == "b":
            raise JudgeFailure("The judge's reply cannot be read.")
        return await super().rule(gate, case)


async def test_a_judge_error_is_neither_a_zero_nor_a_question_that_was_not_asked(world: World) -> None:
    truths = [record(uuid, turn(["27"], ASK_RED)) for uuid in "abc"]
    predictions = [record("a", turn("27")), record("b", turn("27")), record("c", turn("7"))]
    verdicts = await world.score("vakra", truths, predictions, capability=2, recorded=[RED], judge=Failing())
    rulings = {uuid: verdicts[uuid].stages[2].rulings for uuid in "abc"}
    assert rulings["a"] is not None and rulings["b"] is not None and rulings["c"] is not None
    assert [verdicts[uuid].passed for uuid in "abc"] == [True, None, False]
    assert (verdicts["b"].status, verdicts["b"].reason) == ("unscored", "judge")
    assert rulings["a"]["grounded"] is not None
    assert rulings["c"]["grounded"] is None, "not asked, because the answer is wrong"
    summed = tally([Scored(verdict=verdict) for verdict in verdicts.values()])
    assert summed.counts(0) | {"instances": 3, "scored": 2, "unscored": 1, "missing": 0} == summed.counts(0)
    assert summed.capabilities()["2"]["score"] == 0.5
    decided = summed.decided()
    assert (decided["consistent"]["recorded"], decided["grounded"]["recorded"]) == (2, 1)


async def test_without_a_judge_a_verdict_is_undecided(world: World) -> None:
    truths, predictions = [record("a", turn(["27"], ASK_RED))], [record("a", turn("27", ASK_RED))]
    verdicts = await world.score("vakra", truths, predictions, capability=2, recorded=[RED], judge=NoJudge())
    verdict = verdicts["a"]
    assert (verdict.status, verdict.passed, verdict.failed_stage, verdict.sieve) == (
        "scored",
        None,
        "final_response",
        "undecided",
    )
    summed = tally([Scored(verdict=verdict)]).capabilities()["2"]
    assert (summed["score"], summed["range"]) == (0.0, [0.0, 1.0])


async def test_a_call_that_is_not_recorded_leaves_its_dialogue_unscored_and_the_others_alone(world: World) -> None:
    truths = [record(uuid, turn(["27"], ASK_RED)) for uuid in "ab"]
    predictions = [record("a", turn("27", [call("count_heroes", team="green")])), record("b", turn("27", ASK_RED))]
    verdicts = await world.score("vakra", truths, predictions, capability=2, recorded=[RED])
    assert (verdicts["a"].status, verdicts["a"].reason) == ("unscored", "not recorded")
    assert "green" in verdicts["a"].detail
    assert verdicts["b"].passed


async def test_missing_extra_and_duplicate_records(world: World) -> None:
    truths = [record(uuid, turn(["27"], ASK_RED)) for uuid in ("a", "b", "b")]
    predictions = [record("zz", turn("x", ASK_RED)), record("a", turn("7")), record("a", turn("27", ASK_RED))]
    verdicts = await world.score("vakra", truths, predictions, capability=2, recorded=[RED])
    assert verdicts["a"].passed and "duplicate" in verdicts["a"].marks
    assert (verdicts["b"].status, verdicts["b"].passed, verdicts["b"].sieve) == ("missing", False, "tool_selection")
    assert verdicts["zz"].status == "extra"


async def test_what_a_judge_sees_is_the_window_and_the_flattened_answer(world: World) -> None:
    judge = ScriptedJudge()
    calls = [call("count_heroes", team="red")] * 25
    truth = record("a", turn([["Marvel", 1], ["DC", 2]], [call("count_heroes", team="none")]))
    recorded = [RED, {**RED, "arguments": {"team": "none"}, "response_text": '{"count": 0}'}]
    await world.score(
        "vakra", [truth], [record("a", turn("Marvel, DC", calls))], capability=2, recorded=recorded, judge=judge
    )
    (_, case), (gate, _) = judge.asked
    assert gate == "grounded"
    assert len(case.prediction.trajectory.steps) == 21, "twenty responses and the answer"
    assert case.instance.ground_truth is not None
    assert case.instance.ground_truth.evaluated.answer == ["marvel", "dc"]
    stored = {side: done for uuid, side, done in world.executed if uuid == "a"}
    assert len(stored["prediction"].trajectory.steps) == 26, "what is kept is the whole trajectory"
