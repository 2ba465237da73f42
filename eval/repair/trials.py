"""Trying one plan: executing it, judging it, and making a repair of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import msgspec

from eval.case import Case, analyses
from eval.judge import Judge
from eval.judges import HumanRulings
from eval.model import Verdict
from eval.offline import OfflineJudge
from eval.repair.bench import Bench, Inadmissible, opening_ran
from eval.repair.candidates import forbidden_steps, own_plan
from eval.repair.line import Line, Place, Ran
from eval.repair.model import Listener, Progress, Repair, Replacement
from eval.repair.sentences import sentence
from eval.repair.sides import Sides, aligned, side_calls
from eval.waterfall import evaluate
from sessions.dataflow import ANSWER, PredictionAnalysis
from sessions.dataflow.printed import Written
from sessions.drivers.ground_truth import answer_text
from sessions.trajectory import Answer, CallTool, ExecutedTrajectory, Step, Trajectory
from toolenv.environment import ToolEnvironment
from toolenv.errors import NotRecorded
from toolenv.model import ToolCall

OWN_CALLS = "own calls"
"""Names the verdict on the prediction's own calls with another answer."""

LIMIT = 8
"""Calls that a search may run for each call of the two sides."""


def judge_of_repairs(judge: Judge) -> Judge:
    """Who judges a trajectory that nobody has ruled on yet."""
    if judge.kind != "openai":
        return OfflineJudge()
    return judge.inner if isinstance(judge, HumanRulings) else judge


