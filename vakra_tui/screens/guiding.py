"""The debugger's verbs that lead a person: to the evidence, to the verdict explained, to divergences; marks, notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual import events, on

from vakra_tui.screens.debug_base import DebugBase
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.diagnosis import Place, index_of, next_divergence, next_mark, places
from vakra_tui.state.panes.hop_graph import HopGraph
from vakra_tui.widgets.line_view import LineView
from vakra_tui.widgets.step_view import StepView
from vakra_tui.working import work

if TYPE_CHECKING:
    from eval.model import Verdict
    from vakra_tui.state.scene import Scene

NOTE_AT_MOST = 2_000
"""Characters of a note that the dialog takes up again."""


class GuidingVerbs(DebugBase):
    """Where it broke and why, in the panes; and what a person leaves at a step."""

    pointed_at: int | None = None
    """The hop of the reference path that is marked."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._led: Verdict | None = None
        self.evidence_shown = 0
        self._found: tuple[Scene | None, tuple[Place, ...]] = (None, ())
        self._bring_later = False

    @property
    def _places(self) -> tuple[Place, ...]:
        """What the deciding gate points at, looked for once a scene."""
        if self.scene is not None and self._found[0] is not self.scene:
            self._found = (self.scene, places(self.scene))
        return self._found[1] if self.scene is not None else ()

    # --- the evidence of the deciding gate -----------------------------------------------------------------------

    def action_evidence(self) -> None:
        """Go to what the deciding gate points at; pressed again, to the next such place. The waterfall tells it."""
        scene = self.scene
        if scene is None:
            return
        found = self._places
        if not found:
            self.app.toast(self._nothing_to_see(), warn=scene.verdict is None)
            return
        number = (self.evidence_shown + 1) % len(found) if self._led is scene.verdict else 0
        self._led, self.evidence_shown = scene.verdict, number
        self._draw_waterfall()
        self._lead_to(found[number])

    def _nothing_to_see(self) -> str:
        verdict = self.scene.verdict if self.scene is not None else None
        if verdict is None and self.scene is not None and self.scene.working:
            return f"There is no verdict yet: {self.scene.working} \u2026"
        if verdict is None:
            return f"There is no verdict yet; {key('debugger.evaluate')} evaluates this branch."
        explains = key("debugger.explain-the-verdict")
        if verdict.passed:
            return f"Every gate passed; {explains} shows what each of them saw."
        return f"No gate ruled ({verdict.reason or verdict.status}); {explains} shows why."

    def _lead_to(self, place: Place) -> None:
        """Cursor on the step, its call in view, the hop marked and in view, the argument on screen."""
        if place.step is not None:
            self._move(place.step)
            self._choose_tab("call")
            view = self.query_one("#step", StepView)
            view.call_after_refresh(view.choose_argument, place.argument)
        self.point_at_hop(place.hop)
        if self.has_class("-narrow"):
            self.action_pane("step" if place.step is not None else "ground truth")

    @property
    def argument_led(self) -> str:
        """The argument of the step under the cursor that was chosen or led to; empty where none was."""
        picked = self.query_one("#step", StepView).picked_argument
        if picked is not None:
            return picked.name
        return next((place.argument for place in self._places if place.step == self.cursor and place.argument), "")

    @property
    def hop_of_cursor(self) -> int | None:
        """The hop that the step under the cursor stands for, else the one that was due where it broke."""
        row, scene = self.row, self.scene
        if row is None or scene is None:
            return None
        if row.hop is not None:
            return row.hop
        return next((place.hop for place in self._places if place.step == self.cursor), None)

    def point_at_hop(self, hop: int | None, *, bring: bool = True) -> None:
        """Mark a hop of the reference path and ``bring`` it into view; None takes the mark away."""
        self.pointed_at = hop
        view = self.query_one("#truth", LineView)
        graph = view.source
        if not isinstance(graph, HopGraph):
            return
        if graph.marked != (hop or 0):
            graph.marked = hop or 0
            view.reload()
        row = graph.row_of(hop) if hop is not None else None
        self._bring_later = bring and not view.size.height
        if row is None or not bring or not view.size.height:
            return
        last = graph.end_of(hop) if hop is not None else None
        top, height = view.scroll_offset.y, view.scrollable_content_region.height
        if not (top <= row and (last or row) < top + height):
            view.scroll_to(y=max(row - 1, 0), animate=False, force=True)

    @on(events.DescendantFocus, "#truth")
    def _truth_unfolded(self) -> None:
        """The hop that was pointed at while the pane was folded comes into view when the pane does."""
        if self._bring_later:
            self.call_after_refresh(self.point_at_hop, self.pointed_at)

    def _draw_waterfall(self) -> None:
        raise NotImplementedError

    def _choose_tab(self, name: str) -> None:
        raise NotImplementedError

    def action_pane(self, name: str) -> None:
        raise NotImplementedError

    @on(events.Click, "#waterfall")
    def _waterfall_clicked(self) -> None:
        self.action_evidence()

    @on(events.Click, "#truth")
    def _truth_clicked(self, event: events.Click) -> None:
        """To the step that stands for the hop that was clicked, or where it was due."""
        view = self.query_one("#truth", LineView)
        scene = self.scene
        if scene is None or not isinstance(view.source, HopGraph):
            return
        number = view.source.node_at(event.y + view.scroll_offset.y)
        hop = next((each for each in scene.truth.hops if each.number == number), None)
        if hop is None:
            return
        step = index_of(scene, hop.aligned or hop.recovered_at)
        if step is None:
            step = next((place.step for place in self._places if place.hop == number), None)
        if step is not None:
            self._move(step)
        self.point_at_hop(number)

    @work(exclusive=True, group="doing")
    async def action_inspect(self) -> None:
        """The verdict explained: every gate with its evidence, what a judge was shown and what it said."""
        from vakra_tui.screens.verdict import VerdictScreen

        if self.scene is None:
            return
        if await self.app.push_screen_wait(VerdictScreen(self.session, self.scene)):
            self.action_evidence()

    # --- divergences -------------------------------------------------------------------------------------------------

    @work(group="session")
    async def action_divergence(self) -> None:
        """On to the next step that is not as in the reference path; what was not run yet runs up to it."""
        scene = self.scene
        if scene is None:
            return
        index = next_divergence(scene, self.cursor)
        if index is not None:
            self._move(index)
            self.point_at_hop(scene.rows[index].hop)
            return
        if scene.finished or scene.wheel == "human":
            self.app.toast("No further divergence from the reference path.")
            return
        self._follow = True
        found: list[bool] = []

        async def run() -> None:
            found.append(await self.session.run_to_divergence(self.behind))

        if await self._do(run) and self.scene is not None:
            pause = self.scene.pause
            self._move(pause.number - 1 if pause is not None else self.scene.executed - 1)
            if not any(found):
                self.app.toast("No further divergence from the reference path.")

    # --- marks and notes ---------------------------------------------------------------------------------------------

    def action_next_mark(self) -> None:
        """On to the next step that is marked or has a note, round the end."""
        index = next_mark(self.scene, self.cursor) if self.scene is not None else None
        if index is None:
            marks, notes = key("debugger.mark"), key("debugger.note")
            self.app.toast(f"No step is marked or has a note; {marks} marks, {notes} notes.")
        else:
            self._move(index)

    @work(group="session")
    async def action_mark_step(self) -> None:
        """Mark the step under the cursor, or take its mark away."""
        if self.row is None or self.row.step is None:
            self.app.toast("Only a step that was executed can be marked.", warn=True)
            return
        await self._do(self.session.mark, self.cursor)

    @work(exclusive=True, group="doing")
    async def action_note_step(self) -> None:
        """Write a note on the step under the cursor; an empty one takes it away."""
        from vakra_tui.screens.ask import AskScreen

        row, cursor = self.row, self.cursor
        if row is None or row.step is None:
            self.app.toast("Only a step that was executed can have a note.", warn=True)
            return
        before = "\n".join(row.remarks)[:NOTE_AT_MOST]
        note = "an empty note takes it away" if before else "kept with the session, and shown with the step"
        title = f"Note on step {row.number}" if row.number else "Note on the opening"
        written = await self.app.push_screen_wait(AskScreen(title, value=before, note=note))
        if written is not None and written != before:
            await self._do(self.session.note, cursor, written)
