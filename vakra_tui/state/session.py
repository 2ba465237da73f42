"""One instance under the debugger: a live session, the wheel, the reference executed beside it, the verdict.

A ``DebugSession`` lives on the engine's loop. Every change ends in a new ``Scene`` for the listener; the screen holds
nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from eval.model import Verdict
from sessions.trajectory import Answer, CallTool, Decision, ExecutedTrajectory, GiveUp, Trajectory
from toolenv.errors import DataError, EnvironmentFailure, NotRecorded, VakraError
from toolenv.model import Instance, Json, Prediction, ToolCall, ToolResult, ToolSpec
from vakra_tui.state.scene import Scene, StepRow

if TYPE_CHECKING:
    from sessions.dataflow import GroundTruthAnalysis
    from sessions.driver import Driver
    from sessions.stepper import Stepper
    from toolenv.environment import ToolEnvironment
    from vakra_tui.state.export import ExportKind
    from vakra_tui.state.world import World

Wheel = Literal["recording", "human", "ground_truth"]

SHOW_EVERY_S = 0.15
"""Shortest time between two scenes while many steps run."""


class DebugSession:
    """Everything that the debugger does with one instance. Not safe across threads: all of it runs on one loop."""

    def __init__(self, world: World, load: Callable[[], Subject]) -> None:
        self.world = world
        self._load = load
        self._listeners: list[Callable[[Scene], None]] = []
        self.subject: Subject | None = None
        self.scene: Scene | None = None
        self.wheel: Wheel = "recording"
        self.hints = 0
        self._stepper: Stepper | None = None
        self._truth: Any = None
        self._analysis: GroundTruthAnalysis | None = None
        self._truth_problem = ""
        self._verdict: Verdict | None = None
        self._evaluated_steps = -1
        self._problem = ""
        self._working = ""
        self._last_shown = 0.0
        self._tools: tuple[ToolSpec, ...] = ()
        self._played = False

    def listen(self, listener: Callable[[Scene], None]) -> None:
        """Have every new scene handed over; called in the engine thread."""
        self._listeners.append(listener)

    # --- opening and closing -----------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Load the records, execute the reference beside, run a recorded prediction to its end and evaluate it."""
        self.subject = self._load()
        self.wheel = "recording" if self.subject.prediction is not None else "human"
        self._working = "opening"
        self._show(force=True)
        await self._open_stepper(())
        await self._execute_truth()
        if self.subject.prediction is not None and self._stepper is not None:
            await self.run_to_end()
            await self.evaluate()
        self._working = ""
        self._show(force=True)

    async def close(self) -> None:
        """End the live session."""
        if self._stepper is not None:
            await self._stepper.session.close()
            self._stepper = None

    @property
    def instance(self) -> Instance:
        assert self.subject is not None, "the session is open"
        return self.subject.instance

    async def _environment(self) -> ToolEnvironment | None:
        try:
            return self.world.environments.serving(self.instance)
        except EnvironmentFailure as error:
            self._problem = str(error)
            return None

    async def _open_stepper(self, decisions: Sequence[tuple[str, Decision]]) -> None:
        """A fresh session on which ``decisions`` are taken again, by those who took them."""
        from sessions.checks import standard_checks
        from sessions.execution import opening_call
        from sessions.stepper import Stepper

        environment = await self._environment()
        if environment is None:
            return
        try:
            session = await environment.open(self.instance)
        except EnvironmentFailure as error:
            self._problem = str(error)
            return
        await self.close()
        self._problem = ""
        stepper = Stepper(
            Trajectory(instance=self.instance),
            session,
            self._driver(),
            checks=standard_checks(self.instance),
            on_failure="record",
            opening=opening_call(self.instance),
        )
        self._stepper = stepper
        for actor, decision in decisions:
            await self._take(actor, decision)

    def _driver(self) -> Driver:
        from sessions.drivers import GroundTruthDriver, HumanDriver, RecordingDriver

        assert self.subject is not None
        if self.wheel == "ground_truth" and self.instance.ground_truth is not None:
            return GroundTruthDriver(self.instance)
        if self.wheel == "recording" and self.subject.prediction is not None:
            return RecordingDriver(self.subject.prediction)
        return HumanDriver()

    async def _execute_truth(self) -> None:
        if self.instance.ground_truth is None or self._stepper is None:
            self._truth_problem = self._problem
            return
        from vakra_tui.state.analysis import truth_of

        self._working = "executing the reference path"
        self._show(force=True)
        try:
            self._truth = await self.world.truth(self.instance)
            self._analysis = truth_of(self.instance, self._truth.executed)
        except (EnvironmentFailure, DataError) as error:
            self._truth_problem = str(error)
        self._working = ""

    # --- verbs -------------------------------------------------------------------------------------------------------

    async def step(self) -> None:
        """The next step by whoever is at the wheel."""
        stepper = self._ready()
        if stepper.finished:
            return
        if self.wheel == "human":
            raise DataError("You are at the wheel: n calls a tool, a answers, x declines, w hands the wheel over.")
        await stepper.advance()
        self._show(force=True)

    async def run_to_end(self) -> None:
        """All steps to the end, shown as they come."""
        await self.run_to(1_000_000)

    async def run_to(self, rows: int) -> None:
        """Steps until ``rows`` of them were made, or to the end."""
        stepper = self._ready()
        if self.wheel == "human" and not stepper.finished:
            raise DataError("You are at the wheel: w hands it to the recording or the ground truth, which can run.")
        self._working = "running"
        try:
            while not stepper.finished and len(stepper.trajectory.steps) < rows:
                await stepper.advance()
                self._show()
        finally:
            self._working = ""
            self._show(force=True)

    async def evaluate(self) -> None:
        """Score the present branch: the waterfall on what was executed so far."""
        from eval.case import Case
        from eval.judge import JudgeFailure
        from eval.waterfall import evaluate, unscored

        assert self.subject is not None
        instance = self.instance
        verdict: Verdict
        if self.subject.extra:
            from eval.waterfall import extra

            verdict = extra(instance.uuid, instance.capability, instance.domain)
        elif instance.ground_truth is None:
            verdict = unscored(
                instance.uuid, instance.capability, instance.domain, "no ground truth", "the dataset has no reference"
            )
        elif self._truth is None or self._stepper is None:
            reason = "environment"
            verdict = unscored(instance.uuid, instance.capability, instance.domain, reason, self._truth_problem)  # type: ignore[arg-type]
        else:
            self._working = "evaluating"
            self._show(force=True)
            case = Case(
                run=self.subject.run,
                instance=instance,
                truth=self._truth.executed,
                prediction=self._stepper.executed,
                tools=self._truth.tools,
            )
            missing = self._not_answered()
            try:
                if missing is not None:
                    verdict = unscored(instance.uuid, instance.capability, instance.domain, *missing)  # type: ignore[arg-type]
                else:
                    verdict = await evaluate(case, judge=self.world.judge)
            except JudgeFailure as error:
                verdict = unscored(instance.uuid, instance.capability, instance.domain, "judge", str(error))
            finally:
                self._working = ""
        self._verdict = verdict
        self._evaluated_steps = len(self._stepper.trajectory.steps) if self._stepper is not None else 0
        if not self._played:
            self.subject.learned(verdict)
        self._show(force=True)

    def _not_answered(self) -> tuple[str, str] | None:
        """Reason and sentence where a call of the branch got no answer: that is unscored, never wrong."""
        from vakra_tui.state.rows import NO_ANSWER

        assert self._stepper is not None
        for step in self._stepper.trajectory.steps:
            result = step.result
            if result is not None and result.error_kind in NO_ANSWER:
                return ("not recorded" if result.error_kind == "not_recorded" else "environment", result.text)
        return None

    async def hint(self) -> None:
        """Show one more hop of the reference path."""
        if self.instance.ground_truth is None:
            raise DataError("This instance has no ground truth, so there is nothing to hint at.")
        self.hints += 1
        self._show(force=True)

    async def take_wheel(self, wheel: Wheel) -> None:
        """Hand the wheel over; what was done so far stays, and the new driver goes on from there."""
        assert self.subject is not None
        if wheel == "recording" and self.subject.prediction is None:
            raise DataError("There is no recorded prediction of this instance to follow.")
        if wheel == "ground_truth" and self.instance.ground_truth is None:
            raise DataError("This instance has no ground truth to follow.")
        stepper = self._ready()
        self.wheel = wheel
        stepper.driver = self._driver()
        stepper.withdraw()
        self._show(force=True)

    async def play(self, decision: Decision) -> None:
        """A person's decision becomes the next step."""
        await self._take("human", decision)
        self._played = True
        self._show(force=True)

    async def _take(self, actor: str, decision: Decision) -> None:
        stepper = self._ready()
        while not stepper.trajectory.steps and stepper.opening is not None:
            await stepper.propose()
            if stepper.proposal is None or stepper.proposal.actor != "stepper":
                break
            await stepper.advance()
        await stepper.replace(decision, actor)  # type: ignore[arg-type]
        await stepper.advance()

    async def branch_at(self, steps: int) -> None:
        """Go on from an earlier point: the first ``steps`` steps are made again on a fresh session."""
        stepper = self._ready()
        kept = stepper.trajectory.steps[:steps]
        if len(kept) == len(stepper.trajectory.steps):
            return
        self._verdict = None
        await self._open_stepper([(step.actor, step.decision) for step in kept if not step.opening])
        self._show(force=True)

    async def tools(self) -> tuple[ToolSpec, ...]:
        """The tools on offer now; for capability 1 those after the opening."""
        stepper = self._ready()
        if stepper.opening is not None and not stepper.trajectory.steps:
            await stepper.propose()
            if stepper.proposal is not None and stepper.proposal.actor == "stepper":
                await stepper.advance()
                self._show(force=True)
        return await stepper.tools()

    async def scratch(self, call: ToolCall) -> ToolResult:
        """Call a tool on a fork of the session: an answer, and no trace in the trajectory."""
        stepper = self._ready()
        await self.tools()
        from toolenv.schema import coerce

        specs = {spec.name: spec for spec in await stepper.tools()}
        arguments: Mapping[str, Json] = call.arguments
        if call.name in specs:
            arguments, _ = coerce(specs[call.name], call.arguments)
        fork = await stepper.session.fork()
        try:
            return await fork.call(call.name, arguments)
        finally:
            await fork.close()

    async def flag(self, note: str) -> None:
        """Keep or take away the flag on this instance's ground truth."""
        self.world.keep_flag(self.instance.uuid, note)
        self._show(force=True)

    async def export(self, kind: ExportKind, folder: str) -> str:
        """Write the present branch below ``folder``; gives the file's path."""
        from vakra_tui.state.export import export

        return str(export(kind, folder, self._ready().trajectory))

    def handles(self) -> tuple[tuple[str, str], ...]:
        """(handle, which step made it) of every table of the session, newest first."""
        if self._stepper is None:
            return ()
        found = []
        for row in self.scene.rows if self.scene is not None else ():
            if row.step is not None and row.step.result is not None and row.step.result.handle:
                where = "the opening" if row.number == 0 else f"step {row.number} {row.tool}"
                found.append((row.step.result.handle, where))
        return tuple(reversed(found))

    @property
    def executed(self) -> ExecutedTrajectory | None:
        """What was executed so far."""
        return self._stepper.executed if self._stepper is not None else None

    def _ready(self) -> Stepper:
        if self._stepper is None:
            raise DataError(self._problem or "The session is not open yet.")
        return self._stepper

    # --- the scene ---------------------------------------------------------------------------------------------------

    def _show(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if not force and now - self._last_shown < SHOW_EVERY_S:
            return
        self._last_shown = now
        self.scene = self._build()
        for listener in self._listeners:
            listener(self.scene)

    def _build(self) -> Scene:
        from vakra_tui.state.build_scene import build

        assert self.subject is not None
        steps = len(self._stepper.trajectory.steps) if self._stepper is not None else 0
        return build(
            self.subject,
            self._stepper.executed if self._stepper is not None else None,
            self._analysis,
            self._truth.tools if self._truth is not None else (),
            truth_problem=self._truth_problem,
            verdict=self._verdict,
            stale=self._verdict is not None and steps != self._evaluated_steps,
            working=self._working,
            problem=self._problem,
            wheel=self.wheel,
            hints=self.hints,
            flagged=self.world.flag_of(self.instance.uuid),
            environment=self.world.environment_name,
            judge=self.world.judge_kind,
        )


class Subject:
    """What is debugged: an instance (of the dataset, or made from an extra prediction) and a run's prediction of it."""

    def __init__(
        self,
        instance: Instance,
        run: str,
        prediction: Prediction | None,
        *,
        extra: bool = False,
        learned: Callable[[Verdict], None] | None = None,
    ) -> None:
        self.instance = instance
        self.run = run
        self.prediction = prediction
        self.extra = extra
        self._learned = learned

    def learned(self, verdict: Verdict) -> None:
        """A verdict of the recorded prediction, for the list of instances."""
        if self._learned is not None:
            self._learned(verdict)


__all__ = ["Answer", "CallTool", "DebugSession", "GiveUp", "NotRecorded", "StepRow", "Subject", "VakraError", "Wheel"]
