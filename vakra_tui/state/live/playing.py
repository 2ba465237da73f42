"""The verbs that make steps, decide who makes them, and look at what was made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions.trajectory import Decision
from toolenv.errors import DataError
from toolenv.model import ToolCall, ToolResult, ToolSpec
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.live.base import AT_THE_WHEEL, RUNNING, SHOW_EVERY_S, SessionBase, Wheel, yours_to_decide

if TYPE_CHECKING:
    from sessions.breakpoints import Breakpoint
    from sessions.filters import StepView


class Playing(SessionBase):
    """The verbs that make steps, decide who makes them, and look at what was made."""

    async def step(self) -> None:
        """The next step by whoever is at the wheel."""
        timeline = self._ready()
        self._pause = None
        if timeline.finished:
            return
        if self.wheel == "human":
            raise DataError(yours_to_decide())
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
        await self._show(force=True)
        try:
            if self.wheel == "human":
                self._pause = await timeline.seek(stopped=stopped)
            else:
                self._pause = await timeline.resume(stopped=stopped)
        finally:
            self._working = ""
            timeline.go_to(timeline.branch.length)
            await self._show(force=True)

    async def run_to(self, steps: int) -> None:
        """Steps until ``steps`` of them were made, or to the end."""
        timeline = self._ready()
        self._pause = None
        if self.wheel == "human" and not timeline.finished:
            raise DataError(AT_THE_WHEEL.format(key("debugger.wheel")))
        self._working = RUNNING
        await self._show(force=True)
        try:
            while not timeline.finished and timeline.branch.length < steps:
                if timeline.at_tip:
                    await timeline.advance(SHOW_EVERY_S, steps - timeline.branch.length)
                else:
                    await timeline.step()
                await self._keep_requests(timeline)
                await self._show()
        finally:
            self._working = ""
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

    async def take_wheel(self, wheel: Wheel, at: int, left_out: int | None = None) -> None:
        """Hand the wheel over at a place; what was done so far stays, in the past a branch is opened there.

        ``left_out`` is how many of a recording's calls those stand for that were made last (``Recording``).
        """
        assert self.subject is not None
        if wheel == "recording" and self.subject.prediction is None:
            raise DataError("There is no recorded prediction of this instance to follow.")
        if wheel == "ground_truth" and self.instance.ground_truth is None:
            raise DataError("This instance has no ground truth to follow.")
        if wheel == "agent" and self.agent_name is None:
            raise DataError("No agent is named; start with --agent NAME to hand it the wheel.")
        timeline = self._ready()
        self._pause = None
        self._hand_over(wheel, left_out)
        if at < timeline.branch.length or timeline.finished:
            await timeline.fork(self._before_the_end(at), name=f"{wheel.replace('_', ' ')} from {at}")
        if wheel == "human":
            await self._make_opening()
        await self._show(force=True)

    async def play(self, decision: Decision, at: int) -> None:
        """A person's decision becomes the step after the first ``at`` ones; in the past on a branch of its own."""
        timeline = self._ready()
        self._pause = None
        self._hand_over("human")
        if at < timeline.branch.length or timeline.finished:
            await timeline.fork(self._before_the_end(at))
        await self._make_opening()
        await timeline.decide(decision, "human")
        await self._show(force=True)

    async def edit(self, number: int, call: ToolCall) -> None:
        """Make step ``number`` (from 1, the opening counts) another call, on a branch of its own."""
        timeline = self._ready()
        self._pause = None
        self._hand_over("human")
        await timeline.edit(number, call)
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
