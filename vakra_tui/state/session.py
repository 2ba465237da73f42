"""One instance under the debugger: a live session, the wheel, the reference executed beside it, the verdict.

A ``DebugSession`` lives on the engine's loop. Every change ends in a new ``Scene`` for the listener; the screen holds
nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal, TypeVar

from eval.model import Gate, Verdict
from sessions.trajectory import Decision, ExecutedTrajectory
from toolenv.errors import DataError, EnvironmentFailure, StoreError
from toolenv.model import Instance, Prediction, ToolCall, ToolResult, ToolSpec
from vakra_tui.state.rows import NO_ANSWER
from vakra_tui.state.scene import Scene

if TYPE_CHECKING:
    from eval.judges import HumanRuling
    from eval.repair import Progress, Repair, RepairResult
    from eval.truths import Truth
    from sessions.breakpoints import Breakpoint, Pause
    from sessions.dataflow import GroundTruthAnalysis
    from sessions.driver import Driver
    from sessions.events import StepEvent
    from sessions.filters import StepView
    from sessions.store.records import RequestRecord
    from sessions.timeline import Timeline
    from vakra_tui.state.build_scene import Analysed
    from vakra_tui.state.export import ExportKind
    from vakra_tui.state.listing import Entry
    from vakra_tui.state.world import World

T = TypeVar("T")

Wheel = Literal["recording", "human", "ground_truth", "agent"]

RUNNING = "running"

SHOW_EVERY_S = 0.15
"""Shortest time between two scenes while many steps run."""


class DebugSession:
    """Everything that the debugger does with one instance. Not safe across threads: all of it runs on one loop.

    The timeline's own cursor always stands at the tip of the branch that is looked at; where a person looks is known
    to the screen alone and comes with the verbs that need it (``at``: how many steps lie behind).
    """

    def __init__(self, world: World, load: Callable[[], Subject], entry: Entry | None = None) -> None:
        self.world = world
        self.entry = entry
        self._load = load
        self._listeners: list[Callable[[Scene], None]] = []
        self.subject: Subject | None = None
        self.scene: Scene | None = None
        self.wheel: Wheel = "recording"
        self.hints = 0
        self.reference_shown = True
        self._timeline: Timeline | None = None
        self._truth: Truth | None = None
        self._analysis: GroundTruthAnalysis | None = None
        self._truth_problem = ""
        self._verdicts: dict[int, tuple[int, Verdict]] = {}
        self._problem = ""
        self._store_problem = ""
        self._working = ""
        self._last_shown = 0.0
        self._executed: ExecutedTrajectory | None = None
        self._restored = False
        self._turn = asyncio.Lock()
        self._opening = False
        self._breakpoints: tuple[Breakpoint, ...] = ()
        self._pause: Pause | None = None
        self._showing: asyncio.Task[None] | None = None
        self._analysed: tuple[tuple[int, int, bool, bool, bool], Analysed] | None = None

    async def in_turn(self, verb: Callable[..., Awaitable[T]], *arguments: object) -> T:
        """A verb when those before it are done: keys pressed while something runs are not lost and never overlap."""
        async with self._turn:
            return await verb(*arguments)

    def listen(self, listener: Callable[[Scene], None]) -> None:
        """Have every new scene handed over; called in the engine thread."""
        self._listeners.append(listener)

    # --- opening and closing -----------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Load the records, execute the reference beside, run a recorded prediction to its end and evaluate it.

        An instance that a person worked on before comes back with all its steps and branches.
        """
        self.subject = self._load()
        self.wheel = "recording" if self.subject.prediction is not None else "human"
        self.reference_shown = bool(self.subject.run)
        self._opening = True
        await self._show(force=True)
        try:
            await self._open_timeline()
            await self._execute_truth()
            if self._timeline is not None:
                if self.wheel == "recording" and not self._restored:
                    await self.run_to_end()
                if self._timeline.finished:
                    await self.evaluate()
        finally:
            self._opening = False
            self._working = ""
            await self._show(force=True)

    async def close(self, at: int | None = None) -> None:
        """End the live sessions; ``at`` is where the person looked last."""
        if self._timeline is None:
            return
        timeline, self._timeline = self._timeline, None
        if at is not None and timeline.keeper is not None and timeline.keeper.ref is not None:
            timeline.go_to(at)
            with contextlib.suppress(StoreError):
                await timeline.save_place()
        await timeline.close()

    @property
    def instance(self) -> Instance:
        assert self.subject is not None, "the session is open"
        return self.subject.instance

    async def _open_timeline(self) -> None:
        from sessions.checks import standard_checks
        from sessions.store import NewSession, SessionRef
        from sessions.timeline import Timeline

        assert self.subject is not None
        try:
            environment = self.world.environments.serving(self.instance)
        except EnvironmentFailure as error:
            self._problem = str(error)
            return
        dataset, run = self.world.dataset_fingerprint, self.world.run_fingerprint(self.subject.run)
        store = self.world.keeping.ready()
        stored = None
        if store is not None:
            try:
                await self.world.read_flags()
                stored = await self.world.keeping.last_session(dataset, self.instance.uuid, run)
            except StoreError as error:
                self._store_problem = str(error)
                store = None
        new = NewSession(
            instance=self.instance,
            title=self.instance.query[:200],
            dataset=dataset,
            dataset_path=str(self.world.wiring.data_path),
            run=self.subject.run,
            run_fingerprint=run,
            environment=environment.name,
        )
        timeline = Timeline(
            self.instance,
            environment,
            self._driver(),
            store=store,
            new=new,
            tree=stored.tree if stored is not None else None,
            ref=SessionRef(id=stored.summary.id, key=stored.summary.key) if stored is not None else None,
            listeners=(self._step_event,),
            checks=standard_checks(self.instance),
        )
        try:
            self._breakpoints = await self.world.breakpoints()
        except StoreError as error:
            self._store_problem = str(error)
        timeline.breakpoints = list(self._breakpoints)
        self._store_problem = self._store_problem or self.world.keeping.problem
        if stored is not None and stored.tree.branch(0).length:
            self._restored = True
            newest = len(stored.tree.branches) - 1
            timeline.go_to(stored.tree.branch(newest).length, newest)
            steps = timeline.steps
            if any(step.actor == "human" for step in steps):
                self.wheel = "human"
                timeline.hand_over(self._driver())
        try:
            await timeline.tools()
        except EnvironmentFailure as error:
            self._problem = str(error)
            await timeline.close()
            return
        self._timeline = timeline

    def _step_event(self, event: StepEvent) -> None:
        if event.moment == "unsaved":
            self._store_problem = event.detail
        if event.moment == "observed" and self._working == RUNNING and self._showing is None:
            self._showing = asyncio.create_task(self._show_running())

    async def _show_running(self) -> None:
        """A scene between two steps of a run that is awaited as a whole."""
        try:
            await self._show()
        finally:
            self._showing = None

    def _driver(self) -> Driver:
        from sessions.drivers import GroundTruthDriver, HumanDriver, RecordingDriver

        assert self.subject is not None
        if self.wheel == "agent":
            return self.world.agent.driver(self.instance)
        if self.wheel == "ground_truth" and self.instance.ground_truth is not None:
            return GroundTruthDriver(self.instance)
        if self.wheel == "recording" and self.subject.prediction is not None:
            return RecordingDriver(self.subject.prediction)
        return HumanDriver()

    async def _execute_truth(self) -> None:
        if self.instance.ground_truth is None or self._timeline is None:
            self._truth_problem = self._problem
            return
        from vakra_tui.state.analysis import truth_of

        self._working = "executing the reference path"
        await self._show(force=True)
        try:
            self._truth = await self.world.truth(self.instance)
            self._timeline.reference = self._truth.executed.trajectory.steps
            self._analysis = truth_of(self.instance, self._truth.executed)
        except (EnvironmentFailure, DataError) as error:
            self._truth_problem = str(error)
        self._working = ""

    # --- verbs -------------------------------------------------------------------------------------------------------

    async def step(self) -> None:
        """The next step by whoever is at the wheel."""
        timeline = self._ready()
        self._pause = None
        if timeline.finished:
            return
        if self.wheel == "human":
            raise DataError("You are at the wheel: n calls a tool, a answers, x declines, w hands the wheel over.")
        await timeline.step()
        await self._keep_requests(timeline)
        await self._show(force=True)

    async def run_to_end(self) -> None:
        """All steps to the end, shown as they come."""
        await self.run_to(1_000_000)

    async def resume(self, at: int, stopped: bool) -> None:
        """To the next breakpoint after the first ``at`` steps, else to the end; the scene's ``pause`` says where.

        ``stopped``: a breakpoint before the step ahead has stopped there already.
        """
        timeline = self._ready()
        timeline.go_to(at)
        self._working = RUNNING
        try:
            if self.wheel == "human":
                self._pause = await timeline.seek(stopped=stopped)
            else:
                self._pause = await timeline.resume(stopped=stopped)
        finally:
            self._working = ""
            timeline.go_to(timeline.branch.length)
            await self._show(force=True)

    async def set_breakpoints(self, breakpoints: tuple[Breakpoint, ...]) -> None:
        """Set all breakpoints. Raises ``StoreError`` where they cannot be kept; they hold all the same."""
        self._ready().breakpoints = list(breakpoints)
        self._breakpoints = breakpoints
        await self._show(force=True)
        await self.world.keep_breakpoints(breakpoints)

    async def completions(self) -> tuple[tuple[str, ...], tuple[StepView, ...]]:
        """Names of tools, and the steps as filters see them: what completes a breakpoint."""
        from sessions.filters.steps import views

        timeline = self._ready()
        tools = await timeline.tools()
        called = {row.tool for row in self.scene.rows if row.call is not None} if self.scene is not None else set()
        names = tuple(sorted({tool.name for tool in tools} | called))
        return names, tuple(views(timeline.trajectory, tools, timeline.reference))

    async def _keep_requests(self, timeline: Timeline) -> None:
        """What the agent asked its model, kept beside the steps that it led to; each request once."""
        import msgspec

        asked: list[RequestRecord] = getattr(timeline.driver, "requests", [])
        keeper = timeline.keeper
        if not isinstance(asked, list) or not asked or keeper is None or keeper.ref is None:
            return
        store = self.world.keeping.ready()
        if store is None:
            return
        try:
            while asked:
                record = msgspec.structs.replace(asked[0], branch=timeline.cursor.branch)
                await store.put_request(keeper.ref.id, record)
                asked.pop(0)
        except StoreError as error:
            self._store_problem = str(error)

    async def run_to(self, steps: int) -> None:
        """Steps until ``steps`` of them were made, or to the end."""
        timeline = self._ready()
        self._pause = None
        if self.wheel == "human" and not timeline.finished:
            raise DataError("You are at the wheel: w hands it to the recording or the ground truth, which can run.")
        self._working = RUNNING
        try:
            while not timeline.finished and timeline.branch.length < steps:
                await timeline.step()
                await self._keep_requests(timeline)
                await self._show()
        finally:
            self._working = ""
            await self._show(force=True)

    async def evaluate(self) -> None:
        """Score the present branch: the waterfall on what was executed so far."""
        assert self.subject is not None
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

    async def _keep_verdict(self, branch: int, steps: int, verdict: Verdict) -> None:
        """Beside the steps in the store, for the list of sessions; a store that refuses stops nobody."""
        store = self.world.keeping.ready()
        timeline = self._timeline
        if (
            store is None
            or store.read_only
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
            profile="paper",
            judge=self.world.judge_kind,
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
        if timeline is None or not timeline.finished:
            return False
        return all(step.actor in ("recording", "stepper") for step in timeline.steps)

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
                await timeline.decide(step.decision, "ground_truth")
        await self.evaluate()

    async def hint(self) -> None:
        """Show one more hop of the reference path."""
        if self.instance.ground_truth is None:
            raise DataError("This instance has no ground truth, so there is nothing to hint at.")
        self.hints += 1
        await self._show(force=True)

    async def toggle_reference(self) -> None:
        """Show the whole reference path, or hide it from somebody who wants to play."""
        self.reference_shown = not self.reference_shown
        self.hints = 0
        await self._show(force=True)

    @property
    def agent_name(self) -> str | None:
        """The agent that the command line names, or None."""
        return self.world.agent_name

    async def take_wheel(self, wheel: Wheel, at: int) -> None:
        """Hand the wheel over at a place; what was done so far stays, in the past a branch is opened there."""
        assert self.subject is not None
        if wheel == "recording" and self.subject.prediction is None:
            raise DataError("There is no recorded prediction of this instance to follow.")
        if wheel == "ground_truth" and self.instance.ground_truth is None:
            raise DataError("This instance has no ground truth to follow.")
        if wheel == "agent" and self.agent_name is None:
            raise DataError("No agent is named; start with --agent NAME to hand it the wheel.")
        timeline = self._ready()
        self._pause = None
        self.wheel = wheel
        timeline.hand_over(self._driver())
        if at < timeline.branch.length or timeline.finished:
            await timeline.fork(self._before_the_end(at), name=f"{wheel.replace('_', ' ')} from {at}")
        if wheel == "human":
            await self._make_opening()
        await self._show(force=True)

    def _before_the_end(self, at: int) -> int:
        """A place from which one can go on: never behind the final answer."""
        timeline = self._ready()
        return min(at, timeline.branch.length - 1) if timeline.finished else at

    async def play(self, decision: Decision, at: int) -> None:
        """A person's decision becomes the step after the first ``at`` ones; in the past on a branch of its own."""
        timeline = self._ready()
        self._pause = None
        self.wheel = "human"
        timeline.hand_over(self._driver())
        if at < timeline.branch.length or timeline.finished:
            await timeline.fork(self._before_the_end(at))
        await self._make_opening()
        await timeline.decide(decision, "human")
        await self._show(force=True)

    async def edit(self, number: int, call: ToolCall) -> None:
        """Make step ``number`` (from 1, the opening counts) another call, on a branch of its own."""
        timeline = self._ready()
        self._pause = None
        self.wheel = "human"
        timeline.hand_over(self._driver())
        await timeline.edit(number, call)
        await self._show(force=True)

    async def _make_opening(self) -> None:
        """The opening of a capability-1 instance comes before whatever a person does first."""
        timeline = self._ready()
        if self.instance.capability != 1 or timeline.branch.length:
            return
        proposal = await timeline.propose()
        if proposal is not None and proposal.actor == "stepper":
            await timeline.step()
            await self._show(force=True)

    async def branches(self) -> tuple[tuple[int, str, int], ...]:
        """(number, name, steps) of every branch."""
        tree = self._ready().tree
        return tuple((branch.number, branch.name, branch.length) for branch in tree.branches)

    async def look_at(self, branch: int) -> None:
        """Look at another branch."""
        timeline = self._ready()
        self._pause = None
        timeline.go_to(timeline.tree.branch(branch).length, branch)
        await self._show(force=True)

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

    async def tools(self) -> tuple[ToolSpec, ...]:
        """The tools on offer now; for capability 1 those after the opening."""
        timeline = self._ready()
        if timeline.branch.length == 0:
            await self._make_opening()
        return await timeline.tools()

    async def scratch(self, call: ToolCall, at: int) -> ToolResult:
        """Call a tool in the state after ``at`` steps: an answer, and no trace in the trajectory."""
        timeline = self._ready()
        tip = timeline.cursor.at
        timeline.go_to(min(at, tip))
        try:
            return (await timeline.scratch(call)).result
        finally:
            timeline.go_to(tip)

    async def flag(self, note: str) -> None:
        """Keep or take away the flag on this instance's ground truth."""
        await self.world.keep_flag(self.instance.uuid, note)
        await self._show(force=True)

    async def export(self, kind: ExportKind, folder: str) -> str:
        """Write the present branch below ``folder``; gives the file's path."""
        from vakra_tui.state.export import export

        timeline = self._ready()
        return str(export(kind, folder, timeline.tree.trajectory(timeline.cursor.branch)))

    def handles(self) -> tuple[tuple[str, str], ...]:
        """(handle, which step made it) of every table of the session, newest first."""
        found = []
        for row in self.scene.rows if self.scene is not None else ():
            if row.step is not None and row.step.result is not None and row.step.result.handle:
                where = "the opening" if row.number == 0 else f"step {row.number} {row.tool}"
                found.append((row.step.result.handle, where))
        return tuple(reversed(found))

    def _ready(self) -> Timeline:
        if self._timeline is None:
            raise DataError(self._problem or "The session is not open yet.")
        return self._timeline

    # --- the scene ---------------------------------------------------------------------------------------------------

    async def _show(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if not force and now - self._last_shown < SHOW_EVERY_S:
            return
        if self._timeline is not None:
            try:
                self._executed = await self._timeline.executed()
            except EnvironmentFailure as error:
                self._problem = str(error)
                self._executed = ExecutedTrajectory(trajectory=self._timeline.trajectory, tables=())
        self.scene = self._build()
        self._last_shown = time.monotonic()
        for listener in self._listeners:
            listener(self.scene)

    def _build(self) -> Scene:
        from vakra_tui.state.build_scene import Frame, scene_of

        assert self.subject is not None
        timeline = self._timeline
        branch = timeline.cursor.branch if timeline is not None else 0
        length = timeline.branch.length if timeline is not None else 0
        steps, verdict = self._verdicts.get(branch, (0, None))
        frame = Frame(
            truth_problem=self._truth_problem,
            verdict=verdict,
            stale=verdict is not None and steps != length,
            working=self._working or ("opening" if self._opening else ""),
            problem=self._problem,
            wheel=self.wheel,
            hints=self.hints,
            reference_shown=self.reference_shown,
            flagged=self.world.flag_of(self.instance.uuid),
            environment=self.world.environment_name,
            judge=self.world.judge_kind,
            branch=timeline.branch.name if timeline is not None and branch else "",
            branches=len(timeline.tree.branches) if timeline is not None else 1,
            forks=forks_of(timeline),
            drifted=drifted(timeline),
            store_problem=self._store_problem,
            breakpoints=self._breakpoints,
            pause=self._pause,
            profile=self.world.profile,
            listed=self.entry.verdicts.get(self.subject.run) if self.entry is not None else None,
        )
        return scene_of(self.subject, self._analyse(branch, length), frame)

    def _analyse(self, branch: int, length: int) -> Analysed:
        """The analysis of the present state: kept until something changes, and a quick one while steps run."""
        from vakra_tui.state.build_scene import analysed

        assert self.subject is not None
        quick = self._working == RUNNING
        key = (branch, length, self._analysis is not None, self.wheel == "recording", self._executed is not None)
        if self._analysed is not None and self._analysed[0] == key:
            return self._analysed[1]
        part = analysed(
            self.subject,
            self._executed,
            self._analysis,
            self._truth.tools if self._truth is not None else (),
            pending=self.wheel == "recording",
            quick=quick,
        )
        if not quick:
            self._analysed = (key, part)
        return part


def forks_of(timeline: Timeline | None) -> dict[int, tuple[str, ...]]:
    """Names of the branches that leave the present one, by how many steps they share with it."""
    forks: dict[int, tuple[str, ...]] = {}
    if timeline is not None:
        for other in timeline.tree.branches:
            if other.parent == timeline.cursor.branch:
                forks[other.fork_at] = (*forks.get(other.fork_at, ()), other.name)
    return forks


def drifted(timeline: Timeline | None) -> frozenset[int]:
    """Indexes of the steps of the present branch that came out differently when they were replayed."""
    if timeline is None:
        return frozenset()
    return frozenset(index for index, drift in enumerate(timeline.branch.replayed) if drift.outcome == "drifted")


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
