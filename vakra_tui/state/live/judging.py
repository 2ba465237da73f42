"""The verbs about the verdict: evaluate, rule a gate, search for a repair."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from eval.model import Gate, Verdict
from toolenv.errors import DataError, StoreError
from vakra_tui.state.live.base import SHOW_EVERY_S, SessionBase
from vakra_tui.state.rows import NO_ANSWER
from vakra_tui.state.scene import Scene

if TYPE_CHECKING:
    from eval.judges import HumanRuling
    from eval.repair import Progress, Repair, RepairResult

PROFILE = "paper"
"""The profile of the verdicts of a session's branches, whatever the list is scored by."""


class Judging(SessionBase):
    """The verbs about the verdict: evaluate, rule a gate, search for a repair."""

    async def evaluate(self) -> None:
        """Score the present branch: the waterfall on what was executed so far."""
        assert self.subject is not None
        await self._before_evaluating()
        self._working = "evaluating"
        await self._show(force=True)
        try:
            verdict = await self._verdict()
        finally:
            self._working = ""
        branch, steps = 0, 0
        if self._timeline is not None:
            branch, steps = self._timeline.cursor.branch, self._timeline.branch.length
            if self.recorded_only:
                self.subject.learned(verdict)
        self._verdicts[branch] = (steps, verdict)
        await self._keep_verdict(branch, steps, verdict)
        await self._show(force=True)

    async def _before_evaluating(self) -> None:
        """Make up for what a verdict needs and was stopped."""

    async def _keep_verdict(self, branch: int, steps: int, verdict: Verdict) -> None:
        """Beside the steps in the store, for the list of sessions; a store that refuses stops nobody."""
        store = self.world.keeping.ready()
        timeline = self._timeline
        if (
            store is None
            or store.read_only
            or not self.world.judge_identity
            or timeline is None
            or timeline.keeper is None
            or timeline.keeper.ref is None
        ):
            return
        import msgspec

        from sessions.store import StoredVerdict

        kept = StoredVerdict(
            branch=branch,
            steps=steps,
            profile=PROFILE,
            judge=self.world.judge_identity,
            passed=verdict.passed,
            body=msgspec.to_builtins(verdict),
        )
        try:
            await store.put_verdict(timeline.keeper.ref.id, kept)
        except StoreError as error:
            self._store_problem = str(error)

    @property
    def recorded_only(self) -> bool:
        """Whether the present branch is the whole recording and nothing else, so that its verdict is the run's."""
        timeline = self._timeline
        prediction = self.subject.prediction if self.subject is not None else None
        if timeline is None or not timeline.finished or prediction is None:
            return False
        if any(step.actor not in ("recording", "stepper") for step in timeline.steps):
            return False
        from sessions.drivers.recording import calls_done

        # A repair may leave a call of the recording out and keep the others.
        return calls_done(timeline.trajectory, prediction.calls) == len(prediction.calls)

    async def _verdict(self) -> Verdict:
        from eval.case import Case
        from eval.judge import JudgeFailure
        from eval.waterfall import evaluate, extra, unscored

        assert self.subject is not None
        instance = self.instance
        key = (instance.uuid, instance.capability, instance.domain)
        if self.subject.extra:
            return extra(*key)
        if instance.ground_truth is None:
            return unscored(*key, "no ground truth", "the dataset has no reference for this instance")
        if self._truth is None or self._timeline is None:
            return unscored(*key, "environment", self._truth_problem)
        executed = await self._timeline.executed()
        for step in executed.trajectory.steps:
            result = step.result
            if result is not None and result.error_kind in NO_ANSWER:
                return unscored(
                    *key, "not recorded" if result.error_kind == "not_recorded" else "environment", result.text
                )
        case = Case(
            run=self.subject.run,
            instance=instance,
            truth=self._truth.executed,
            prediction=executed,
            tools=self._truth.tools,
        )
        judge = await self.world.rulings.over(self.world.judge, self.subject.run, self._ruled_subject())
        try:
            return await evaluate(case, judge=judge)
        except JudgeFailure as error:
            return unscored(*key, "judge", str(error))

    def _ruled_subject(self) -> str:
        """What a person's ruling is about: the run where its recording is shown whole, else this state of a branch."""
        assert self.subject is not None
        if self.recorded_only:
            return self.world.run_fingerprint(self.subject.run)
        timeline = self._ready()
        ref = timeline.keeper.ref if timeline.keeper is not None else None
        branch = timeline.branch
        return f"session {ref.key if ref is not None else ''} branch {branch.number} step {branch.length}"

    async def ruled(self) -> dict[Gate, HumanRuling]:
        """What a person has ruled on what is shown."""
        known = await self.world.rulings.about(self._ruled_subject())
        return {gate: ruling for (uuid, gate), ruling in known.items() if uuid == self.instance.uuid}

    async def rule(self, gate: Gate, ruling: HumanRuling | None) -> None:
        """Rule a gate of the shown branch, or take a ruling back; the verdict is computed anew. ``StoreError``."""
        await self.world.rulings.put(self._ruled_subject(), self.instance.uuid, gate, ruling)
        await self.evaluate()

    async def repair(self) -> RepairResult:
        """Search for what would have saved the present branch. Raises ``DataError`` where nothing can be searched."""
        from eval.case import Case
        from eval.judge import JudgeFailure
        from eval.repair import search

        timeline = self._ready()
        if self._truth is None or self.subject is None:
            raise DataError("A repair is searched along the reference path, and none was executed here.")
        if not timeline.finished:
            raise DataError("A repair is searched for a finished trajectory: run it to its end first.")
        case = Case(
            run=self.subject.run,
            instance=self.instance,
            truth=self._truth.executed,
            prediction=await timeline.executed(),
            tools=self._truth.tools,
        )
        judge = await self.world.rulings.over(self.world.judge, self.subject.run, self._ruled_subject())
        self._working = "searching a repair"
        await self._show(force=True)

        def told(progress: Progress) -> None:
            self._working = f"searching a repair, {progress.tried} of {progress.total}"

        ticking = asyncio.create_task(self._tick())
        try:
            return await search(
                case, self.world.environments.serving(self.instance), judge=judge, progress=told, offload=True
            )
        except JudgeFailure as error:
            raise DataError(str(error)) from error
        finally:
            ticking.cancel()
            self._working = ""
            await self._show(force=True)

    async def _tick(self) -> None:
        """A scene every little while, as long as something works."""
        while True:
            await asyncio.sleep(2 * SHOW_EVERY_S)
            await self._show()

    async def open_repair(self, repair: Repair) -> None:
        """Run a repaired trajectory on a branch of its own, from where it leaves the present one, and evaluate it."""
        timeline = self._ready()
        self._pause = None
        await timeline.fork(self._before_the_end(repair.fork_at), name="repair")
        for step in repair.executed.trajectory.steps[timeline.branch.length :]:
            if not step.opening:
                await timeline.decide(step.decision, step.actor)
        await self.evaluate()

    async def branch_scene(self, branch: int) -> Scene:
        """The scene of a branch, evaluated where it is finished; nobody is told and the present branch stays."""
        timeline = self._ready()
        place, pause = timeline.cursor, self._pause
        listeners, self._listeners = self._listeners, []
        try:
            timeline.go_to(timeline.tree.branch(branch).length, branch)
            self._pause = None
            steps, _ = self._verdicts.get(branch, (-1, None))
            if timeline.finished and steps != timeline.branch.length:
                await self.evaluate()
            else:
                await self._show(force=True)
            assert self.scene is not None
            return self.scene
        finally:
            timeline.go_to(place.at, place.branch)
            self._pause = pause
            await self._show(force=True)
            self._listeners = listeners
