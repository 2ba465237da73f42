"""The list of instances: what there is, what each run made of it, and the way into the debugger."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import DescendantBlur, DescendantFocus
from textual.suggester import Suggester

from toolenv.errors import VakraError
from vakra_tui.screens.narrowing import NarrowingVerbs
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.lines import Line, Span, line
from vakra_tui.state.listing import Entry, Listing
from vakra_tui.text import one_line
from vakra_tui.widgets.banner import Banner
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.clean_input import CleanInput
from vakra_tui.widgets.instance_list import ColumnHead, InstanceList
from vakra_tui.widgets.pick_list import PickList
from vakra_tui.working import work

if TYPE_CHECKING:
    from vakra_tui.app import VakraApp


OFFERED = 4
"""Completions told below the list."""

FOLLOW_EVERY_S = 2.0
"""How often files are looked at for changes."""


def completed(text: str, entries: Sequence[Entry]) -> str | None:
    """The line with the first completion of its begun word; None where it is no expression."""
    if "~" not in text:
        return None
    from vakra_tui.state.entry_filter import completed_line

    return completed_line(text, entries)


class FilterSuggester(Suggester):
    """Completes the begun word of an expression."""

    def __init__(self, entries: Callable[[], Sequence[Entry]]) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._entries = entries

    async def get_suggestion(self, value: str) -> str | None:
        return completed(value, self._entries())


class InstancesScreen(NarrowingVerbs):
    """A virtual list with a search line."""

    CSS_PATH = "instances.tcss"
    AUTO_FOCUS = "#instances"
    """Never the search line, which is focusable while it is hidden."""
    CONTEXT: ClassVar[str] = "instances"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)

    app: VakraApp

    def __init__(self) -> None:
        super().__init__()
        self.listing = Listing((), ())
        self._following = asyncio.Lock()
        self.note: Line = line(("opening the dataset \u2026", "dim"))

    def compose(self) -> ComposeResult:
        yield Banner(id="title", tallest=1, cut=True)
        yield Banner(id="hint", tallest=3)
        yield CleanInput(
            placeholder="find words of query, domain, uuid or verdict; or ~cap 4 ~policy applies ~fail tool_sequence",
            suggester=FilterSuggester(lambda: self.listing.entries),
            id="find",
        )
        yield ColumnHead(id="columns", tallest=1, cut=True)
        yield InstanceList(id="instances")
        yield Banner(id="counts", tallest=3)
        yield self.app.footer()

    def on_mount(self) -> None:
        self.field.display = False
        self.set_focus(self.rows)
        self.draw()
        self.set_interval(FOLLOW_EVERY_S, self._look)

    def on_screen_resume(self) -> None:
        """What became known while something was on top of the list is shown now."""
        if self.listing.entries:
            self.changed()

    def welcome(self) -> None:
        """The hint of a first start, until a key is pressed."""
        from vakra_tui.state.panes.head import list_hint

        self.query_one("#hint", Banner).show_lines(list_hint(self.app.key_of))

    def on_key(self) -> None:
        hint = self.query_one("#hint", Banner)
        if hint.display:
            hint.show_lines([])
            self.app.hint_seen()

    def take(self, listing: Listing) -> None:
        """Show a list."""
        self.listing = listing
        self.note = ()
        if self.is_attached:
            self.rows.show(listing)
            self.changed()

    def draw(self) -> None:
        """Show what has changed in the rows; cursor and position stay."""
        if not self.is_attached:
            return
        listing = self.listing
        counts = listing.counts()
        width = max(self.rows.scrollable_content_region.width, 20)
        head = listing.head(width - 2)
        runs = ", ".join(one_line(run, 30) for run in listing.runs)
        title = line(
            (" vakra-tui ", "title"),
            (f" {one_line(self.app.dataset_name, 80)}", "accent"),
            (f"   runs: {runs}" if runs else "", "dim"),
            (f"   {words}" if (words := listing.title_words()) else "", "accent"),
        )
        self.query_one("#title", Banner).show_lines([title])
        self.query_one("#columns", Banner).show_lines([(*line("  "), *head)])
        self.rows.reload()
        about = self.note or line((f" {counts}", "dim"), *self.app.problem_words())
        others = listing.others_words()
        told = [self._about_filter(), self._about_files(), line((f" {others}", "dim")) if others else (), about]
        self.query_one("#counts", Banner).show_lines([each for each in told if each])
        if listing.is_long:
            self.count_beside()

    def _about_filter(self) -> Line:
        """How the expression in the search line can go on, else why it cannot be read."""
        offered = []
        if self.insisted and self.listing.problem:
            return line((f" not applied: {self.listing.problem}", "warn"), ("  the rows are those of before", "dim"))
        if self.field.has_focus and "~" in self.field.value:
            from vakra_tui.state.entry_filter import completions

            offered = completions(self.field.value, self.listing.entries)
        if offered and (offered[0].replaces or self.listing.problem):
            words = "  ".join(f"{one_line(each.text, 30)} ({each.meaning})" for each in offered[:OFFERED])
            more = f"  and {len(offered) - OFFERED} more" if len(offered) > OFFERED else ""
            return line((f" {key('instances.complete')}: ", "accent"), (words + more, "dim"))
        if self.listing.problem:
            return line((f" {self.listing.problem}", "warn"))
        if self.asked.strip() and not self.listing.shown and self.listing.entries:
            return line((" no row matches", "warn"), (f"; {key('instances.clear')} shows all again", "dim"))
        return ()

    def _about_files(self) -> Line:
        """Which files are being written, and which were taken away."""
        again = key("instances.look-again")
        told: list[Span] = []
        for what, names, then in (
            ("being written", self.listing.busy, f"; its rows stay as they were ({again} reads it as it is)"),
            ("taken away", self.listing.gone, f"; its rows stay as they were read ({again} lets them go)"),
        ):
            if names:
                listed = ", ".join(one_line(name, 40) for name in names[:3]) + (" \u2026" if len(names) > 3 else "")
                told += [Span(f" {what}: {listed}", "warn"), Span(then, "dim")]
        return tuple(told)

    def on_resize(self) -> None:
        self.call_after_refresh(self.draw)

    @property
    def chosen(self) -> int | None:
        """Index of the row under the cursor among those shown."""
        return self.rows.cursor if self.listing.shown else None

    @property
    def entry(self) -> Entry | None:
        """The row under the cursor."""
        return self.listing.shown[self.chosen] if self.chosen is not None else None

    def in_sight(self) -> Sequence[Entry]:
        """The rows that can be seen."""
        if not self.is_attached:
            return ()
        top = self.rows.scroll_offset.y
        return self.listing.shown[top : top + self.rows.size.height]

    @on(DescendantFocus)
    @on(DescendantBlur)
    def _keyboard_moved(self) -> None:
        """How an expression can go on is told while it is written only."""
        if "~" in self.field.value:
            self.draw()

    @on(ColumnHead.Clicked)
    def _head_clicked(self, message: ColumnHead.Clicked) -> None:
        column = self.listing.column_at(message.x - 2)
        if column is not None:
            self.sort_by(column)

    def action_complete(self) -> None:
        """In the search line take the first completion; elsewhere go to the next part of the screen."""
        line_ = completed(self.field.value, self.listing.entries) if self.field.has_focus else None
        if line_ is None:
            self.focus_next()
            return
        self.field.value = line_ + " "
        self.field.cursor_position = len(self.field.value)

    # --- rows --------------------------------------------------------------------------------------------------------

    def action_open(self) -> None:
        if self.entry is not None:
            self.app.open_entry(self.entry)

    @on(PickList.Chosen, "#instances")
    def _picked(self) -> None:
        self.action_open()

    def action_evaluate(self) -> None:
        if self.entry is None:
            return
        if any(self.entry.waits_for(run) for run in self.listing.runs):
            self.app.evaluate_entries([self.entry])
        else:
            self.app.toast("Everything of this row is scored." if self.listing.runs else "No run is open.")

    def action_evaluate_all(self) -> None:
        self.app.evaluate_entries(list(self.listing.shown))

    @on(InstanceList.Marked)
    def _mark_row(self) -> None:
        self.action_mark()

    def action_mark(self) -> None:
        """Mark the row under the cursor, or take the mark away, and go to the next."""
        if self.entry is not None:
            self.entry.marked = not self.entry.marked
            self.rows.action_move(1)
            self.draw()
            self._keep_marks()

    def action_mark_all(self) -> None:
        """Mark all rows that are shown; where all are marked, take the marks away."""
        shown = self.listing.shown
        marked = not all(entry.marked for entry in shown)
        for entry in shown:
            entry.marked = marked
        self.draw()
        self._keep_marks()

    @work(exclusive=True, group="marks")
    async def _keep_marks(self) -> None:
        try:
            await self.app.engine.call(self.app.world.keep_marks)
        except VakraError as error:
            self.app.toast(f"Marks hold until the end only: {error}", warn=True)

    def action_compare(self) -> None:
        """Two runs of the instance under the cursor, side by side."""
        from vakra_tui.screens.comparing import compare_runs

        if self.entry is not None:
            compare_runs(self.app, self.entry)

    def action_scores(self) -> None:
        from vakra_tui.screens.scores import open_scores

        open_scores(self.app)

    def action_sessions(self) -> None:
        """The sessions that were stored."""
        from vakra_tui.screens.sessions import SessionsScreen

        self.app.push_screen(SessionsScreen())

    # --- files that are rewritten ------------------------------------------------------------------------------------

    @work(group="following")
    async def action_look_again(self) -> None:
        """Read changed files now, as they are."""
        if not await self._follow(as_it_is=True):
            left = (*self.listing.busy, *self.listing.gone)
            words = (
                f"Without {', '.join(left[:3])} nothing can be read anew."
                if left
                else "No file has changed since it was read."
            )
            self.app.toast(words, warn=bool(left))

    @work(group="following")
    async def _look(self) -> None:
        """Look whether files have changed, unless that is still being done."""
        if not self._following.locked():
            await self._follow()

    async def _follow(self, *, as_it_is: bool = False) -> bool:
        """Take up files that have changed; the cursor stays on its row. Whether anything was taken up."""
        if not self.app.opened:
            return False
        async with self._following:
            before = (self.listing.busy, self.listing.gone)
            try:
                taken = await self.app.engine.run(self.app.world.follow(as_it_is=as_it_is))
            except VakraError as error:
                self.app.report(str(error), title="Changed files cannot be read")
                return True
            if taken:
                self.search(self.asked)
                await self.app.read_rows()
            if taken or before != (self.listing.busy, self.listing.gone):
                self.draw()
            return taken
