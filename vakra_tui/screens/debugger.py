"""The debugger: one instance, its steps, the step under the cursor, the reference path, the waterfall."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets._toast import ToastRack

from vakra_tui.render import content
from vakra_tui.screens.arranging import ArrangingVerbs
from vakra_tui.screens.asking import AskingVerbs
from vakra_tui.screens.comparing import ComparingVerbs
from vakra_tui.screens.guiding import GuidingVerbs
from vakra_tui.screens.judging import JudgingVerbs
from vakra_tui.screens.pausing import PausingVerbs
from vakra_tui.screens.playing import PlayingVerbs
from vakra_tui.screens.sourcing import SourcingVerbs
from vakra_tui.screens.taking import TakingVerbs
from vakra_tui.state.layout import PANES
from vakra_tui.state.live.base import yours_to_decide
from vakra_tui.state.panes import head, step, steps, truth, waterfall
from vakra_tui.state.scene import Scene
from vakra_tui.widgets.banner import Banner
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.line_view import LineView
from vakra_tui.widgets.pick_list import PickList
from vakra_tui.widgets.step_view import StepView
from vakra_tui.widgets.tab_line import TabLine
from vakra_tui.working import work

if TYPE_CHECKING:
    from vakra_tui.state.session import DebugSession

SMALL = 30
LOW = 20
"""Rows of the terminal below which the texts around the panes give way to them, and give way further."""


class DebuggerScreen(
    ArrangingVerbs,
    PlayingVerbs,
    AskingVerbs,
    PausingVerbs,
    JudgingVerbs,
    ComparingVerbs,
    SourcingVerbs,
    GuidingVerbs,
    TakingVerbs,
):
    """Shows the scenes that a session hands over, and turns keys into what the session does."""

    CSS_PATH = "debugger.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-middle"), (140, "-wide")]  # noqa: RUF012

    CONTEXT: ClassVar[str] = "debugger"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)

    def __init__(self, session: DebugSession, *, hint: bool = False, at: int | None = None) -> None:
        """``at`` is the row of the recording to begin at; None: where the recording broke."""
        super().__init__(session)
        self._begin_at = at
        self._context_shown = False
        self._hint = hint
        self._whole_waterfall = False
        self._jumped = False
        self._steps: steps.StepsSource | None = None

    def compose(self) -> ComposeResult:
        yield Banner(id="header", tallest=1, cut=True)
        yield Banner(id="hint", tallest=3)
        yield Banner(id="question", tallest=6)
        yield Banner(id="policy", tallest=4)
        yield TabLine(PANES, id="panes-tabs")
        with Horizontal(id="panes"):
            with Vertical(id="steps-pane", classes="pane chosen"):
                yield PickList(id="steps")
            with Vertical(id="step-pane", classes="pane"):
                yield TabLine(step.TABS, id="step-tabs")
                yield StepView(id="step")
            with Vertical(id="truth-pane", classes="pane"):
                yield LineView(id="truth")
        yield Banner(id="waterfall", tallest=8)
        yield self.app.footer()

    def on_mount(self) -> None:
        self.query_one("#steps-pane").border_title = content("steps")
        self.query_one("#step-pane").border_title = content("step")
        self.query_one("#truth-pane").border_title = content("ground truth")
        self.query_one("#steps").focus()
        if self._hint:
            self.query_one("#hint", Banner).show_lines(head.hint(self.app.key_of))
        self.place_panes()
        self.session.listen(self._scene_from_engine)
        self.open_session()

    def _scene_from_engine(self, scene: Scene) -> None:
        """Called in the engine thread."""
        self.app.from_engine(self._take, scene)

    @work(group="session")
    async def open_session(self) -> None:
        await self._do(self.session.open)
        if self._begin_at is not None and self.scene is not None and self.scene.on_branch:
            # A person's own branch came back; the row that was asked for is one of the recording.
            await self._do(self.session.look_at, 0)

    # --- showing a scene ---------------------------------------------------------------------------------------------

    def _take(self, scene: Scene) -> None:
        """Show a scene; the cursor follows new steps while it stands on the last one."""
        if not self.is_attached or not self.children:  # what was begun before the screen was left
            return
        self.scene = scene
        if self._begin_at is not None:
            if scene.executed > self._begin_at and not scene.on_branch:
                self.cursor, self._begin_at = self._begin_at, None
                self._jumped, self._follow = True, False
        elif self.session.left is not None and not self._jumped:
            # Opened again where a person left it: that many steps lay behind.
            if scene.executed >= self.session.left:
                self.cursor = max(self.session.left - 1, 0)
                self._jumped, self._follow = True, self.session.left == scene.executed
        elif scene.verdict is not None and scene.truth.state != "running" and not self._jumped:
            # A verdict that was kept is there before the reference beside which its step is found.
            self._jumped = True
            if scene.first_trouble is not None:
                self.cursor = scene.first_trouble
                self._follow = self.cursor >= scene.executed - 1
        elif self._follow:
            self.cursor = max(scene.executed - 1, 0)
        self.cursor = max(0, min(self.cursor, len(scene.rows) - 1))
        self._draw()

    def _draw(self) -> None:
        scene = self.scene
        if scene is None:
            return
        narrow = self.has_class("-narrow")
        low = self.size.height < LOW
        self.query_one("#question", Banner).tallest = 2 if low else 6
        self.query_one("#policy", Banner).tallest = 1 if low else 4
        self.query_one("#header", Banner).show_lines([head.header(scene, self.size.width)])
        self.query_one("#question", Banner).show_lines(head.question(scene, context=self._context_shown))
        key = self.app.key_of("debugger.explain-the-verdict")
        self.query_one("#policy", Banner).more = self.query_one("#question", Banner).more = f"{key} shows all"
        self.query_one("#policy", Banner).show_lines(head.policy(scene, whole=not narrow, key=key))
        listed = self.query_one("#steps", PickList)
        self._steps = steps.StepsSource(scene)
        listed.show(self._steps, keep=True)
        place = self._steps.place_of(self.cursor)
        if place != listed.cursor:  # A list that was scrolled away from its cursor stays where it is.
            listed.place(place)
        self.query_one("#truth", LineView).show(truth.source(scene), keep=True)
        hop = self.hop_of_cursor
        self.point_at_hop(hop, bring=hop != self.pointed_at)
        words = truth.hops_words(scene)
        self.query_one("#truth-pane").border_title = content(f"ground truth  {words}" if words else "ground truth")
        done = scene.executed
        total = len(scene.rows)
        counted = f"steps {done}/{total}" if done < total else f"steps {total}"
        stops = sum(each.enabled for each in scene.breakpoints)
        counted += f"  \u25a0 {stops}" if stops else ""
        self.query_one("#steps-pane").border_title = content(counted)
        self._draw_waterfall()
        self._draw_step()

    def _draw_waterfall(self) -> None:
        if self.scene is None:
            return
        banner = self.query_one("#waterfall", Banner)
        small = self.size.height < SMALL
        banner.tallest = 12 if self._whole_waterfall else 2 if self.size.height < LOW else 6 if small else 8
        whole = self._whole_waterfall
        unfolds = "debugger.explain-the-verdict" if self._whole_waterfall else "debugger.waterfall"
        banner.more = f"{self.app.key_of(unfolds)} shows all"
        shown = self.evidence_shown if self._led is self.scene.verdict else 0
        banner.show_lines(waterfall.strip_lines(self.scene, brief=small and not whole, whole=whole, shown=shown))

    @on(Banner.Fitted, "#waterfall")
    def _place_toasts(self, message: Banner.Fitted) -> None:
        """Toasts come above the waterfall: they never cover what broke and what would have been right."""
        for rack in self.query(ToastRack):
            rack.styles.margin = (0, 0, message.rows + 1, 0)

    # --- keys --------------------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        if self._hint:
            self._hint = False
            self.query_one("#hint", Banner).show_lines([])
            self.app.hint_seen()

    def _move(self, index: int) -> None:
        if self.scene is None or not self.scene.rows:
            return
        self._jumped = True
        self.cursor = max(0, min(index, len(self.scene.rows) - 1))
        self._follow = self.cursor >= self.scene.executed - 1
        if self._steps is not None:
            self.query_one("#steps", PickList).place(self._steps.place_of(self.cursor))
        self.point_at_hop(self.hop_of_cursor)
        self._draw_step()

    @on(PickList.Moved, "#steps")
    def _moved(self, message: PickList.Moved) -> None:
        if self._steps is None:
            return
        self._move(self._steps.step_of(message.index))
        if self._steps.branch_of(message.index) is not None:
            self.query_one("#steps", PickList).place(message.index)

    @on(PickList.Chosen, "#steps")
    def _chosen(self, message: PickList.Chosen) -> None:
        branch = self._steps.branch_of(message.index) if self._steps is not None else None
        if branch is None:
            self.action_pane("step")
        else:
            self._follow = True
            self._verb(self.session.look_at, branch)

    def on_resize(self) -> None:
        self.place_panes()
        self.call_after_refresh(self._draw)

    def action_waterfall(self) -> None:
        """Unfold or fold the reasons of the waterfall."""
        self._whole_waterfall = not self._whole_waterfall
        self._draw_waterfall()

    def action_context(self) -> None:
        if self.scene is not None and len(self.scene.instance.turns) < 2:
            self.app.toast("There are no earlier turns: the question is the first one.")
            return
        self._context_shown = not self._context_shown
        if self.scene is not None:
            self.query_one("#question", Banner).show_lines(head.question(self.scene, context=self._context_shown))

    def action_step(self) -> None:
        if self.scene is None:
            return
        if self.cursor < self.scene.executed - 1:
            self._move(self.cursor + 1)
        elif self.scene.finished:
            self.app.toast("The end of the trajectory.")
        elif self.scene.wheel == "human":
            self.app.toast(yours_to_decide())
        else:
            self._follow = True
            self._verb(self.session.step)

    def action_back(self) -> None:
        self._move(self.cursor - 1)

    @work
    async def action_go_to(self) -> None:
        from vakra_tui.screens.ask import AskScreen

        if self.scene is None:
            return
        last = self.scene.rows[-1].number if self.scene.rows else 0
        written = await self.app.push_screen_wait(AskScreen(f"Go to step (0 to {last})", kind="number"))
        if not written:
            return
        number = int(written)
        index = next((i for i, row in enumerate(self.scene.rows) if row.number >= number), len(self.scene.rows) - 1)
        if index >= self.scene.executed and not self.scene.finished:
            self._follow = True
            opening = self.scene.instance.capability == 1 and not self.scene.executed  # It has no row yet.
            self._verb(self.session.run_to, index + 1 + opening)
        else:
            self._move(index)

    def action_leave(self) -> None:
        """Take the marks of a search away first, then leave."""
        if self.end_marks():
            return
        self.app.show_list()
