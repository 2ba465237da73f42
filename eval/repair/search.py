"""Repair search: the one replacement that would have saved a failed trajectory.

Exactly one thing is replaced by the ground truth's: a predicted call, its arguments, a missing call that is put in, a
forbidden call that is left out, or the answer. All other calls are the prediction's own, with handles and flowing
values mapped onto the new line, executed and judged by the same waterfall.

**The answer.** A repaired trajectory keeps the prediction's own answer. Where the calls then pass and the answer alone
does not, whoever had seen these responses would have answered otherwise: the ground truth's answer is given instead, as
part of the same replacement (``re_answered``), for the step that broke it is then the call. The waterfall still asks
whether it follows from what the repaired calls show. A prediction whose calls pass as they are is repaired at its
answer; where the answer took a value from a call that is not the ground truth's, or such a call failed, that call is
the earlier replacement and the answer the smaller one.

**Order.** Replacements are tried from the first step on, small ones first, so the first that passes is the earliest;
those that are smaller than it are tried too. Where none passes, prefixes of the ground truth are tried, shortest first.
The order is fixed and nothing is drawn at random. At most ``LIMIT`` calls are run for each call of the two sides.

**The judge.** Rulings that were recorded, and a person's, are about the prediction and say nothing about another
trajectory; those are judged by the offline rules, as they are where there is no judge. A model judge is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import msgspec

from eval.case import Case, analyses
from eval.judge import Judge
from eval.judges import HumanRulings
from eval.model import Verdict
from eval.offline import OfflineJudge
from eval.repair.bench import Bench, Inadmissible, LimitReached, opening_ran
from eval.repair.candidates import Candidate, candidates, first_difference, forbidden_steps, own_plan, prefix_plan
from eval.repair.line import Line, Place, Ran
from eval.repair.model import Listener, Progress, Repair, RepairResult, Replacement, SearchOutcome, Spent
from eval.repair.sentences import sentence
from eval.repair.sides import Sides, aligned, side_calls
from eval.waterfall import evaluate
from sessions.dataflow import ANSWER, PredictionAnalysis
from sessions.dataflow.flows import Written
from sessions.drivers.ground_truth import answer_text
from sessions.trajectory import Answer, CallTool, ExecutedTrajectory, Step, Trajectory
from toolenv.environment import ToolEnvironment
from toolenv.errors import NotRecorded
from toolenv.model import ToolCall

LIMIT = 8
"""Calls that a search may run for each call of the two sides."""


async def search(
    case: Case,
    environment: ToolEnvironment,
    *,
    judge: Judge,
    verdict: Verdict | None = None,
    progress: Listener | None = None,
    deadline_s: float | None = None,
) -> RepairResult:
    """Search for what would have saved a failed, executed prediction.

    ``case`` holds both executed sides; ``environment`` serves its instance; ``verdict`` spares judging the prediction
    once more. Raises ``EnvironmentFailure`` and ``JudgeFailure`` as judging does. Cancelling the task ends it between
    two calls.
    """
    if verdict is None:
        verdict = await evaluate(case, judge=judge)
    if verdict.passed is not False:
        why = "it passes" if verdict.passed else verdict.detail or "nobody could decide whether it passes"
        return RepairResult(outcome="not failed", sentence=f"there is nothing to repair: {why}")
    found = _Search(case, environment, judge, verdict, progress, deadline_s)
    try:
        return await found.run()
    except LimitReached as error:
        return found.result("stopped", str(error))
    finally:
        await found.bench.close()


def judge_of_repairs(judge: Judge) -> Judge:
    """Who judges a trajectory that nobody has ruled on yet."""
    if judge.kind != "openai":
        return OfflineJudge()
    return judge.inner if isinstance(judge, HumanRulings) else judge


class _Search:
    def __init__(
        self,
        case: Case,
        environment: ToolEnvironment,
        judge: Judge,
        verdict: Verdict,
        progress: Listener | None,
        deadline_s: float | None,
    ) -> None:
        instance = case.instance
        assert instance.ground_truth is not None, "a verdict that failed has a ground truth"
        truth, prediction = analyses(case)
        self.case = msgspec.structs.replace(case, truth_analysis=truth, prediction_analysis=None)
        self.judge = judge_of_repairs(judge)
        self.verdict = verdict
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
        self._judged: dict[tuple[str, ...], Verdict] = {}
        self.calls_pass = False
        self._calls_pass_at: tuple[int, str, str] | None = None

    async def run(self) -> RepairResult:
        sequence = next((stage for stage in self.verdict.stages if stage.stage == "tool_sequence"), None)
        self.calls_pass = self.verdict.failed_stage == "final_response" or (
            sequence is not None and sequence.outcome == "pass"
        )
        forbidden = forbidden_steps(self.case.instance, [called.call for called in self.sides.predicted])
        singles = candidates(self.sides, forbidden)
        self.total = len(singles) + len(self.sides.truth) + 2
        answered = await self._answer_alone() if self.calls_pass else None
        earliest: Repair | None = None
        smallest = answered
        for candidate in singles:
            if earliest is not None and smallest is not None and candidate.replacement.size >= _size(smallest):
                continue
            repair = await self._single(candidate, blamed=answered is not None)
            if repair is not None:
                earliest = earliest or repair
                smallest = repair if smallest is None or _size(repair) < _size(smallest) else smallest
        earliest = earliest or answered
        if earliest is not None and smallest is not None:
            return self._found(earliest, smallest)
        if self.calls_pass and self._calls_pass_at is None:
            self._calls_pass_at = (len(self.sides.predicted) + 1, "", "the answer broke it")
        return await self._prefixes()

    def _found(self, earliest: Repair, smallest: Repair) -> RepairResult:
        replacement = earliest.replacement
        assert replacement is not None
        return self.result(
            "replacement",
            sentence(replacement),
            step=replacement.step,
            tool=replacement.tool,
            earliest=earliest,
            smallest=smallest,
        )

    async def _prefixes(self) -> RepairResult:
        hops = len(self.sides.truth)
        step, tool = first_difference(self.sides)
        for count in range(1, hops + 1):
            plan = prefix_plan(self.sides, count)
            repair = await self._passing(plan, None, f"the first {count} calls of the ground truth")
            if repair is None:
                continue
            again = repair.executed.trajectory.answer != self.case.prediction.trajectory.answer
            if count < hops or not again:
                said = f"no single replacement saves it; after the first {count} of {hops} ground-truth calls its own "
                said += "rest passes" + (", answered anew" if again else "")
                where = f"; it leaves the path at step {step}" + (f" ({tool})" if tool else "")
                return self.result("prefix", said + where, step=step, tool=tool, prefix=count, prefixed=repair)
            said = f"the plan itself is wrong: only all {hops} ground-truth calls with the ground truth's answer pass"
            said += f"; it leaves the path at step {step}"
            return self.result("plan", said, step=step, tool=tool, prefix=count, prefixed=repair)
        return await self._reference()

    async def _reference(self) -> RepairResult:
        """Whether the ground truth alone passes: what the prediction adds to it may be what breaks it."""
        plan = tuple(Place("truth", called.number) for called in self.sides.truth)
        repair = await self._passing(plan, None, "the ground truth alone", only_its_answer=True)
        if repair is not None:
            said = "the plan itself is wrong: only the ground truth's calls alone, with its answer, pass"
            first, called = first_difference(self.sides)
            return self.result("plan", said, step=first, tool=called, prefix=len(plan), prefixed=repair)
        verdict = self._judged.get(("truth",))
        why = (
            next((stage.reason for stage in verdict.stages if stage.outcome not in ("pass", "skipped")), "")
            if verdict is not None
            else "it cannot be executed"
        )
        step, tool, said = self._calls_pass_at or (None, "", "no single replacement makes its calls pass")
        said = f"{said}, but the ground truth's own answer does not pass either: {why}"
        return self.result("reference", said, step=step, tool=tool)

    async def _answer_alone(self) -> Repair | None:
        executed = self._executed((), len(self.own_steps), self.answer)
        verdict = await self._verdict(executed, "the ground truth's answer", ())
        if verdict.passed is not True:
            return None
        replacement = Replacement(kind="answer", step=len(self.sides.predicted) + 1, hop=0, tool="", answer=self.answer)
        return Repair(replacement=replacement, executed=executed, verdict=verdict, fork_at=self._answer_index)

    @property
    def _answer_index(self) -> int:
        """How many of the prediction's steps come before its answer."""
        steps = self.own_steps
        return len(steps) - 1 if steps and not isinstance(steps[-1].decision, CallTool) else len(steps)

    async def _single(self, candidate: Candidate, *, blamed: bool) -> Repair | None:
        one = candidate.replacement
        return await self._passing(candidate.plan, one, f"{one.kind} at step {one.step}", blamed=blamed)

    def _to_blame(self, ran: Sequence[Ran]) -> bool:
        """Whether a call that a line does away with failed, or gave the prediction's answer a value."""
        kept = {each.key for each in ran}
        gone = [
            called.made for called in self.sides.predicted if self.bench.key_at("predicted", called.number) not in kept
        ]
        return any(made.failed or made.number in self.answered_from for made in gone)

    async def _passing(
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
            verdict = await self._verdict(executed, trying, keys, "truth" if only_its_answer else "")
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
            if replacement is not None and self._calls_pass_at is None and (not self.calls_pass or self._to_blame(ran)):
                made = _as_made(replacement, ran, None)
                self._calls_pass_at = (
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
        ran = tuple(await self.bench.run_afresh(line))
        executed = self._executed(ran, repair.fork_at, answer)
        verdict = await evaluate(self._case(executed), judge=self.judge)
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

    def _case(self, executed: ExecutedTrajectory) -> Case:
        return msgspec.structs.replace(self.case, prediction=executed)

    async def _verdict(
        self, executed: ExecutedTrajectory, trying: str, keys: tuple[str, ...], named: str = ""
    ) -> Verdict:
        place = (*keys, executed.trajectory.answer or "")
        verdict = self._judged.get(place)
        if verdict is None:
            self.tried += 1
            verdict = await evaluate(self._case(executed), judge=self.judge)
            self._judged[place] = verdict
        if named:
            self._judged[(named,)] = verdict
        return verdict

    async def _tell(self, trying: str) -> None:
        if self.progress is not None:
            self.progress(Progress(tried=self.tried, total=self.total, executions=self.bench.executions, trying=trying))
        # Judging by rules never waits; without this a screen and a cancellation would.
        await asyncio.sleep(0)

    def result(
        self,
        outcome: SearchOutcome,
        said: str,
        *,
        step: int | None = None,
        tool: str = "",
        earliest: Repair | None = None,
        smallest: Repair | None = None,
        prefix: int | None = None,
        prefixed: Repair | None = None,
    ) -> RepairResult:
        spent = Spent(
            executions=self.bench.executions,
            reused=self.bench.reused,
            tried=self.tried,
            not_recorded=self.not_recorded,
        )
        return RepairResult(
            outcome=outcome,
            sentence=said,
            step=step,
            tool=tool,
            earliest=earliest,
            smallest=smallest,
            prefix=prefix,
            prefixed=prefixed,
            spent=spent,
        )


def _sources_of_answer(prediction: PredictionAnalysis) -> Iterator[int]:
    """The calls that the answer may have taken a value from: the first that shows it, and the last one made."""
    yield from (flow.source for flow in prediction.graph.inputs(ANSWER))
    if prediction.facts:
        last = max(prediction.facts)
        answer = Written((prediction.answer,))
        if any(shown in answer for shown in prediction.facts[last].printed):
            yield last


def _size(repair: Repair) -> int:
    return repair.replacement.size if repair.replacement is not None else 0


def _as_made(replacement: Replacement | None, ran: Sequence[Ran], answer: str | None) -> Replacement | None:
    """The replacement with the call as it was made on the line, and the answer that was given with it."""
    if replacement is None:
        return None
    made = next((each for each in ran if each.place is not None and each.place.side == "truth"), None)
    after = made.step.decision.call if made is not None and isinstance(made.step.decision, CallTool) else None
    return msgspec.structs.replace(
        replacement, after=after or replacement.after, answer=answer, re_answered=answer is not None
    )
