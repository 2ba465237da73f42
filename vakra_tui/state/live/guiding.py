"""The verbs that lead a person: to a divergence, to what a judge saw; marks, notes and exports of what is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from toolenv.errors import DataError
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.live.base import AT_THE_WHEEL, RUNNING, SessionBase

if TYPE_CHECKING:
    from sessions.branches import Cursor
    from sessions.store import AsyncStore, SessionRef
    from vakra_tui.forms import Exported
    from vakra_tui.state.export import ExportKind
    from vakra_tui.state.inspecting import Asked


class Guiding(SessionBase):
    """The verbs that lead a person: to a divergence, to what a judge saw; marks, notes and exports of what is shown."""

    async def run_to_divergence(self, at: int) -> bool:
        """Go on from the first ``at`` steps to the first one that differs from the reference, else to the end.

        Gives whether one was found. A person's own breakpoints do not stop on the way.
        """
        from sessions.breakpoints import Breakpoint

        timeline = self._ready()
        if self.wheel == "human":
            raise DataError(AT_THE_WHEEL.format(key("debugger.wheel")))
        if not timeline.reference:
            raise DataError("There is no executed reference path to differ from.")
        timeline.go_to(at)
        kept = list(timeline.breakpoints)
        timeline.breakpoints = [Breakpoint(kind="divergence")]
        self._working = RUNNING
        try:
            self._pause = await timeline.resume(stopped=False)
        finally:
            timeline.breakpoints = kept
            self._working = ""
            timeline.go_to(timeline.branch.length)
            await self._keep_requests(timeline)
            await self._show(force=True)
        return self._pause is not None

    async def mark(self, index: int) -> bool:
        """Mark the step at ``index`` (from 0) of the present branch or take its mark away; gives whether it is marked.

        Raises ``StoreError`` or ``DataError`` where it cannot be kept.
        """
        marked = await self._marking.toggle(*self._kept_in(), self._ready().tree, self._place(index))
        await self._show(force=True)
        return marked

    async def note(self, index: int, text: str) -> None:
        """Make ``text`` the note on the step at ``index``; an empty one takes it away. Raises as ``mark`` does."""
        await self._marking.note(*self._kept_in(), self._ready().tree, self._place(index), text)
        await self._show(force=True)

    def _place(self, index: int) -> Cursor:
        from sessions.branches import Cursor

        timeline = self._ready()
        if not 0 <= index < timeline.branch.length:
            raise DataError("This step was not executed yet; only one that was can be marked.")
        return Cursor(branch=timeline.cursor.branch, at=index)

    def _kept_in(self) -> tuple[AsyncStore | None, SessionRef | None]:
        keeper = self._ready().keeper
        return self.world.keeping.ready(), keeper.ref if keeper is not None else None

    async def asked(self) -> tuple[Asked, ...]:
        """What a judge saw and said of the gates of the shown verdict; nothing where no judge was asked."""
        from eval.case import Case
        from vakra_tui.state.inspecting import asked_of

        timeline = self._ready()
        verdict = self.scene.verdict if self.scene is not None else None
        if verdict is None or self._truth is None or self.subject is None:
            return ()
        case = Case(
            run=self.subject.run,
            instance=self.instance,
            truth=self._truth.executed,
            prediction=await timeline.executed(),
            tools=self._truth.tools,
        )
        return await asked_of(case, self.world.judge, verdict)

    async def export(self, kind: ExportKind, place: str) -> str:
        """Write the present branch below the folder ``place``; gives the file's path."""
        from vakra_tui.state.export import export

        timeline = self._ready()
        return str(export(kind, place, timeline.tree.trajectory(timeline.cursor.branch)))

    def _passed(self, branch: int) -> bool:
        """Whether a branch passes as it stands now."""
        steps, verdict = self._verdicts.get(branch, (-1, None))
        return verdict is not None and verdict.passed is True and steps == self._ready().tree.branch(branch).length

    async def exported(self) -> Exported:
        """The present branch as the forms of an export take it; the newest branch of it that passes, where it does
        not itself, is its ``chosen``."""
        from vakra_tui.forms import Exported, shared_steps

        timeline = self._ready()
        tree, number = timeline.tree, timeline.cursor.branch
        shown = tree.trajectory(number)
        _, verdict = self._verdicts.get(number, (0, None))
        repairs = [each.number for each in tree.branches if each.parent == number and self._passed(each.number)]
        wrong = verdict is not None and verdict.passed is False
        chosen = tree.trajectory(repairs[-1]) if repairs and wrong else None
        ref = timeline.keeper.ref if timeline.keeper is not None else None
        return Exported(
            key=ref.key if ref is not None else self.instance.uuid,
            name=self.instance.query[:200] or self.instance.uuid,
            trajectory=shown,
            verdict=msgspec.to_builtins(verdict) if verdict is not None else None,
            passed=verdict.passed if verdict is not None else None,
            tools=tuple(await timeline.tools()),
            chosen=chosen,
            shared=shared_steps(shown, chosen) if chosen is not None else 0,
        )
