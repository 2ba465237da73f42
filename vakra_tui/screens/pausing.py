"""The debugger's verbs that run: to a breakpoint, to the end, and again from the start."""

from __future__ import annotations

from toolenv.errors import VakraError
from vakra_tui.screens.debug_base import DebugBase
from vakra_tui.state.commands.chosen import key
from vakra_tui.working import work


class PausingVerbs(DebugBase):
    """Running, breakpoints, and starting over."""

    def action_run(self) -> None:
        """To the next breakpoint, else to the end."""
        if self.scene is None:
            return
        if any(each.enabled for each in self.scene.breakpoints):
            self._resume()
        elif self.scene.finished:
            self._move(len(self.scene.rows) - 1)
        else:
            self._follow = True
            self._verb(self.session.run_to_end)

    @work(group="session")
    async def _resume(self) -> None:
        if self.scene is None:
            return
        pause = self.scene.pause
        stopped = pause is not None and pause.before and pause.number == self.cursor + 1
        at = self.cursor if stopped else self.behind
        self._follow = True
        if not await self._do(self.session.resume, at, stopped):
            return
        pause = self.scene.pause
        if pause is not None:
            self._move(pause.number - 1)
        else:
            self._move(self.scene.executed - 1)
            if self.scene.finished:
                self.app.toast("No further breakpoint: the end of the trajectory.")

    @work(exclusive=True, group="doing")
    async def action_breakpoints(self) -> None:
        """Set, list and remove breakpoints."""
        from vakra_tui.screens.breakpoints import BreakpointsScreen

        if self.scene is None:
            return
        try:
            names, views = await self.app.engine.run(self.session.in_turn(self.session.completions))
        except VakraError as error:
            self.app.report(str(error))
            return
        given = self.scene.breakpoints
        breakpoints = await self.app.push_screen_wait(BreakpointsScreen(given, names, views))
        if breakpoints != given:
            await self._do(self.session.set_breakpoints, breakpoints)

    @work(exclusive=True, group="doing")
    async def action_restart(self) -> None:
        """Begin again before the first step, on a branch: the recording, or you where there is none."""
        if self.scene is None:
            return
        wheel = "recording" if self.scene.prediction is not None else "human"
        self._follow = True
        if await self._do(self.session.take_wheel, wheel, 0):
            self._move(0)
            steps, runs = key("debugger.step"), key("debugger.continue")
            self.app.toast(f"Before the first step: {steps} steps, {runs} runs to the next breakpoint or the end.")
