"""The one loop: ask the driver, check, run the tool, keep the step, tell the listeners.

A person's key press awaits one ``advance``; the batch awaits ``run``. The stepper does not know which driver it has,
nor who listens.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from typing import Literal, ParamSpec, TypeVar

from sessions.breakpoints import Breakpoint, Pause, hit_after, hit_before
from sessions.calling import call_in_time, failure_kind, no_answer, refused
from sessions.checks import Checker, tool_named
from sessions.driver import Driver
from sessions.drivers.recording import same_call
from sessions.events import Commit, Listener, Moment, State, StepEvent, StepSink
from sessions.proposal import Proposal
from sessions.together import Teller, uninterrupted
from sessions.trajectory import Actor, CallTool, Check, Decision, ExecutedTrajectory, Step, Trajectory
from toolenv.environment import TableView, ToolSession
from toolenv.errors import EnvironmentFailure, StoreError
from toolenv.model import Json, ToolCall, ToolResult, ToolSpec

P = ParamSpec("P")
T = TypeVar("T")

OnFailure = Literal["raise", "record"]
"""What a call without an answer becomes: an error for the caller, or a step that says so."""


class Stepper:
    """Carries a trajectory forward, one step at a time, over one live session.

    ``trajectory`` may already have steps (a branch that goes on); ``tables`` are then the tables behind their handles.
    ``opening`` is the call that opens the session and that nobody proposes; a driver that is known to begin with that
    very call makes it itself, and the step is marked as the opening all the same.

    ``commit`` says when ``store`` is given the steps: ``step``, each before it is shown; ``instance``, all of them when
    the trajectory ends or ``flush`` is called. Steps that nobody waits for one by one and that follow each other within
    a moment are given together. A store that refuses never stops the stepper: the steps stay in
    ``unsaved``, are offered again with the next one, and the listeners are told.

    ``deadline_s`` bounds each call. ``on_failure`` ``raise`` (the batch) lets a call without an answer end in
    ``EnvironmentFailure``, nothing appended; ``record`` (a person) makes it a failed step that says so, so that the
    history stays whole and the next step can be taken. A step is never carried out twice by itself.

    ``blocking`` names checks whose violation makes ``advance`` stop once before the call; none by default.
    ``after_step`` is awaited once a step is kept and before it is shown.
    ``offload`` makes checks and looks for breakpoints in a worker thread: the event loop of a screen must not wait.
    """

    def __init__(
        self,
        trajectory: Trajectory,
        session: ToolSession,
        driver: Driver,
        *,
        listeners: Sequence[Listener] = (),
        store: StepSink | None = None,
        commit: Commit = "step",
        coerce: bool = True,
        opening: ToolCall | None = None,
        deadline_s: float | None = None,
        checks: Sequence[Checker] = (),
        breakpoints: Sequence[Breakpoint] = (),
        blocking: frozenset[str] = frozenset(),
        reference: Sequence[Step] = (),
        on_failure: OnFailure = "raise",
        offload: bool = False,
        tables: Sequence[TableView | None] | None = None,
        after_step: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.trajectory = trajectory
        self.session = session
        self.driver = driver
        self._teller = Teller(listeners, self.flush)
        self.store = store
        self.commit: Commit = commit
        self.coerce = coerce
        self.opening = opening
        self.deadline_s = deadline_s
        self.checks = tuple(checks)
        self.breakpoints = list(breakpoints)
        self.blocking = blocking
        self.reference = tuple(reference)
        self.on_failure: OnFailure = on_failure
        self.offload = offload
        self.after_step = after_step
        self.state: State = "finished" if trajectory.finished else "idle"
        self.proposal: Proposal | None = None
        self.pause: Pause | None = None
        self._tables: list[TableView | None] = list(tables or [None] * len(trajectory.steps))
        self._kept = len(trajectory.steps)
        self._passed: Proposal | None = None
        self._decided: tuple[Actor, Decision] | None = None
        self._tools: tuple[ToolSpec, ...] | None = None
        self._changes = 0
        self._busy = False
        session.on_tools_changed(self._forget_tools)

    @property
    def listeners(self) -> list[Listener]:
        """Who is told of every moment."""
        return self._teller.listeners

    @property
    def executed(self) -> ExecutedTrajectory:
        """What has happened so far, with the tables behind the handles."""
        return ExecutedTrajectory(trajectory=self.trajectory, tables=tuple(self._tables))

    @property
    def unsaved(self) -> tuple[Step, ...]:
        """Steps that happened and that the store does not hold yet."""
        return self.trajectory.steps[self._kept :] if self.store is not None else ()

    @property
    def finished(self) -> bool:
        return self.trajectory.finished

    async def tools(self) -> tuple[ToolSpec, ...]:
        """What the session offers now; asked again only after the session said that it changed."""
        while self._tools is None:
            changes = self._changes
            listed = tuple(await self.session.list_tools())
            if changes == self._changes:
                self._tools = listed
        return self._tools

    async def propose(self) -> Proposal | None:
        """What the next step is going to be, checks made, nothing run; None when the trajectory is finished.

        Asking twice gives the same proposal: the driver is asked once a step.
        """
        if self.finished:
            return None
        if self.proposal is None:
            with self._at_work():
                await self._propose()
        return self.proposal

    async def replace(self, decision: Decision, actor: Actor) -> Proposal:
        """Put another decision in the place of the one proposed, and check that."""
        with self._at_work():
            await self._check(actor, decision)
        assert self.proposal is not None
        return self.proposal

    def withdraw(self) -> None:
        """Forget what is proposed; the driver is asked again next time."""
        self.proposal = None
        self._decided = None
        self.state = "finished" if self.finished else "idle"

    async def advance(self) -> Step | None:
        """Take one step. None when the trajectory is finished, or when a blocking check stops it (``pause``)."""
        if self.finished:
            return None
        with self._at_work():
            self.pause = None
            if self.proposal is None:
                await self._propose()
            proposal = self.proposal
            assert proposal is not None
            if proposal is not self._passed and (reason := proposal.blocked_by(self.blocking)) is not None:
                self._stop(Pause(number=self._number, before=True, reason=reason), proposal)
                return None
            return await self._carry_out(proposal)

    async def resume(self) -> Pause | None:
        """Go on to the next breakpoint or to the end; None at the end.

        A breakpoint that stops before a call leaves the proposal in place; the next ``advance`` or ``resume`` runs it.
        """
        async with self._together():
            return await self._resumed()

    async def _resumed(self) -> Pause | None:
        while not self.finished:
            proposal = await self.propose()
            assert proposal is not None
            if proposal is not self._passed:
                upcoming = proposal.as_step(opening=self._opens(proposal))
                reason = proposal.blocked_by(self.blocking) or await self._worked_out(
                    hit_before, self.breakpoints, self.trajectory, upcoming, self.reference, await self.tools()
                )
                if reason:
                    return self._stop(Pause(number=self._number, before=True, reason=reason), proposal)
                self._passed = proposal
            if await self.advance() is None:
                return self.pause
            reason = await self._worked_out(
                hit_after, self.breakpoints, self.trajectory, self.reference, await self.tools()
            )
            if reason:
                return self._stop(Pause(number=len(self.trajectory.steps), before=False, reason=reason), None)
        return None

    async def run(self) -> ExecutedTrajectory:
        """Take all steps to the end; breakpoints and blocking checks do not stop it."""
        async with self._together():
            while not self.finished:
                self._passed = await self.propose()
                await self.advance()
        await self.flush()
        return self.executed

    async def advance_for(self, seconds: float, steps: int) -> None:
        """Take steps for about so long and at most so many; breakpoints do not stop it."""
        started = time.monotonic()
        async with self._together():
            while steps > 0 and not self.finished:
                if await self.advance() is None or time.monotonic() - started >= seconds:
                    return
                steps -= 1

    def _together(self) -> AbstractAsyncContextManager[None]:
        """Steps that nobody waits for one by one may be kept together."""
        return self._teller.together() if self.store is not None and self.commit == "step" else nullcontext()

    async def flush(self) -> None:
        """Offer the store what it does not hold yet."""
        if self.store is None or self._kept == len(self.trajectory.steps):
            return
        start = self._kept
        steps = self.trajectory.steps[start:]
        try:
            await self.store.append(start, steps)
        except StoreError as error:
            self._tell("unsaved", steps[-1].actor, step=steps[-1], detail=str(error))
        else:
            self._kept = start + len(steps)

    @property
    def _number(self) -> int:
        return len(self.trajectory.steps) + 1

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """Guards against two steps at once, and puts the state back when a step does not come about."""
        if self._busy:
            raise RuntimeError("a stepper takes one step at a time")
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
            if self.state in ("proposed", "running"):
                self.state = "idle" if self.proposal is None else "checked"

    def _forget_tools(self) -> None:
        self._changes += 1
        self._tools = None

    def _opens(self, proposal: Proposal) -> bool:
        """Whether a proposal is the opening: the first call, or a driver's repetition of the stepper's own.

        Any later call of the same kind is a call like others; a recording that made it twice would never get on.
        """
        steps = self.trajectory.steps
        return (
            self.opening is not None
            and isinstance(proposal.decision, CallTool)
            and same_call(proposal.decision.call, self.opening)
            and (not steps or (len(steps) == 1 and steps[0].actor == "stepper"))
        )

    def _stop(self, pause: Pause, proposal: Proposal | None) -> Pause:
        self.pause = pause
        self._passed = proposal
        actor = proposal.actor if proposal is not None else self.trajectory.steps[-1].actor
        self._tell("paused", actor, decision=proposal.decision if proposal else None, detail=pause.reason)
        return pause

    def _tell(
        self,
        moment: Moment,
        actor: Actor,
        *,
        decision: Decision | None = None,
        checks: tuple[Check, ...] = (),
        step: Step | None = None,
        detail: str = "",
    ) -> None:
        number = len(self.trajectory.steps) if step is not None else self._number
        event = StepEvent(
            moment=moment, number=number, actor=actor, decision=decision, checks=checks, step=step, detail=detail
        )
        self._teller.tell(event)

    async def _propose(self) -> None:
        if self.opening is not None and not self.trajectory.steps and not self._driver_opens():
            await self._check("stepper", CallTool(call=self.opening))
            return
        tools = await self.tools()
        if self._decided is None:
            # Kept until its checks are made: a decision may have been paid for, and no interruption may lose it.
            actor = self.driver.actor
            self._decided = actor, await self._teller.beside(self.driver.next(self.trajectory, tools))
        actor, decision = self._decided
        await self._check(actor, decision)

    def _driver_opens(self) -> bool:
        first: ToolCall | None = getattr(self.driver, "first_call", None)
        return self.opening is not None and first is not None and same_call(first, self.opening)

    async def _check(self, actor: Actor, decision: Decision) -> None:
        self.state = "proposed"
        self._tell("proposed", actor, decision=decision)
        checks: tuple[Check, ...] = ()
        arguments: Mapping[str, Json] | None = None
        if isinstance(decision, CallTool):
            call = decision.call
            if self.coerce and call.raw_arguments is None and actor != "stepper":
                arguments = self._coerced(call, await self.tools())
            if self.checks and actor != "stepper":
                checks = await self._made_checks(call)
        self._decided = None
        self.proposal = Proposal(actor=actor, decision=decision, checks=checks, arguments=arguments)
        self.state = "checked"
        self._tell("checked", actor, decision=decision, checks=checks)

    def _coerced(self, call: ToolCall, tools: Sequence[ToolSpec]) -> Mapping[str, Json] | None:
        from toolenv.schema import coerce

        spec = tool_named(tools, call.name, self.trajectory.instance.domain)
        if spec is None:
            return None
        arguments, changed = coerce(spec, call.arguments)
        return arguments if changed else None

    async def _made_checks(self, call: ToolCall) -> tuple[Check, ...]:
        tools = await self.tools()
        trajectory = self.trajectory

        def made() -> tuple[Check, ...]:
            return tuple(check(trajectory, call, tools) for check in self.checks)

        return await self._worked_out(made)

    async def _worked_out(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What a pure function gives, worked out beside the event loop where that was asked for."""
        if self.offload:
            return await asyncio.to_thread(work, *args, **kwargs)
        return work(*args, **kwargs)

    async def _carry_out(self, proposal: Proposal) -> Step:
        result: ToolResult | None = None
        table: TableView | None = None
        if isinstance(proposal.decision, CallTool):
            self.state = "running"
            self._tell("running", proposal.actor, decision=proposal.decision, checks=proposal.checks)
            started = time.perf_counter()
            try:
                result, table = await self._teller.beside(self._call(proposal.decision.call, proposal.arguments))
            except asyncio.CancelledError:
                elapsed = time.perf_counter() - started
                detail = f"{self._named(proposal)} was cancelled after {elapsed:.1f} s; it gave no answer."
                self._tell("cancelled", proposal.actor, decision=proposal.decision, detail=detail)
                if self.on_failure == "record":
                    await self._append(proposal, no_answer(detail, "cancelled", elapsed), None)
                else:
                    self.withdraw()
                raise
            except EnvironmentFailure as error:
                self._tell("failed", proposal.actor, decision=proposal.decision, detail=str(error))
                if self.on_failure == "raise":
                    self.withdraw()
                    raise
                result = no_answer(str(error), failure_kind(error), time.perf_counter() - started)
        return await self._append(proposal, result, table)

    def _named(self, proposal: Proposal) -> str:
        name = proposal.decision.call.name if isinstance(proposal.decision, CallTool) else "the step"
        return f"Step {self._number}, {name},"

    async def _call(self, call: ToolCall, coerced: Mapping[str, Json] | None) -> tuple[ToolResult, TableView | None]:
        refusal = refused(call)
        if refusal is not None:
            return refusal, None
        if self._repeats_opening(call):
            return self.trajectory.steps[0].result or no_answer("", "environment", 0.0), self._tables[0]
        arguments = call.arguments if coerced is None else coerced
        where = f"Step {self._number}"
        return await call_in_time(self.session, call.name, arguments, deadline_s=self.deadline_s, where=where)

    def _repeats_opening(self, call: ToolCall) -> bool:
        """Whether a driver's first call is the one that has just opened the session.

        It is answered with what the opening gave, so that the trajectory is the same as when it is played back, where
        that call is the opening itself.
        """
        return (
            self.opening is not None
            and same_call(call, self.opening)
            and len(self.trajectory.steps) == 1
            and self.trajectory.steps[0].actor == "stepper"
        )

    async def _append(self, proposal: Proposal, result: ToolResult | None, table: TableView | None) -> Step:
        """Make the step part of the trajectory. From here on a cancellation may interrupt the wait, never the step."""
        step = proposal.as_step(opening=self._opens(proposal), result=result)
        self.trajectory = self.trajectory.appended(step)
        self._tables.append(table)
        self.proposal = None
        self._passed = None
        due = self.finished or self._teller.due
        if not due:
            self._teller.hold()
        settles = self.store is not None or self.after_step is not None
        interrupted = await uninterrupted(self._settle(due)) if settles else None
        self.state = "finished" if self.finished else "observed"
        self._tell("observed", step.actor, decision=step.decision, checks=step.checks, step=step)
        if self.finished:
            self._tell("finished", step.actor, decision=step.decision, step=step)
        if due:
            self._teller.kept()
        if interrupted is not None:
            raise interrupted
        return step

    async def _settle(self, due: bool) -> None:
        """What comes between a step's happening and its being shown; ``due`` says that it is to be kept now."""
        if due and (self.commit == "step" or self.finished):
            await self.flush()
        if self.after_step is not None:
            await self.after_step()
