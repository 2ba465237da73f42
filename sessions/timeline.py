"""One person's way through one instance: a tree of branches, a cursor, and whoever decides the next step."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from sessions.branches import Branch, Cursor, Drift, Tree, as_prediction
from sessions.breakpoints import Breakpoint, Pause, hit_after, hit_before
from sessions.calling import call_in_time, refused
from sessions.checks import Checker, tool_named
from sessions.comparison import Pair
from sessions.driver import Driver
from sessions.events import Listener, StepEvent
from sessions.execution import opening_call
from sessions.keeper import Keeper, SessionStore
from sessions.live import LiveSessions
from sessions.proposal import Proposal
from sessions.stepper import Stepper
from sessions.store.records import NewSession, SessionRef
from sessions.trajectory import Actor, CallTool, Decision, ExecutedTrajectory, Step, Trajectory
from toolenv.environment import TableView, ToolEnvironment, ToolSession
from toolenv.errors import EnvironmentFailure
from toolenv.exchange import WireExchange, kept_by
from toolenv.model import Instance, Json, Prediction, ToolCall, ToolResult, ToolSpec, Value


class ScratchResult(Value, frozen=True):
    """What a scratch call gave; it is no part of any trajectory."""

    result: ToolResult
    table: TableView | None = None


class Timeline:
    """The debugger without a screen.

    History is append-only and the cursor moves in it: ``back`` and ``go_to`` change nothing, ``step`` walks forward
    through what is there and takes a new step at the tip. A decision in the past opens a branch. Every new step is
    kept in the store before listeners see it; a store that refuses is told to the listeners (``unsaved``) and does not
    stop anybody.

    Calls without an answer (deadline, cancelled, environment) become failed steps that say so. ``listeners`` are told
    of every moment of new steps; ``reference`` are the steps of the executed ground truth, for the breakpoint on the
    first divergence. Verbs must not overlap; a running one can be cancelled at any time.
    """

    def __init__(
        self,
        instance: Instance,
        environment: ToolEnvironment,
        driver: Driver,
        *,
        store: SessionStore | None = None,
        new: NewSession | None = None,
        tree: Tree | None = None,
        ref: SessionRef | None = None,
        cursor: Cursor | None = None,
        listeners: Sequence[Listener] = (),
        checks: Sequence[Checker] = (),
        breakpoints: Sequence[Breakpoint] = (),
        blocking: frozenset[str] = frozenset(),
        reference: Sequence[Step] = (),
        deadline_s: float | None = None,
        offload: bool = False,
    ) -> None:
        self.instance = instance
        self.driver = driver
        self.tree = tree or Tree(instance=instance)
        self.cursor = cursor or Cursor(branch=0, at=0)
        self.listeners = list(listeners)
        self.checks = tuple(checks)
        self.breakpoints = list(breakpoints)
        self.blocking = blocking
        self.reference = tuple(reference)
        self.deadline_s = deadline_s
        self.offload = offload
        self.pause: Pause | None = None
        self.live = LiveSessions(environment, instance, deadline_s=deadline_s)
        new = new or NewSession(instance=instance, environment=environment.name)
        self.keeper = Keeper(store, new, lambda: self.tree, ref) if store is not None else None
        self._steppers: dict[int, Stepper] = {}

    # Looking.

    @property
    def branch(self) -> Branch:
        return self.tree.branch(self.cursor.branch)

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps of the branch that is looked at, those ahead of the cursor included."""
        return self.tree.steps(self.cursor.branch)

    @property
    def trajectory(self) -> Trajectory:
        """What lies behind the cursor."""
        return self.tree.trajectory(self.cursor.branch, self.cursor.at)

    @property
    def at_tip(self) -> bool:
        return self.cursor.at == self.branch.length

    @property
    def finished(self) -> bool:
        """Whether the branch has its answer."""
        return self.tree.trajectory(self.cursor.branch).finished

    @property
    def proposal(self) -> Proposal | None:
        """What is proposed at the tip of this branch and not carried out yet."""
        stepper = self._steppers.get(self.cursor.branch)
        return stepper.proposal if stepper is not None else None

    def back(self) -> bool:
        """One step back; False at the beginning."""
        return self.go_to(self.cursor.at - 1)

    def go_to(self, at: int, branch: int | None = None) -> bool:
        """Look at the place after ``at`` steps; False where there is none."""
        number = self.cursor.branch if branch is None else branch
        if not 0 <= number < len(self.tree.branches) or not 0 <= at <= self.tree.branch(number).length:
            return False
        self.cursor = Cursor(branch=number, at=at)
        self.pause = None
        return True

    async def tools(self) -> tuple[ToolSpec, ...]:
        """What is offered at the tip of this branch."""
        return await (await self._stepper(self.cursor.branch)).tools()

    # Going on.

    async def propose(self) -> Proposal | None:
        """What the driver would do at the tip, checked and not run; None in the past and at the end."""
        if not self.at_tip or self.finished:
            return None
        return await (await self._stepper(self.cursor.branch)).propose()

    async def step(self) -> Step | None:
        """One step forward: into what is there, or a new one at the tip. None at the end, or where a check blocks."""
        self.pause = None
        if not self.at_tip:
            self.cursor = msgspec.structs.replace(self.cursor, at=self.cursor.at + 1)
            return self.steps[self.cursor.at - 1]
        if self.finished:
            return None
        stepper = await self._stepper(self.cursor.branch)
        step = await stepper.advance()
        self.pause = stepper.pause
        return step

    async def advance(self, seconds: float, steps: int) -> None:
        """On for about so long and by at most so many new steps from the tip, whatever the breakpoints.

        They are kept together. Nothing happens in the past and at the end.
        """
        self.pause = None
        if self.at_tip and not self.finished:
            stepper = await self._stepper(self.cursor.branch)
            await stepper.advance_for(seconds, steps)
            self.pause = stepper.pause

    async def seek(self, *, stopped: bool = True) -> Pause | None:
        """On through history to its next breakpoint; None at its end.

        ``stopped`` says that a breakpoint before the step ahead, if there is one, has stopped already.
        """
        at, self.pause = await self._next_pause(stopped)
        self.cursor = msgspec.structs.replace(self.cursor, at=at)
        return self.pause

    async def resume(self, *, stopped: bool = True) -> Pause | None:
        """On to the next breakpoint, through history (see ``seek``) and beyond it; None at the end."""
        await self.seek(stopped=stopped)
        if self.pause is None and not self.finished:
            stepper = await self._stepper(self.cursor.branch)
            self.pause = await stepper.resume()
        return self.pause

    async def run(self) -> None:
        """To the end of the branch, whatever the breakpoints."""
        self.pause = None
        self.go_to(self.branch.length)
        if not self.finished:
            await (await self._stepper(self.cursor.branch)).run()

    async def _next_pause(self, stopped: bool) -> tuple[int, Pause | None]:
        """Where history stops next, and why; its end and None where nothing in it stops."""
        whole = self.tree.trajectory(self.cursor.branch)
        place = whole, self.cursor.at, stopped, tuple(self.breakpoints), self.reference
        return await asyncio.to_thread(_next_pause, *place) if self.offload else _next_pause(*place)

    # Deciding otherwise.

    def hand_over(self, driver: Driver) -> None:
        """Let another driver decide from here on; what was proposed is forgotten."""
        self.driver = driver
        for stepper in self._steppers.values():
            stepper.driver = driver
            stepper.withdraw()

    async def decide(self, decision: Decision, actor: Actor = "human") -> Step | None:
        """Take this decision at the cursor: on this branch at its open tip, on a new one in the past."""
        if not self.at_tip or self.finished:
            await self.fork()
        stepper = await self._stepper(self.cursor.branch)
        await stepper.replace(decision, actor)
        step = await stepper.advance()
        self.pause = stepper.pause
        return step

    async def edit(self, number: int, call: ToolCall, actor: Actor = "human") -> Step | None:
        """Make step ``number`` (from 1) another call, on a branch of its own, and carry it out."""
        await self.fork(number - 1)
        return await self.decide(CallTool(call=call), actor)

    async def ask_again(self) -> Step | None:
        """Have the driver decide once more from the cursor, on a branch of its own."""
        await self.fork()
        return await self.step()

    async def fork(self, at: int | None = None, name: str = "") -> int:
        """Open a branch after the first ``at`` steps (the cursor's) and look at its tip; gives its number.

        Nothing can follow a final answer, so a fork behind one opens before it.
        Its session is a copy where that is cheap, else a replay whose marks are the branch's ``replayed``. Raises
        ``EnvironmentFailure``, nothing changed, when it cannot be brought there.
        """
        at = self.cursor.at if at is None else at
        parent = self.cursor.branch
        if at > 0 and self.tree.trajectory(parent, at).finished:
            at -= 1
        found = await self.live.at(self.tree, parent, at)
        self.tree, number = self.tree.forked(parent, at, name, found.drifts)
        self._steppers[number] = self._made_stepper(number, found.session, found.tables)
        self.cursor = Cursor(branch=number, at=at)
        self.pause = None
        return number

    def promote(self, branch: int | None = None) -> None:
        """Make a branch (the one looked at) the one that is exported."""
        self.tree = self.tree.promote(self.cursor.branch if branch is None else branch)

    def prediction(self) -> Prediction:
        """The promoted branch (else the first) as a record of a run."""
        return as_prediction(self.tree.trajectory(self.tree.exported))

    def compared(self, left: int, right: int) -> list[Pair]:
        """Two branches side by side."""
        return self.tree.compared(left, right)

    async def scratch(self, call: ToolCall) -> ScratchResult:
        """Call a tool in the state at the cursor, on a session of its own that is closed afterwards."""
        refusal = refused(call)
        if refusal is not None:
            return ScratchResult(result=refusal)
        from toolenv.schema import coerce

        found = await self.live.at(self.tree, self.cursor.branch, self.cursor.at)
        try:
            spec = tool_named(await found.session.list_tools(), call.name, self.instance.domain)
            arguments = call.arguments if spec is None else coerce(spec, call.arguments)[0]
            result, table = await call_in_time(
                found.session, call.name, arguments, deadline_s=self.deadline_s, where="Scratch call"
            )
        finally:
            await self.live.release(found.session)
        return ScratchResult(result=result, table=table)

    # What gates and stores see.

    async def executed(self) -> ExecutedTrajectory:
        """What lies behind the cursor, with the tables behind its handles; replayed where they are not at hand."""
        tables = (await self._stepper(self.cursor.branch)).executed.tables[: self.cursor.at]
        return ExecutedTrajectory(trajectory=self.trajectory, tables=tables)

    async def exchange(self, number: int) -> WireExchange | None:
        """What went over the wire for step ``number`` (from 1) of this branch.

        None where it is not kept any more, or nothing was sent for it. Raises ``EnvironmentFailure`` with a sentence
        where this environment sends nothing anywhere.
        """
        kept = kept_by((await self._stepper(self.cursor.branch)).session)
        if kept is None:
            kind = self.live.environment.kind
            raise EnvironmentFailure(
                _NO_WIRE.get(kind, f"The environment {self.live.environment.name} keeps no messages.")
            )
        position = places_of(self.steps, kept.calls).get(number - 1)
        return kept.exchange(position) if position is not None else None

    async def save_place(self) -> None:
        """Keep cursor and promoted branch. Raises ``StoreError``."""
        if self.keeper is not None:
            await self.keeper.place(self.cursor)

    async def close(self) -> None:
        """Offer the store what it does not hold yet, and close every session."""
        for stepper in self._steppers.values():
            await stepper.flush()
        self._steppers = {}
        await self.live.close()

    async def _stepper(self, branch: int) -> Stepper:
        stepper = self._steppers.get(branch)
        if stepper is None:
            found = await self.live.at(self.tree, branch, self.tree.branch(branch).length)
            self._note_drift(branch, found.drifts)
            stepper = self._steppers[branch] = self._made_stepper(branch, found.session, found.tables)
        stepper.breakpoints = self.breakpoints
        stepper.blocking = self.blocking
        stepper.reference = self.reference
        return stepper

    def _note_drift(self, branch: int, drifts: tuple[Drift, ...]) -> None:
        """Replaying a stored branch says how its steps compare; kept beside the branch, its steps stay."""
        if drifts:
            changed = msgspec.structs.replace(self.tree.branch(branch), replayed=drifts)
            branches = (*self.tree.branches[:branch], changed, *self.tree.branches[branch + 1 :])
            self.tree = msgspec.structs.replace(self.tree, branches=branches)

    def _made_stepper(self, branch: int, session: ToolSession, tables: Sequence[TableView | None]) -> Stepper:
        async def after_step() -> None:
            done = stepper.executed
            await self.live.keep(self.tree, branch, len(done.trajectory.steps), session, done.tables)

        def told(event: StepEvent) -> None:
            if event.moment == "observed" and event.step is not None:
                self.tree = self.tree.appended(branch, event.step)
                self.cursor = Cursor(branch=branch, at=self.tree.branch(branch).length)
            for listener in self.listeners:
                listener(event)

        stepper = Stepper(
            self.tree.trajectory(branch),
            session,
            self.driver,
            listeners=(told,),
            store=self.keeper.sink(branch) if self.keeper is not None else None,
            opening=opening_call(self.instance),
            deadline_s=self.deadline_s,
            checks=self.checks,
            breakpoints=self.breakpoints,
            blocking=self.blocking,
            reference=self.reference,
            on_failure="record",
            offload=self.offload,
            tables=tables,
            after_step=after_step,
        )
        return stepper


