"""The stored sessions: look through, search by content, open again, delete."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType

from sessions.store.records import SessionSummary
from toolenv.errors import VakraError
from vakra_tui.screens.choice import ChoiceScreen
from vakra_tui.state.lines import Line, line
from vakra_tui.state.session_list import Row, SessionList, about, index_of, needed, place_of, read_part, session_of
from vakra_tui.text import count_words, one_line
from vakra_tui.widgets.banner import Banner
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.clean_input import CleanInput
from vakra_tui.widgets.pick_list import PickList
from vakra_tui.widgets.turns import Screen
from vakra_tui.working import work

if TYPE_CHECKING:
    from vakra_tui.app import VakraApp


class SessionsScreen(Screen[None]):
    """A virtual list that reads the store a page at a time, with a search line."""

    CSS_PATH = "instances.tcss"
    AUTO_FOCUS = "#sessions"
    """Never the search line, which is focusable while it is hidden."""
    CONTEXT: ClassVar[str] = "sessions"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)

    app: VakraApp

    def __init__(self) -> None:
        super().__init__()
        self.listed = SessionList("")
        self._data_path: Path | None = None

    def compose(self) -> ComposeResult:
        yield Banner(id="title", tallest=1, cut=True)
        yield CleanInput(placeholder='find words in calls, responses and answers; "in quotes" a phrase', id="find")
        yield Banner(id="columns", tallest=1, cut=True)
        yield PickList(id="sessions")
        yield Banner(id="counts", tallest=4)
        yield self.app.footer()

    def on_mount(self) -> None:
        self.field.display = False
        self.set_focus(self.rows)
        self.watch(self.rows, "scroll_y", self._in_sight, init=False)

    def on_screen_resume(self) -> None:
        """Shown, or shown again: what happened to sessions meanwhile is read."""
        self.read()

    @property
    def field(self) -> CleanInput:
        return self.query_one("#find", CleanInput)

    @property
    def rows(self) -> PickList:
        return self.query_one("#sessions", PickList)

    @property
    def row(self) -> Row | None:
        """The row under the cursor."""
        rows = self.listed.rows
        return rows[self.rows.cursor] if self.rows.cursor < len(rows) else None

    # --- reading -----------------------------------------------------------------------------------------------------

    @work(exclusive=True, group="sessions")
    async def read(self, *, stay: bool = True) -> None:
        """Read the first page anew; ``stay`` keeps the cursor on its row where that is still there."""
        chosen = self.row
        fresh = SessionList(self.listed.here, self.listed.asked)
        try:
            fresh.here, self._data_path = await self.app.engine.call(self.app.world.place)
            fresh.add(await self.app.engine.run(read_part(self.app.world.keeping, fresh.asked, None)))
        except VakraError as error:
            fresh.problem, fresh.more = str(error), False
        self.listed = fresh
        self.rows.show(fresh)
        place = index_of(fresh.rows, chosen) if stay else None
        self.rows.place(place or 0)
        self.draw()

    @work(exclusive=True, group="more sessions")
    async def _read_more(self) -> None:
        listed = self.listed
        try:
            part = await self.app.engine.run(read_part(self.app.world.keeping, listed.asked, listed.rows[-1]))
        except VakraError as error:
            listed.problem, listed.more = str(error), False
        else:
            if listed is self.listed:
                listed.add(part)
        self.rows.reload()
        self.draw()

    def _in_sight(self) -> None:
        """Read on where the last rows come into sight."""
        if self.listed.rows and self.listed.wants_more(self.rows.scroll_offset.y + self.rows.size.height):
            self._read_more()

    @on(PickList.Moved, "#sessions")
    def _moved(self, message: PickList.Moved) -> None:
        self._in_sight()
        self.draw()

    # --- showing -----------------------------------------------------------------------------------------------------

    def draw(self) -> None:
        if not self.is_attached:
            return
        width = max(self.rows.scrollable_content_region.width, 20)
        title = line((" sessions ", "title"), (f" {one_line(self.app.dataset_name, 80)}", "accent"))
        self.query_one("#title", Banner).show_lines([title])
        self.query_one("#columns", Banner).show_lines([(*line("  "), *self.listed.head(width - 2))])
        told: list[Line] = [line((f" {self.listed.counts()}", "dim"))]
        if self.listed.problem:
            told = [line((f" {self.listed.problem}", "warn"))]
        elif self.row is not None:
            session = session_of(self.row)
            told.insert(0, about(session))
            lacking = self._needed(session)
            told += [line((f" {lacking}", "warn"))] if lacking else []
        self.query_one("#counts", Banner).show_lines(told)

    def _needed(self, session: SessionSummary) -> str:
        return needed(session, self.listed.here, self._data_path, exists=lambda path: True)

    def on_resize(self) -> None:
        self.call_after_refresh(self.draw)

    # --- keys --------------------------------------------------------------------------------------------------------

    def action_find(self) -> None:
        self.field.display = True
        self.set_focus(self.field)

    @on(CleanInput.Changed, "#find")
    def _searched(self, event: CleanInput.Changed) -> None:
        self.listed.asked = replace(self.listed.asked, query=event.value)
        self.read(stay=False)

    @on(CleanInput.Submitted, "#find")
    def _found(self) -> None:
        self.set_focus(self.rows)

    def action_batch(self) -> None:
        """Those of batches instead of a person's, or a person's again."""
        kind = self.listed.asked.kind
        self.listed.asked = replace(self.listed.asked, kind="person" if kind == "batch" else "batch")
        self.read(stay=False)

    def action_everything(self) -> None:
        """Those that were merely looked at too, or not."""
        self.listed.asked = replace(self.listed.asked, everything=not self.listed.asked.everything)
        self.read()

    def action_open(self) -> None:
        """Open the session at the step that was found, else where it was left; or say what that needs."""
        if self.row is not None:
            self._open(session_of(self.row), place_of(self.row))

    @on(PickList.Chosen, "#sessions")
    def _picked(self) -> None:
        self.action_open()

    @work(exclusive=True, group="opening")
    async def _open(self, session: SessionSummary, place: tuple[int, int] | None) -> None:
        lacking = await self.app.engine.call(needed, session, self.listed.here, self._data_path)
        lacking = lacking or self.app.world.lacking(session)
        if lacking:
            self.app.report(lacking, title="Another start is needed for this session")
        else:
            self.app.open_stored(session, place)

    @work(exclusive=True, group="deleting")
    async def action_delete(self) -> None:
        """Delete the session under the cursor, after asking."""
        if self.row is None:
            return
        session = session_of(self.row)
        size = f"{count_words(session.steps, 'step')}, {count_words(session.branches, 'branch', 'branches')}"
        question = f"Delete the session {session.key} ({size})?\n{one_line(session.query or session.title, 120)}"
        choices = (("keep it", "nothing changes"), ("delete it", "with its notes and verdicts, for good"))
        if await self.app.push_screen_wait(ChoiceScreen(question, choices)) != "delete it":
            return
        try:
            await self.app.engine.run(self.app.world.keeping.delete(session.id))
        except VakraError as error:
            self.app.report(str(error))
            return
        self.listed.remove(session.id)
        self.rows.reload()
        self.rows.place(self.rows.cursor)
        self.draw()
        self.app.toast(f"The session {session.key} is deleted.")

    def action_leave(self) -> None:
        """Take the search away first, then go back."""
        if self.field.value or self.field.has_focus:
            self.field.value = ""
            self.field.display = False
            self.set_focus(self.rows)
        else:
            self.app.pop_screen()
