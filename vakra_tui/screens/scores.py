"""The scores: figures of the runs and of opened reports as bars, and from each the way to the instances behind it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType

from toolenv.errors import VakraError
from vakra_tui.state.lines import line
from vakra_tui.state.plots import BLOCKS, PLAIN, signs_for
from vakra_tui.state.score_behind import behind_line, keys_of
from vakra_tui.state.score_rows import ScoreRows
from vakra_tui.state.score_texts import Row
from vakra_tui.state.scores import (
    READ_AT_ONCE,
    Meeting,
    Source,
    groups_of,
    meetings,
    read_groups,
    report_source,
    run_source,
)
from vakra_tui.text import count_words, one_line
from vakra_tui.widgets.banner import Banner
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.pick_list import PickList
from vakra_tui.widgets.turns import Screen
from vakra_tui.working import work

if TYPE_CHECKING:
    from vakra_tui.app import VakraApp
    from vakra_tui.state.entry import EntryKey

NAME = "scores"
LOOK_EVERY_S = 1.0
"""How often the screen looks whether verdicts have come in."""


class ScoresScreen(Screen[None]):
    """One screen for as long as the program runs: reports stay open and the cursor stays where it was."""

    CONTEXT: ClassVar[str] = "scores"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)
    CSS_PATH = "scores.tcss"

    app: VakraApp

    def __init__(self) -> None:
        super().__init__()
        self.sources: tuple[Source, ...] = ()
        self.met: tuple[Meeting, ...] = ()
        self._reports: list[Source] = []
        self._signs = signs_for()
        self._known = -1
        self._reading = ""
        self._narrow = False

    def compose(self) -> ComposeResult:
        yield Banner(id="scores-title", tallest=1, cut=True)
        yield PickList(ScoreRows(()), id="scores")
        yield Banner(id="scores-behind", tallest=2)
        yield self.app.footer()

    def on_mount(self) -> None:
        self.query_one("#scores").focus()
        self.set_interval(LOOK_EVERY_S, self._look)

    def on_screen_resume(self) -> None:
        self._gather()

    def _look(self) -> None:
        """Take up verdicts that came in since."""
        if self.is_current:
            self._draw_title()
        if self.is_current and not self._reading and self._verdicts() != self._known:
            self._gather()

    def _verdicts(self) -> int:
        return sum(len(entry.verdicts) for entry in self.app.world.listing.entries)

    @work(exclusive=True, group="figures")
    async def _gather(self) -> None:
        """Compute the figures of all runs in the engine thread, and show them."""
        world = self.app.world
        entries = world.listing.entries
        self._known = self._verdicts()
        try:
            for start in range(0, len(entries), READ_AT_ONCE):
                chunk = entries[start : start + READ_AT_ONCE]
                if any(entry.slices is None for entry in chunk):
                    self._say(f"reading records {start:,} of {len(entries):,} \u2026")
                    await self.app.engine.call(read_groups, world, chunk)
            wanted = list(world.listing.shown) if self._narrow else entries
            runs = [await self.app.engine.call(run_source, world, run, wanted) for run in world.listing.runs]
            self.sources = (*(run for run in runs if run.lines or not self._reports), *self._reports)
            self.met = tuple(await self.app.engine.call(meetings, self.sources))
        except VakraError as error:
            self.app.report(str(error), title="No scores")
            return
        finally:
            self._reading = ""
        self._show()

    def _say(self, words: str) -> None:
        self._reading = words
        self._draw_title()

    # --- showing -----------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        view = self.query_one("#scores", PickList)
        cursor = view.cursor
        view.show(ScoreRows(self.sources, self.met, self._signs), keep=True)
        view.place(cursor)
        self._draw_title()
        self._draw_behind()

    def _draw_title(self) -> None:
        parts = [(" Scores ", "title")]
        for source in self.sources:
            words = f"  {source.name if source.kind == 'run' else 'report ' + source.name}"
            waiting = f", {source.waiting} not scored yet" if source.waiting else ""
            parts += [(one_line(words, 40), "accent"), (f" {source.counted} counted{waiting}", "dim"), ("  ", "")]
        if self._narrow:
            parts.append(
                (f"of the {count_words(len(self.app.world.listing.shown), 'row')} shown in the list  ", "warn")
            )
        if busy := self._reading or self.app.evaluating:
            parts.append((busy, "warn"))
        self.query_one("#scores-title", Banner).show_lines([line(*parts)])  # type: ignore[arg-type]

    @property
    def rows(self) -> ScoreRows:
        source = self.query_one("#scores", PickList).source
        assert isinstance(source, ScoreRows)
        return source

    @property
    def row(self) -> Row | None:
        """The row under the cursor."""
        cursor, rows = self.query_one("#scores", PickList).cursor, self.rows.rows
        return rows[cursor] if cursor < len(rows) else None

    @work(exclusive=True, group="behind")
    async def _draw_behind(self) -> None:
        """Say what stands behind the row under the cursor; beside the event loop, since it goes through all lines."""
        known = {entry.key for entry in self.app.world.listing.entries}
        words = await asyncio.to_thread(behind_line, self.row, self.sources, known)
        self.query_one("#scores-behind", Banner).show_lines([words])

    @on(PickList.Moved, "#scores")
    def _moved(self) -> None:
        self._draw_behind()

    @on(PickList.Chosen, "#scores")
    def _chosen(self) -> None:
        self.action_instances()

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw_behind)

    # --- keys --------------------------------------------------------------------------------------------------------

    def action_instances(self) -> None:
        self._list(failed=False)

    def action_failed(self) -> None:
        self._list(failed=True)

    def _list(self, *, failed: bool) -> None:
        keys, row = keys_of(self.row, self.sources, failed=failed), self.row
        if keys is None or row is None:
            self.app.toast("There are no instances behind this row.")
            return
        if not keys:
            self.app.toast("No instance is counted here.")
            return
        words = f"{row.words}, not right" if failed else row.words
        show_in_list(self.app, keys, words)

    def action_section(self, step: int) -> None:
        view = self.query_one("#scores", PickList)
        heading = self.rows.heading_after(view.cursor, step)
        view.scroll_to(y=heading, animate=False, force=True)
        view.place(heading)
        self._draw_behind()

    def action_shown_rows(self) -> None:
        """Figures of the runs on the rows that the list shows, or on all again."""
        self._narrow = not self._narrow
        self._gather()

    def action_signs(self) -> None:
        self._signs = PLAIN if self._signs is BLOCKS else BLOCKS
        self._show()

    def action_evaluate(self) -> None:
        """Score every row that a run waits for; the figures follow."""
        world = self.app.world
        waiting = [entry for entry in world.listing.entries if any(entry.waits_for(run) for run in world.listing.runs)]
        if not waiting or not world.listing.runs:
            self.app.toast("All that can be scored is scored." if world.listing.runs else "No run is open.")
            return
        self.app.toast(f"Scoring {count_words(len(waiting), 'instance')}; the figures follow.")
        self.app.evaluate_entries(waiting)

    @work(exclusive=True, group="reports")
    async def action_open_report(self) -> None:
        from vakra_tui.screens.ask import AskScreen

        note = "a file that --out wrote; its figures stand beside those of the runs"
        written = await self.app.push_screen_wait(AskScreen("Report to open", note=note))
        if not written:
            return
        taken = [source.name for source in self.sources]
        try:
            groups = await self.app.engine.call(groups_of, self.app.world)
            report = await self.app.engine.call(report_source, written, groups, taken)
        except VakraError as error:
            self.app.report(str(error), title="That report cannot be opened")
            return
        self._reports.append(report)
        self._gather()

    def action_close_report(self) -> None:
        row = self.row
        source = self.sources[row.source] if row is not None and row.source < len(self.sources) else None
        if source is None or source.kind != "report":
            self.app.toast("The cursor is not on a figure of a report.")
            return
        self._reports = [report for report in self._reports if report is not source]
        self._gather()

    def action_leave(self) -> None:
        self.app.pop_screen()


def open_scores(app: VakraApp) -> None:
    """Show the scores, as they were left."""
    if not app.is_screen_installed(NAME):
        app.install_screen(ScoresScreen(), NAME)
    if app.get_screen(NAME) not in app.screen_stack:
        app.push_screen(NAME)


def show_in_list(app: VakraApp, keys: frozenset[EntryKey], words: str) -> None:
    """Leave for the list, which shows exactly these instances until its search is taken away."""
    from vakra_tui.screens.debugger import DebuggerScreen

    there = keys & {entry.key for entry in app.world.listing.entries}
    if not there:
        app.toast("None of these instances is in the dataset that is open.", warn=True)
        return
    while app.screen is not app.instances and len(app.screen_stack) > 1:
        if isinstance(app.screen, DebuggerScreen):
            app.show_list()
        else:
            app.pop_screen()
    absent = len(keys) - len(there)
    app.instances.show_only(there, words + (f" ({absent:,} more are in no row here)" if absent else ""))
