"""The tabs of the step pane: what is shown in them, and what their rows do."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING

from textual import on
from textual.worker import WorkerCancelled, WorkerFailed

from toolenv.errors import VakraError
from vakra_tui.render import content
from vakra_tui.screens.finding import FindingVerbs
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.folded import Folded
from vakra_tui.state.lines import Lines, LineSource, line
from vakra_tui.state.panes import step
from vakra_tui.state.panes.protocol import StepProtocol, protocol_source
from vakra_tui.state.scene import Scene, StepRow
from vakra_tui.state.table_order import Order, page, positions
from vakra_tui.state.table_rows import TableRows
from vakra_tui.widgets.step_view import StepView
from vakra_tui.widgets.tab_line import TabLine
from vakra_tui.working import work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sessions.store.records import RequestRecord
    from vakra_tui.state.session import DebugSession


ENDED = ("searching", "ordering")
"""Groups of work that a person may stop."""

UNCHANGED = ("response", "table", "raw", "difference")
"""Tabs whose lines follow from the executed step alone."""


def same_step(one: StepRow | None, other: StepRow | None) -> bool:
    """Whether two rows are about one step, whatever was found out about it meanwhile."""
    if one is None or other is None:
        return one is other
    return one.number == other.number and one.step is other.step and (one.step is not None or one.call == other.call)


def _unread(error: VakraError) -> Lines:
    """Why a tab cannot be shown, and how to try again."""
    return Lines([line((str(error), "fail")), line((key("step.read-again"), "accent"), (" tries again", "dim"))])


TOLD_AFTER_S = 0.1
"""Reading that takes longer is told; the words would cost as much as the rows that follow them at once."""


class StepTabs(FindingVerbs):
    """Draws the chosen tab of the step under the cursor. Long texts are read in a worker, tables in the engine."""

    def __init__(self, session: DebugSession) -> None:
        super().__init__(session)
        self._tab: step.Tab = "call"
        self._shown: tuple[object, ...] = ()
        self._drawn: tuple[str, StepRow | None] = ("", None)

    def _draw_step(self, *, force: bool = False) -> None:
        scene, row = self.scene, self.row
        if scene is None:
            return
        # The call tab of an answer has the reference beside it, which may be executed after the step was drawn.
        beside = (scene.truth, scene.reference_shown) if row is not None and row.call is None else ()
        shown = (row, self._tab, scene.problem, scene.wheel, scene.pause, beside)
        if shown == self._shown and not force:
            return
        again = bool(self._shown) and not force and self._drawn[0] == self._tab and same_step(self._drawn[1], row)
        self._shown = shown
        self._drawn = (self._tab, row)
        self.query_one("#step-pane").border_title = content(step.title(row))
        self.query_one("#step-tabs", TabLine).choose(self._tab)
        view = self.query_one("#step", StepView)
        if again and row is not None and row.step is not None and self._tab in UNCHANGED:
            # What a person folded, sorted, searched and scrolled to outlives a change of everything around it.
            return
        if not again:
            self._tell_search(view)
        if self._tab == "table" and row is not None and row.table is not None:
            self._show_table(row)
        elif self._tab == "protocol" and row is not None and row.step is not None:
            self._show_protocol(row, again)
        elif self._tab == "messages" and row is not None and row.step is not None:
            if not (again and isinstance(view.source, Folded)):
                self._show_messages(row)
        elif step.is_long(self._tab, row):
            self._read_step(self._tab, row, scene)
        else:
            self.workers.cancel_group(self, "reading")
            view.show(step.source(self._tab, row, scene), keep=again)

    async def step_read(self) -> None:
        """Wait until what the pane shows has been read."""
        for worker in [each for each in self.workers if each.node is self and each.group == "reading"]:
            with suppress(WorkerCancelled, WorkerFailed):
                await worker.wait()

    async def stop(self) -> bool:
        """End a search, a sorting or a reading of this screen, else what the session runs."""
        busy = [each for each in self.workers if each.node is self and each.group in ENDED and each.is_running]
        if not busy:
            return await super().stop()
        self.end_search()
        for worker in busy:
            worker.cancel()
        self.app.toast("Stopped; what was shown stays.")
        view = self.query_one("#step", StepView)
        if isinstance(view.source, TableRows):
            self._tell_table(view.source)
        else:
            self._tell_search(view)
        return True

    def _is_shown(self, row: StepRow | None, tab: step.Tab) -> bool:
        return self._tab == tab and same_step(self.row, row)

    @work(exclusive=True, group="reading")
    async def _read_step(self, tab: step.Tab, row: StepRow | None, scene: Scene) -> None:
        """Read a large response away from the event loop; a newer choice cancels it."""
        view = self.query_one("#step", StepView)
        reading = asyncio.create_task(self.app.read(step.source, tab, row, scene, view.text_width()))
        done, _ = await asyncio.wait({reading}, timeout=TOLD_AFTER_S)
        if not done:
            view.show(Lines([line(("reading \u2026", "dim"))]))
        source = await reading
        if self._is_shown(row, tab):
            view.show(source)

    # --- the table ---------------------------------------------------------------------------------------------------

    @work(exclusive=True, group="reading")
    async def _show_table(self, row: StepRow) -> None:
        """The whole table behind the step's handle; its rows are read when they are looked at."""
        view = self.query_one("#step", StepView)
        view.show(Lines([line(("reading \u2026", "dim"))]))

        def ask(start: int) -> None:
            self._read_page(source, start)

        try:
            source: TableRows = await self.app.engine.call(TableRows, row.table, ask)
            source.put(0, await self.app.engine.run(page(source.view, None, 0)))
        except VakraError as error:
            if self._is_shown(row, "table"):
                view.show(_unread(error))
            return
        if self._is_shown(row, "table"):
            view.show(source)
            self._tell_table(source)

    @work(group="pages")
    async def _read_page(self, source: TableRows, start: int) -> None:
        order = source.positions
        try:
            rows = await self.app.engine.run(page(source.view, order, start))
        except VakraError as error:
            rows = None
            if source.positions is order:
                source.fail(start, str(error))
        if source.positions is order:
            if rows is not None:
                source.put(start, rows)
            view = self.query_one("#step", StepView)
            if view.source is source:
                view.reload()

    @work(exclusive=True, group="ordering")
    async def _order_table(self, source: TableRows, order: Order) -> None:
        """Show the rows in another order; a newer wish ends an older one."""
        view = self.query_one("#step", StepView)
        self._tell_search(view, "sorting \u2026" if order.column is not None else "filtering \u2026")
        try:
            found = await self.app.engine.run(positions(source.view, order))
            first = await self.app.engine.run(page(source.view, found, 0))
        except VakraError as error:
            self._tell_table(source)
            self.app.report(str(error))
            return
        source.show(order, found)
        source.put(0, first)
        if view.source is source:
            view.mark(None)
            view.reload()
            view.scroll_to(y=0, animate=False, force=True)
            self._tell_table(source)

    def _tell_table(self, source: TableRows) -> None:
        keys = f"{key('step.choose')} sorts, {key('step.filter')} filters"
        self._tell_search(self.query_one("#step", StepView), f"{source.words}   {keys}")

    @on(StepView.SortWanted)
    def _sort_wanted(self, message: StepView.SortWanted) -> None:
        source = self.query_one("#step", StepView).source
        if isinstance(source, TableRows):
            self._order_table(source, source.order.turned(message.column))

    @on(StepView.FilterWanted)
    def _filter_wanted(self) -> None:
        source = self.query_one("#step", StepView).source
        if isinstance(source, TableRows):
            self._ask_filter(source)
        else:
            self.app.toast(f"The rows of a table can be filtered: {key('debugger.next-tab')} leads to the table tab.")

    @work(exclusive=True, group="doing")
    async def _ask_filter(self, source: TableRows) -> None:
        from vakra_tui.screens.ask import AskScreen

        note = "words, or column=value with = != < <= > >= ~ (contains); empty shows all rows"
        text = await self.app.push_screen_wait(
            AskScreen("Show only the rows with", value=source.order.filter, note=note)
        )
        if text is not None:
            order = Order(column=source.order.column, descending=source.order.descending, filter=text)
            self._order_table(source, order)

    @on(StepView.AgainWanted)
    def _again_wanted(self) -> None:
        self._draw_step(force=True)

    # --- the wire ----------------------------------------------------------------------------------------------------

    @work(exclusive=True, group="reading")
    async def _show_protocol(self, row: StepRow, again: bool) -> None:
        """The messages of the step, as the environment and the store keep them."""
        view = self.query_one("#step", StepView)
        if not again:
            view.show(Lines([line(("reading \u2026", "dim"))]))
        try:
            told: StepProtocol = await self.app.engine.run(self.session.protocol(self.cursor))
        except VakraError as error:
            told = StepProtocol(why=str(error))
        if self._is_shown(row, "protocol"):
            view.show(protocol_source(told), keep=again)

    # --- what the agent's model was sent and said ---------------------------------------------------------------------

    @work(exclusive=True, group="reading")
    async def _show_messages(self, row: StepRow) -> None:
        """The requests that led to the step; a step without any says what is known otherwise."""
        from vakra_tui.state.panes.messages import messages_source

        view, scene = self.query_one("#step", StepView), self.scene
        records: Sequence[RequestRecord] = ()
        made: LineSource
        try:
            records = await self.app.engine.run(self.session.spoken(self.cursor))
            made = await self.app.read(messages_source, records, view.text_width())
        except VakraError as error:
            made = _unread(error)
        if not self._is_shown(row, "messages") or scene is None:
            return
        nothing = isinstance(made, Folded) and not records
        view.show(step.source("messages", row, scene) if nothing else made)

    # --- keys --------------------------------------------------------------------------------------------------------

    @on(StepView.ValueWanted)
    def _value_wanted(self, message: StepView.ValueWanted) -> None:
        """A scalar of the tree, whole."""
        from vakra_tui.screens.message import MessageScreen

        value = message.value
        self.app.push_screen(MessageScreen("The value", value if isinstance(value, str) else json.dumps(value)))

    @on(TabLine.Picked, "#step-tabs")
    def _tab_picked(self, message: TabLine.Picked) -> None:
        self._choose_tab(message.name)

    def _choose_tab(self, name: str) -> None:
        self._tab = name  # type: ignore[assignment]
        self._draw_step(force=True)

    def action_tab(self, name: str) -> None:
        """Show a tab by its name."""
        self._choose_tab(name)
        self.action_pane("step")

    def action_next_tab(self) -> None:
        self._choose_tab(self.query_one("#step-tabs", TabLine).name_after(1))
        self.action_pane("step")

    def action_previous_tab(self) -> None:
        self._choose_tab(self.query_one("#step-tabs", TabLine).name_after(-1))
        self.action_pane("step")

    def action_pane(self, name: str) -> None:
        """Show (where panes are folded) and focus a pane."""
        raise NotImplementedError