class Trials:
    """The plans of one search, each tried once.

    ``calls_pass`` says that the prediction's calls pass as they are; ``calls_pass_at`` is the first replacement (step,
    tool, sentence) with which they do, where its answer still does not.
    """

    def __init__(
        self,
        case: Case,
        environment: ToolEnvironment,
        judge: Judge,
        verdict: Verdict,
        progress: Listener | None,
        deadline_s: float | None,
        offload: bool,
    ) -> None:
        instance = case.instance
        assert instance.ground_truth is not None, "a verdict that failed has a ground truth"
        truth, prediction = analyses(case)
        self.case = msgspec.structs.replace(case, truth_analysis=truth, prediction_analysis=None)
        self.judge = judge_of_repairs(judge)
        self.verdict = verdict
        self.offload = offload
        self.progress = progress
        self.answer = answer_text(instance.ground_truth.evaluated.answer)
        self.own_steps = case.prediction.trajectory.steps
        self.own_tables = case.prediction.tables
        predicted = side_calls("predicted", prediction.calls)
        reference = side_calls("truth", truth.calls)
        self.sides = Sides(
            predicted=predicted,
            truth=reference,
            pairs=aligned(predicted, reference),
            flows={made.number: prediction.graph.inputs(made.number) for made in prediction.calls.calls},
            truth_flows={made.number: truth.graph.inputs(made.number) for made in truth.calls.calls},
        )
        self.opening = opening_ran(prediction.calls.opening or truth.calls.opening)
        everything = (*predicted, *reference)
        self.bench = Bench(
            instance,
            environment,
            limit=LIMIT * (len(everything) + 2),
            deadline_s=deadline_s,
            stateful=instance.capability == 1 and any(called.call.name == "get_data" for called in everything),
        )
        self.bench.seed(opening_ran(prediction.calls.opening), predicted)
        self.bench.seed(opening_ran(truth.calls.opening), reference)
        self.query = "\n".join(turn.query for turn in instance.turns)
        self.tried = 0
        self.total = 0
        self.not_recorded = 0
        self.answered_from = set(_sources_of_answer(prediction))
        self.judged: dict[tuple[str, ...], Verdict] = {}
        self.calls_pass = False
        self.calls_pass_at: tuple[int, str, str] | None = None

    async def answer_alone(self) -> Repair | None:
        executed = self._executed((), len(self.own_steps), self.answer)
        verdict = await self._verdict(executed, (OWN_CALLS,))
        if verdict.passed is not True:
            return None
        replacement = Replacement(kind="answer", step=len(self.sides.predicted) + 1, hop=0, tool="", answer=self.answer)
        return Repair(replacement=replacement, executed=executed, verdict=verdict, fork_at=self._answer_index)

    @property
    def _answer_index(self) -> int:
        """How many of the prediction's steps come before its answer."""
        steps = self.own_steps
        return len(steps) - 1 if steps and not isinstance(steps[-1].decision, CallTool) else len(steps)

    def _to_blame(self, ran: Sequence[Ran]) -> bool:
        """Whether a call that a line does away with failed, or gave the prediction's answer a value."""
        kept = {each.key for each in ran}
        gone = [
            called.made for called in self.sides.predicted if self.bench.key_at("predicted", called.number) not in kept
        ]
        return any(made.failed or made.number in self.answered_from for made in gone)

    async def passing(
        self,
        plan: Sequence[Place],
        replacement: Replacement | None,
        trying: str,
        *,
        only_its_answer: bool = False,
        blamed: bool = False,
    ) -> Repair | None:
        """The repair that a plan makes, or None where it does not pass.

        With ``blamed`` only if the calls that it does away with are what led to the answer.
        """
        await self._tell(trying)
        if forbidden_steps(self.case.instance, [self._called(place) for place in plan]):
            return None
        line = self._line(plan)
        try:
            ran = tuple(await self.bench.run(line))
        except Inadmissible:
            return None
        except NotRecorded:
            self.not_recorded += 1
            return None
        if blamed and not self._to_blame(ran):
            return None
        kept = self._kept(plan, ran)
        keys = tuple(each.key for each in ran)
        answers = [self.answer] if only_its_answer else [self.case.prediction.trajectory.answer or "", self.answer]
        for position, answer in enumerate(dict.fromkeys(answers)):
            executed = self._executed(ran, kept, answer)
            verdict = await self._verdict(executed, keys, "truth" if only_its_answer else "")
            if verdict.passed is True:
                repair = Repair(
                    replacement=_as_made(replacement, ran, answer if position else None),
                    executed=executed,
                    verdict=verdict,
                    fork_at=kept,
                )
                return await self._confirmed(repair, plan, answer)
            if verdict.failed_stage != "final_response":
                break
            if replacement is not None and self.calls_pass_at is None and (not self.calls_pass or self._to_blame(ran)):
                made = _as_made(replacement, ran, None)
                self.calls_pass_at = (
                    replacement.step,
                    replacement.tool,
                    sentence(made or replacement, "its calls pass"),
                )
        return None

    async def _confirmed(self, repair: Repair, plan: Sequence[Place], answer: str) -> Repair | None:
        """The repair as one session of its own makes it, where handles had to be put together from several."""
        if self.opening is None or self.bench.stateful:
            return repair
        line = self._line(plan)
        try:
            ran = tuple(await self.bench.run_afresh(line))
        except (Inadmissible, NotRecorded):
            return None
        executed = self._executed(ran, repair.fork_at, answer)
        verdict = await self._evaluated(executed)
        if verdict.passed is not True:
            return None
        replacement = repair.replacement and _as_made(repair.replacement, ran, repair.replacement.answer)
        return msgspec.structs.replace(repair, executed=executed, verdict=verdict, replacement=replacement)

    def _line(self, plan: Sequence[Place]) -> Line:
        return Line(self.sides, plan, self.opening, self.query)

    def _called(self, place: Place) -> ToolCall:
        return self.sides.side(place.side)[place.number - 1].call

    def _kept(self, plan: Sequence[Place], ran: Sequence[Ran]) -> int:
        """How many of the prediction's own steps the line begins with."""
        own = own_plan(self.sides)
        kept = 0
        while kept < min(len(plan), len(own)) and plan[kept] == own[kept]:
            if ran[kept].key != self._own_key(kept):
                break
            kept += 1
        if kept:
            return self.sides.predicted[kept - 1].made.index + 1
        openings = [index for index, step in enumerate(self.own_steps) if step.opening]
        return openings[-1] + 1 if openings else 0

    def _own_key(self, index: int) -> str:
        return self.bench.key_at("predicted", index + 1)

    def _executed(self, ran: Sequence[Ran], kept: int, answer: str) -> ExecutedTrajectory:
        """The prediction's first ``kept`` steps, then the rest of a line, then an answer."""
        steps: list[Step] = list(self.own_steps[:kept])
        tables = list(self.own_tables[:kept])
        if not kept and self.opening is not None:
            steps.append(self.opening.step)
            tables.append(self.opening.table)
        if not ran:
            steps, tables = steps[: self._answer_index], tables[: self._answer_index]
        done = sum(isinstance(step.decision, CallTool) and not step.opening for step in steps)
        for each in ran[done:]:
            steps.append(each.step)
            tables.append(each.table)
        own = answer == self.case.prediction.trajectory.answer
        steps.append(Step(actor="recording" if own else "ground_truth", decision=Answer(text=answer)))
        tables.append(None)
        trajectory = Trajectory(instance=self.case.instance, steps=tuple(steps))
        return ExecutedTrajectory(trajectory=trajectory, tables=tuple(tables))

    async def _evaluated(self, executed: ExecutedTrajectory) -> Verdict:
        case = msgspec.structs.replace(self.case, prediction=executed)
        if self.offload and self.judge.kind == "offline":
            return await asyncio.to_thread(lambda: asyncio.run(evaluate(case, judge=self.judge)))
        return await evaluate(case, judge=self.judge)

    async def _verdict(self, executed: ExecutedTrajectory, keys: tuple[str, ...], named: str = "") -> Verdict:
        place = (*keys, executed.trajectory.answer or "")
        verdict = self.judged.get(place)
        if verdict is None:
            self.tried += 1
            verdict = await self._evaluated(executed)
            self.judged[place] = verdict
        if named:
            self.judged[(named,)] = verdict
        return verdict

    async def _tell(self, trying: str) -> None:
        if self.progress is not None:
            self.progress(Progress(tried=self.tried, total=self.total, executions=self.bench.executions, trying=trying))
        # Judging by rules never waits; without this a screen and a cancellation would.
        await asyncio.sleep(0)


def _sources_of_answer(prediction: PredictionAnalysis) -> Iterator[int]:
    """The calls that the answer may have taken a value from: the first that shows it, and the last one made."""
    yield from (flow.source for flow in prediction.graph.inputs(ANSWER))
    if prediction.facts:
        last = max(prediction.facts)
        answer = Written((prediction.answer,))
        if any(shown in answer for shown in prediction.facts[last].printed):
            yield last


def _as_made(replacement: Replacement | None, ran: Sequence[Ran], answer: str | None) -> Replacement | None:
    """The replacement with the call as it was made on the line, and the answer that was given with it."""
    if replacement is None:
        return None
    made = next((each for each in ran if each.place is not None and each.place.side == "truth"), None)
    after = made.step.decision.call if made is not None and isinstance(made.step.decision, CallTool) else None
    return msgspec.structs.replace(
        replacement, after=after or replacement.after, answer=answer, re_answered=answer is not None
    )
