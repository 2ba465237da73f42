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

from eval.case import Case
from eval.judge import Judge
from eval.model import Verdict
from eval.repair.bench import LimitReached
from eval.repair.candidates import Candidate, candidates, first_difference, forbidden_steps, prefix_plan
from eval.repair.line import Place
from eval.repair.model import Listener, Repair, RepairResult, SearchOutcome, Spent
from eval.repair.sentences import sentence
from eval.repair.trials import Trials
from eval.waterfall import evaluate
from toolenv.environment import ToolEnvironment


async def search(
    case: Case,
    environment: ToolEnvironment,
    *,
    judge: Judge,
    verdict: Verdict | None = None,
    progress: Listener | None = None,
    deadline_s: float | None = None,
    offload: bool = False,
) -> RepairResult:
    """Search for what would have saved a failed, executed prediction.

    ``case`` holds both executed sides; ``environment`` serves its instance; ``verdict`` spares judging the prediction
    once more. With ``offload`` (a screen) aligning and judging by rules run in a thread. Raises ``EnvironmentFailure``
    and ``JudgeFailure`` as judging does. Cancelling the task ends it between two calls.
    """
    if verdict is None:
        verdict = await evaluate(case, judge=judge)
    if verdict.passed is not False:
        why = "it passes" if verdict.passed else verdict.detail or "nobody could decide whether it passes"
        return RepairResult(outcome="not failed", sentence=f"there is nothing to repair: {why}")
    try:
        return await _searched(case, environment, judge, verdict, progress, deadline_s, offload)
    except RecursionError:
        return RepairResult(outcome="stopped", sentence="the arguments of a call nest too deeply to be followed")


async def _searched(
    case: Case,
    environment: ToolEnvironment,
    judge: Judge,
    verdict: Verdict,
    progress: Listener | None,
    deadline_s: float | None,
    offload: bool,
) -> RepairResult:
    parts = (case, environment, judge, verdict, progress, deadline_s, offload)
    found = await asyncio.to_thread(_Search, *parts) if offload else _Search(*parts)
    try:
        return await found.run()
    except LimitReached as error:
        return found.result("stopped", str(error))
    finally:
        await found.bench.close()


class _Search(Trials):
    """The order in which plans are tried, and what their outcome means."""

    async def run(self) -> RepairResult:
        sequence = next((stage for stage in self.verdict.stages if stage.stage == "tool_sequence"), None)
        self.calls_pass = self.verdict.failed_stage == "final_response" or (
            sequence is not None and sequence.outcome == "pass"
        )
        forbidden = forbidden_steps(self.case.instance, [called.call for called in self.sides.predicted])
        singles = candidates(self.sides, forbidden)
        self.total = len(singles) + len(self.sides.truth) + 2
        answered = await self.answer_alone() if self.calls_pass else None
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
        if self.calls_pass and self.calls_pass_at is None:
            self.calls_pass_at = (len(self.sides.predicted) + 1, "", "the answer broke it")
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
            repair = await self.passing(plan, None, f"the first {count} calls of the ground truth")
            if repair is None:
                continue
            again = repair.executed.trajectory.answer != self.case.prediction.trajectory.answer
            if count < hops or not again:
                said = "no single replacement saves it; "
                if count < hops:
                    said += f"after the first {count} of {hops} ground-truth calls its own rest passes"
                    said += ", answered as the reference does" if again else ""
                else:
                    said += f"with all {hops} ground-truth calls its own answer passes"
                where = f"; it leaves the path at step {step}" + (f" ({tool})" if tool else "")
                return self.result("prefix", said + where, step=step, tool=tool, prefix=count, prefixed=repair)
            said = f"the plan itself is wrong: only all {hops} ground-truth calls with the ground truth's answer pass"
            said += f"; it leaves the path at step {step}"
            return self.result("plan", said, step=step, tool=tool, prefix=count, prefixed=repair)
        return await self._reference()

    async def _reference(self) -> RepairResult:
        """Whether the ground truth alone passes: what the prediction adds to it may be what breaks it."""
        plan = tuple(Place("truth", called.number) for called in self.sides.truth)
        repair = await self.passing(plan, None, "the ground truth alone", only_its_answer=True)
        if repair is not None:
            said = "the plan itself is wrong: only the ground truth's calls alone, with its answer, pass"
            first, called = first_difference(self.sides)
            return self.result("plan", said, step=first, tool=called, prefix=len(plan), prefixed=repair)
        verdict = self.judged.get(("truth",))
        why = (
            next((stage.reason for stage in verdict.stages if stage.outcome not in ("pass", "skipped")), "")
            if verdict is not None
            else "it cannot be executed"
        )
        step, tool, said = self.calls_pass_at or (None, "", "no single replacement makes its calls pass")
        said = f"{said}, but the ground truth's own answer does not pass either: {why}"
        return self.result("reference", said, step=step, tool=tool)

    async def _single(self, candidate: Candidate, *, blamed: bool) -> Repair | None:
        one = candidate.replacement
        return await self.passing(candidate.plan, one, f"{one.kind} at step {one.step}", blamed=blamed)

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


def _size(repair: Repair) -> int:
    return repair.replacement.size if repair.replacement is not None else 0