_NO_WIRE = {
    "native": "The native environment calls its tools inside this program: nothing goes over a wire.",
    "recorded": "Answers come from a recording: nothing goes over a wire, and a recording holds no raw messages.",
}


def places_of(steps: Sequence[Step], calls: Sequence[tuple[str, Mapping[str, Json]]]) -> dict[int, int]:
    """Index of a step -> which call of its session (from 1) it was; steps that were not sent are left out."""
    found: dict[int, int] = {}
    made = 0
    for index, step in enumerate(steps):
        if not isinstance(step.decision, CallTool) or made == len(calls):
            continue
        call = step.decision.call
        arguments = call.arguments if step.executed_arguments is None else step.executed_arguments
        if calls[made] == (call.name, dict(arguments)):
            made += 1
            found[index] = made
    return found


def _next_pause(
    trajectory: Trajectory, started: int, stopped: bool, breakpoints: Sequence[Breakpoint], reference: Sequence[Step]
) -> tuple[int, Pause | None]:
    """The next place after the first ``started`` steps at which a breakpoint stops; the end and None without one."""
    for at in range(started, len(trajectory.steps)):
        before = Trajectory(instance=trajectory.instance, steps=trajectory.steps[:at])
        step = trajectory.steps[at]
        if (at > started or not stopped) and (reason := hit_before(breakpoints, before, step, reference, ())):
            return at, Pause(number=at + 1, before=True, reason=reason)
        if reason := hit_after(breakpoints, before.appended(step), reference, ()):
            return at + 1, Pause(number=at + 1, before=False, reason=reason)
    return len(trajectory.steps), None
