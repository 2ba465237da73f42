"""What every group of a session's verbs stands on: the timeline, the turn of the verbs, the scene."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from eval.model import Verdict
from sessions.trajectory import ExecutedTrajectory
from toolenv.errors import DataError, EnvironmentFailure, VakraError
from toolenv.model import Instance, ToolSpec
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.live.stopping import T, Turns
from vakra_tui.state.remarks import Marking
from vakra_tui.state.scene import BranchRow, Scene

if TYPE_CHECKING:
    from eval.truths import Truth
    from sessions.branches import Tree
    from sessions.breakpoints import Breakpoint, Pause
    from sessions.dataflow import GroundTruthAnalysis
    from sessions.driver import Driver
    from sessions.drivers.recording import Recording
    from sessions.store.records import RequestRecord
    from sessions.timeline import Timeline
    from vakra_tui.state.build_scene import Analysed
    from vakra_tui.state.listing import Entry
    from vakra_tui.state.running import Running
    from vakra_tui.state.subject import Subject
    from vakra_tui.state.world import World

Wheel = Literal["recording", "human", "ground_truth", "agent"]

RUNNING = "running"


def yours_to_decide() -> str:
    """That nobody else makes the next step, and what a person can do."""
    calls, answers = key("debugger.call-a-tool"), key("debugger.answer")
    declines, hands = key("debugger.decline"), key("debugger.wheel")
    return (
        f"You are at the wheel: {calls} calls a tool, {answers} answers, {declines} declines, "
        f"{hands} hands the wheel over."
    )


AT_THE_WHEEL = "You are at the wheel: {} hands it to the recording or the ground truth, which can run."
"""Why nothing runs; ``{}`` is the key that hands the wheel over."""

SHOW_EVERY_S = 0.25
"""Shortest time between two scenes while many steps run."""

SHOW_SHARE = 8
"""A scene of a long session takes a while to make: at least so many times that lies between two of them."""


class SessionBase(Turns):
    """What every group of a session's verbs stands on: the timeline, the turn of the verbs, the scene."""

    def __init__(self, world: World, load: Callable[[], Subject], entry: Entry | None = None) -> None:
        super().__init__()
        self.world = world
        self.entry = entry
        self._load = load
        self._listeners: list[Callable[[Scene], None]] = []
        self.subject: Subject | None = None
        self.scene: Scene | None = None
        self.wheel: Wheel = "recording"
        self.left_out: int | None = None
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
        self._show_took = 0.0
        self._executed: ExecutedTrajectory | None = None
        self._restored = False
        self.left: int | None = None
        self.sought: tuple[int, int] | None = None
        """(branch, steps behind it) of the place that was asked for; None opens where the person left."""
        self._opening = False
        self._breakpoints: tuple[Breakpoint, ...] = ()
        self._pause: Pause | None = None
        self._marking = Marking()
        self._offered: tuple[ToolSpec, ...] = ()
        self._showing: asyncio.Task[None] | None = None
        self._analysed: tuple[tuple[object, ...], Analysed] | None = None
        self._following: Running | None = None
        self._replay_problem = ""

    def listen(self, listener: Callable[[Scene], None]) -> None:
        """Have every new scene handed over; called in the engine thread."""
        self._listeners.append(listener)

    @property
    def instance(self) -> Instance:
        assert self.subject is not None, "the session is open"
        return self.subject.instance

    def _ready(self) -> Timeline:
        if self._timeline is None:
            raise DataError(self._problem or "The session is not open yet.")
        return self._timeline

    def _driver(self) -> Driver:
        from sessions.drivers import GroundTruthDriver, HumanDriver, RecordingDriver

        assert self.subject is not None
        if self.wheel == "agent":
            return self.world.agent.driver(self.instance)
        if self.wheel == "ground_truth" and self.instance.ground_truth is not None:
            return GroundTruthDriver(self.instance)
        if (recording := self._recording) is not None:
            return RecordingDriver(recording.prediction, recording.left_out)
        return HumanDriver()

    @property
    def _recording(self) -> Recording | None:
        """The recording at the wheel, None where somebody else is."""
        from sessions.drivers.recording import Recording

        if self.wheel != "recording" or self.subject is None or self.subject.prediction is None:
            return None
        return Recording(prediction=self.subject.prediction, left_out=self.left_out)

    def _before_the_end(self, at: int) -> int:
        """A place from which one can go on: never behind the final answer."""
        timeline = self._ready()
        return min(at, timeline.branch.length - 1) if timeline.finished else at

    async def _make_opening(self) -> None:
        """The opening of a capability-1 instance comes before whatever a person does first."""
        timeline = self._ready()
        if self.instance.capability != 1 or timeline.branch.length:
            return
        proposal = await timeline.propose()
        if proposal is not None and proposal.actor == "stepper":
            await timeline.step()
            await self._show(force=True)

    def _hand_over(self, wheel: Wheel, left_out: int | None = None) -> None:
        """Give somebody the wheel, a recording with how many of its calls are left out (``Recording``).

        Raises ``VakraError`` where there is no such driver; the wheel stays as it was.
        """
        before = self.wheel, self.left_out
        self.wheel, self.left_out = wheel, left_out
        try:
            driver = self._driver()
        except VakraError:
            self.wheel, self.left_out = before
            raise
        self._ready().hand_over(driver)

    async def _keep_requests(self, timeline: Timeline) -> None:
        """What the agent asked its model, kept beside the steps that it led to; each request once."""
        raise NotImplementedError

    async def _requests(self, index: int) -> tuple[RequestRecord, ...]:
        """The agent's requests that led to step ``index`` of the present branch."""
        raise NotImplementedError

    async def in_turn(self, verb: Callable[..., Awaitable[T]], *arguments: object) -> T:
        """A verb in its turn; what it said of its work is gone from the scene also where it is stopped or fails."""
        try:
            return await super().in_turn(verb, *arguments)
        except VakraError:
            if self.scene is not None and self.scene.working != self._what_works():
                await self._show(force=True)
            raise

    def _due(self) -> bool:
        """Whether the last scene is so old that another one may be made while something runs."""
        return time.monotonic() - self._last_shown >= max(SHOW_EVERY_S, SHOW_SHARE * self._show_took)

    async def _show(self, *, force: bool = False) -> None:
        if not force and not self._due():
            return
        now = time.monotonic()
        if self._timeline is not None:
            try:
                self._executed = await self._timeline.executed()
                self._replay_problem = ""
            except EnvironmentFailure as error:
                self._replay_problem = str(error)
                self._executed = ExecutedTrajectory(trajectory=self._timeline.trajectory, tables=())
        self.scene = self._build()
        self._last_shown = time.monotonic()
        self._show_took = self._last_shown - now
        for listener in self._listeners:
            listener(self.scene)

    def _what_works(self) -> str:
        """What is being done, in words; empty where nothing is."""
        return self._working or ("opening" if self._opening else "")

    def _build(self) -> Scene:
        from vakra_tui.state.build_scene import Frame, scene_of

        assert self.subject is not None
        timeline = self._timeline
        branch = timeline.cursor.branch if timeline is not None else 0
        length = timeline.branch.length if timeline is not None else 0
        steps, verdict = self._verdicts.get(branch, (0, None))
        tree = timeline.tree if timeline is not None else None
        remarks = self._marking.known
        frame = Frame(
            truth_problem=self._truth_problem,
            verdict=verdict,
            stale=verdict is not None and steps != length,
            working=self._what_works(),
            stoppable=bool(self._working) and self.running,
            problem=self._problem or self._replay_problem,
            wheel=self.wheel,
            left_out=self.left_out,
            hints=self.hints,
            reference_shown=self.reference_shown,
            flagged=self.world.flag_of(self.instance.uuid),
            environment=self.world.environment_name,
            judge=self.world.judge_kind,
            branch=timeline.branch.name if timeline is not None and branch else "",
            branches=len(timeline.tree.branches) if timeline is not None else 1,
            forks=forks_of(timeline),
            drifted=drifted(timeline),
            marked=remarks.marks_on(tree, branch) if tree is not None else frozenset(),
            remarks=remarks.notes_on(tree, branch) if tree is not None else {},
            tree=branch_rows(tree, {number: found.passed for number, (_, found) in self._verdicts.items()}),
            on_branch=branch,
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
        executed, ahead = self._executed, self._recording
        recording = (ahead is not None, self.left_out)
        key = (branch, length, self._analysis is not None, recording, executed is not None, self._replay_problem)
        if self._analysed is not None and self._analysed[0] == key:
            return self._analysed[1]
        tools = self._truth.tools if self._truth is not None else self._offered
        if self._working == RUNNING and executed is not None:
            return self._followed(executed, tools, ahead)
        self._following = None
        part = analysed(self.subject, executed, self._analysis, tools, ahead=ahead)
        self._analysed = (key, part)
        return part

    def _followed(self, executed: ExecutedTrajectory, tools: Sequence[ToolSpec], ahead: Recording | None) -> Analysed:
        """What can be told of each step at once while steps are run."""
        from vakra_tui.state.running import Running

        assert self.subject is not None
        following = self._following
        about = (id(self._analysis), id(tools), ahead is not None, self.left_out if ahead is not None else None)
        if following is None or following.about != about or not following.goes_on(executed):
            following = self._following = Running(self.subject, self._analysis, tools, ahead=ahead)
        return following.analysed(executed)


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


def branch_rows(tree: Tree | None, passed: Mapping[int, bool | None]) -> tuple[BranchRow, ...]:
    """The branches of a tree as the list of steps draws them; ``passed`` are the outcomes of their verdicts."""
    return tuple(
        BranchRow(
            number=branch.number,
            name=branch.name,
            parent=branch.parent,
            fork_at=branch.fork_at,
            steps=branch.length,
            actor=branch.steps[-1].actor if branch.steps else "",
            passed=passed.get(branch.number),
            judged=branch.number in passed,
        )
        for branch in (tree.branches if tree is not None else ())
    )
