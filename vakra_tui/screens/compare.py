"""Two trajectories of one instance side by side: rows of aligned steps, hops and gates, and what differs in one row."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from toolenv.errors import VakraError
from vakra_tui.render import content
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.comparison import SIDES, Compared, ComparedRows, Item, Side, Where, compared
from vakra_tui.state.lines import Lines, line
from vakra_tui.state.panes.compare_head import head_lines, side_lines
from vakra_tui.state.panes.compared import READ_IN_WORKER, detail_lines, problem_lines, response_size
from vakra_tui.state.panes.head import WHOLE_FROM, short
from vakra_tui.text import one_line
from vakra_tui.widgets.banner import Banner
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.line_view import LineView
from vakra_tui.widgets.pick_list import PickList
from vakra_tui.widgets.turns import Screen
from vakra_tui.working import work

if TYPE_CHECKING:
    from vakra_tui.app import VakraApp

Making = Callable[[Callable[[str], None]], Coroutine[Any, Any, Side]]
"""Makes a side in the engine thread; is told where to say how far it is."""

LOW = 32
"""Rows of the terminal below which the reasons of the verdicts are left to the rows of the gates."""


class CompareScreen(Screen[tuple[Where, int] | None]):
    """Gives the side and the row at which the debugger is to be opened, None where it was left.

    ``makings`` make both sides; what has to be executed for them is told and can be stopped.
    """

    CONTEXT: ClassVar[str] = "compare"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)
    CSS_PATH = "compare.tcss"

    app: VakraApp

    def __init__(self, makings: Sequence[Making]) -> None:
        super().__init__()
        self._makings = tuple(makings)
        self.found: Compared | None = None
        self._only = False

    def compose(self) -> ComposeResult:
        yield Banner(id="compare-title", tallest=1, cut=True)
        yield Banner(id="compare-left", tallest=2)
        yield Banner(id="compare-right", tallest=2)
        yield Banner(id="compare-counts", tallest=2)
        with Vertical(id="compare-panes"):
            yield PickList(id="compare-rows")
            yield LineView(id="compare-detail")
        yield self.app.footer()

    def on_mount(self) -> None:
        self.query_one("#compare-rows").focus()
        self.query_one("#compare-detail").border_title = content("what differs")
        self._say("opening both sides \u2026")
        self._make()

    def _say(self, words: str) -> None:
        told = line((" Compare ", "title"), (f"  {words}", "warn"), (f"   {key('compare.leave')} stops", "dim"))
        self.query_one("#compare-title", Banner).show_lines([told])

    def _told(self, words: str) -> None:
        """Called in the engine thread."""
        self.app.from_engine(self._say_if_waiting, words)

    def _say_if_waiting(self, words: str) -> None:
        if self.is_attached and self.found is None:
            self._say(words)

    @work(exclusive=True, group="comparing")
    async def _make(self) -> None:
        sides = []
        try:
            for making in self._makings:
                sides.append(await self.app.engine.run(making(self._told)))
            self.found = await self.app.engine.call(compared, *sides)
        except VakraError as error:
            self.dismiss(None)
            self.app.report(str(error), title="Cannot compare")
            return
        self._show()

    # --- showing -----------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        if self.found is None:
            return
        view = self.query_one("#compare-rows", PickList)
        view.show(ComparedRows(self.found, only=self._only))
        first = self.rows.difference_after(-1, 1) if view.count else None
        view.place(first or 0)
        self._draw()

    @property
    def rows(self) -> ComparedRows:
        source = self.query_one("#compare-rows", PickList).source
        assert isinstance(source, ComparedRows)
        return source

    @property
    def item(self) -> Item | None:
        """The row under the cursor."""
        if self.found is None or not self.rows.items:
            return None
        return self.rows.items[self.query_one("#compare-rows", PickList).cursor]

    def _draw(self) -> None:
        found = self.found
        if found is None:
            return
        instance = found.left.scene.instance
        uuid = short(instance.uuid, whole=self.size.width >= WHOLE_FROM)
        title = line(
            (" Compare ", "title"),
            (
                f"  {one_line(instance.domain, 30)} / cap {instance.capability or '?'} / {uuid}  ",
                "accent",
            ),
            (one_line(instance.query, 300), ""),
        )
        self.query_one("#compare-title", Banner).show_lines([title])
        low = self.size.height < LOW
        for where in SIDES:
            banner = self.query_one(f"#compare-{where}", Banner)
            banner.tallest = 1 if low else 2
            banner.show_lines(side_lines(found, where, self.size.width)[: banner.tallest])
        self.query_one("#compare-counts", Banner).show_lines(head_lines(found, self.size.width))
        self._draw_detail()

    def _draw_detail(self) -> None:
        item, found = self.item, self.found
        if item is not None and found is not None and response_size(item, found) > READ_IN_WORKER:
            self._read_detail(item, found)
            return
        self.workers.cancel_group(self, "reading")
        lines = detail_lines(item, found) if item is not None and found is not None else []
        if not lines:
            lines = [line(("Nothing differs." if self._only else "Neither side has a step.", "dim"))]
        if found is not None:
            lines += problem_lines(found)
        self.query_one("#compare-detail", LineView).show(Lines(lines))

    @work(exclusive=True, group="reading")
    async def _read_detail(self, item: Item, found: Compared) -> None:
        """Compare large responses beside the event loop; a newer choice cancels it."""
        view = self.query_one("#compare-detail", LineView)
        view.show(Lines([line(("reading \u2026", "dim"))]))
        lines = await asyncio.to_thread(detail_lines, item, found)
        view.show(Lines(lines))

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    @on(PickList.Moved, "#compare-rows")
    def _moved(self) -> None:
        self._draw_detail()

    @on(PickList.Chosen, "#compare-rows")
    def _chosen(self) -> None:
        self.action_open()

    # --- keys --------------------------------------------------------------------------------------------------------

    def action_difference(self, step: int) -> None:
        if self.found is None:
            return
        view = self.query_one("#compare-rows", PickList)
        place = self.rows.difference_after(view.cursor, step)
        if place is None:
            self.app.toast("No further difference." if step > 0 else "No difference before this one.")
            return
        view.place(place)
        self._draw_detail()

    def action_only_differences(self) -> None:
        self._only = not self._only
        self._show()

    def action_swap(self) -> None:
        if self.found is not None:
            self._swap(self.found)

    @work(exclusive=True, group="comparing")
    async def _swap(self, found: Compared) -> None:
        self.found = await self.app.engine.call(compared, found.right, found.left)
        self._show()

    def action_open(self) -> None:
        item = self.item
        if item is not None:
            self.action_open_side("left" if item.left is not None or item.right is None else "right")

    def action_open_side(self, where: Where) -> None:
        """The debugger at the step of this row on one side; at the answer for the rows of gates."""
        found, item = self.found, self.item
        if found is None or item is None:
            return
        index = item.left if where == "left" else item.right
        if index is None and item.kind == "step":
            self.app.toast(f"The {where} side has no step here.")
            return
        last = max(found.side(where).scene.executed - 1, 0)
        self.dismiss((where, last if index is None else index))

    async def stop(self) -> bool:
        """Stop what is being executed for the sides, which leaves nothing to show; False where all is done."""
        if self.found is not None:
            return False
        self.action_leave()
        return True

    def action_leave(self) -> None:
        """What is still being executed is stopped with the screen."""
        self.dismiss(None)
