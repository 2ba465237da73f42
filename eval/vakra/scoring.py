"""The score of a matched dialogue: exact match, then the judges that the release asks (contract, section 3.5)."""

from __future__ import annotations

from typing import cast

import msgspec

from eval.case import Case
from eval.judge import Judge
from eval.judges.human import HumanRulings
from eval.judges.model_judge import OpenAIJudge
from eval.judges.questions import released_question
from eval.model import Gate, Ruling
from eval.vakra.dialogues import Matched
from eval.vakra.matching import WINDOW, answer_text, flattened
from eval.vakra.replay import ReplayedCall
from eval.vakra.replies import released_reader
from sessions.trajectory import Actor, Answer, CallTool, ExecutedTrajectory, Step, Trajectory
from toolenv.model import GroundTruth, GroundTruthTurn, Instance, Json, Value


class DialogueScore(Value, frozen=True):
    """What the release would write about one dialogue.

    ``answer`` is None where correctness is not asked (exact match), ``grounded`` is None where the answer is wrong.
    ``score`` is None where a judge leaves it undecided. Steps count calls, the opening of capability 1 included.
    """

    uuid: str
    exact: bool
    answer: Ruling | None
    grounded: Ruling | None
    truth_steps: int
    predicted_steps: int

    @property
    def score(self) -> float | None:
        outcomes = {ruling.outcome for ruling in (self.answer, self.grounded) if ruling is not None}
        if "fail" in outcomes:
            return 0.0
        return 1.0 if outcomes == {"pass"} else None

    @property
    def extra_steps(self) -> int:
        return max(0, self.predicted_steps - self.truth_steps)


class ReleasedJudge:
    """A model judge asked and read in the released form: bare JSON for correctness, a label for groundedness."""

    kind = "openai"

    def __init__(self, judge: OpenAIJudge) -> None:
        self._judge = judge

    async def rule(self, gate: Gate, case: Case) -> Ruling:
        return await self._judge.ask(gate, case, released_question, released_reader(gate))


def in_released_form(judge: Judge) -> Judge:
    """The judge as the release would ask it; recorded, offline and a person's rulings are what they are."""
    if isinstance(judge, HumanRulings):
        return judge.over(in_released_form(judge.inner))
    return ReleasedJudge(judge) if isinstance(judge, OpenAIJudge) else judge


async def score(matched: Matched, instance: Instance, run: str, judge: Judge) -> DialogueScore:
    """Ask what the release asks. Raises ``JudgeFailure``."""
    case = released_case(matched, instance, run)
    answer = None if matched.exact else await _answer(matched, case, judge)
    grounded = None
    if answer is None or answer.outcome != "fail":
        grounded = await judge.rule("grounded", case)
    return DialogueScore(
        uuid=matched.dialogue.uuid,
        exact=matched.exact,
        answer=answer,
        grounded=grounded,
        truth_steps=len(matched.truth.calls or ()),
        predicted_steps=len(matched.predicted),
    )


def released_case(matched: Matched, instance: Instance, run: str) -> Case:
    """What a judge sees: the last responses of the prediction, and a ground-truth answer that is flattened."""
    return Case(
        run=run,
        instance=_with_answer(instance, matched.truth.answer),
        truth=executed(matched.truth_calls, instance, "ground_truth"),
        prediction=executed(_seen(matched), instance, "recording", _predicted_answer(matched)),
        tools=matched.tools,
    )


def executed(
    calls: tuple[ReplayedCall, ...], instance: Instance, actor: Actor, answer: str | None = None
) -> ExecutedTrajectory:
    """The calls of a side as a trajectory; the opening of capability 1 is marked as one."""
    steps = [
        Step(
            actor=actor,
            decision=CallTool(call=made.call),
            result=made.result,
            executed_arguments=made.arguments if made.arguments != made.call.arguments else None,
            opening=instance.capability == 1 and position == 0 and made.call.name == "get_data",
        )
        for position, made in enumerate(calls)
        if made.result is not None
    ]
    tables = [made.table for made in calls if made.result is not None]
    if answer is not None:
        steps.append(Step(actor=actor, decision=Answer(text=answer)))
        tables.append(None)
    trajectory = Trajectory(instance=instance, steps=tuple(steps))
    return ExecutedTrajectory(trajectory=trajectory, tables=tuple(tables))


async def _answer(matched: Matched, case: Case, judge: Judge) -> Ruling:
    if not answer_text(matched.truth.answer) and not answer_text(matched.prediction.answer):
        return Ruling(outcome="pass", decided_by="program", reason="both answers are empty")
    return await judge.rule("consistent", case)


def _seen(matched: Matched) -> tuple[ReplayedCall, ...]:
    """The calls whose responses are in the release's window."""
    return matched.predicted_calls[-WINDOW:]


def _predicted_answer(matched: Matched) -> str:
    answer = matched.prediction.answer
    return answer if isinstance(answer, str) else answer_text(answer)


def _with_answer(instance: Instance, answer: Json) -> Instance:
    flat: Json = flattened(answer)
    if not isinstance(answer, list):
        flat = cast(list[str], flat)[0] if flat else None
    turns = instance.ground_truth.turns if instance.ground_truth is not None else ()
    last = (
        msgspec.structs.replace(turns[-1], answer=flat)
        if turns
        else GroundTruthTurn(turn_id=instance.turns[-1].turn_id, query=instance.query, answer=flat, calls=())
    )
    return msgspec.structs.replace(instance, ground_truth=GroundTruth(turns=(*turns[:-1], last)))
