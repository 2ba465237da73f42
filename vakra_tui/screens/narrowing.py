"""What narrows and orders the list of instances: search, filters by name, sorting, a choice made elsewhere."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import BindingType
from textual.timer import Timer

from toolenv.errors import VakraError
from vakra_tui.screens.choice import ChoiceScreen
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.entry import EntryKey
from vakra_tui.state.listing import Found, Listing, Only, Order
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.clean_input import CleanInput
from vakra_tui.widgets.pick_list import PickList
from vakra_tui.widgets.turns import Screen
from vakra_tui.working import work

if TYPE_CHECKING:
    from vakra_tui.app import VakraApp

CATCH_UP_S = 0.4
"""How long rows that become known wait until a long list is searched again."""

DIFFERING = "~differs"
FILE_ORDER = "file order"


class SortScreen(ChoiceScreen):
    """The columns to sort by; the key that opened it chooses as well, so that twice the key sorts the other way."""

    CONTEXT: ClassVar[str] = "sort"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)

    def action_again(self) -> None:
        self.query_one("#choices", PickList).action_choose()


class NarrowingVerbs(Screen[None]):
    """The part of the list's screen that chooses which rows are shown, and in which order."""

    app: VakraApp
    listing: Listing
    asked: str = ""
    """What was searched for last; with many rows the listing gets there a little later."""
    insisted = False
    """Whether an expression that cannot be read was entered: then why is told, not how it can go on."""
    _due: Timer | None = None
    _uncounted = False
    _counting = False

    def draw(self) -> None:
        """Show what has changed in the rows."""
        raise NotImplementedError

    @property
    def field(self) -> CleanInput:
        """The search line."""
        return self.query_one("#find", CleanInput)

    @property
    def rows(self) -> PickList:
        return self.query_one("#instances", PickList)

    @property
    def under_cursor(self) -> EntryKey | None:
        """Which row the cursor is on."""
        shown = self.listing.shown
        return shown[self.rows.cursor].key if self.rows.cursor < len(shown) else None

    # --- searching ---------------------------------------------------------------------------------------------------

    def search(self, text: str, *, stay: bool = True) -> None:
        """Show what ``text`` finds; ``stay`` keeps the cursor on its row. A long list is searched beside the screen."""
        self.asked = text
        if self.listing.is_long:
            self._search_beside(text, stay)
        else:
            self._show(self.listing.found(text), stay)

    @work(exclusive=True, group="search")
    async def _search_beside(self, text: str, stay: bool) -> None:
        listing = self.listing
        found = await asyncio.to_thread(listing.found, text)
        if listing is self.listing:
            self._show(found, stay)

    def stand_on(self, key: EntryKey) -> None:
        """Put the cursor on a row, where it is shown."""
        index = self.listing.index_of(key)
        if index is not None:
            self.rows.place(index)

    def restore(self, find: str, order: Order | None, key: EntryKey) -> None:
        """Come back to a search, an order and a row."""
        self.stand_on(key)
        if order is not None and order.by in (name for name, _ in self.listing.orders()):
            self.listing.order = order
        if find:
            with self.prevent(CleanInput.Changed):
                self.field.value = find
            self.field.display = True
        if find or self.listing.order is not None:
            self.search(find)

    def _show(self, found: Found, stay: bool) -> None:
        key = self.under_cursor
        self.listing.take(found)
        index = self.listing.index_of(key) if stay else 0
        self.rows.show(self.listing, keep=stay)
        self.rows.place(index if index is not None else self.rows.cursor)
        self.draw()

    def changed(self) -> None:
        """More is known of some rows: what is shown follows; the cursor stays on its row.

        A long list is not searched for every row that becomes known, but a few times a second.
        """
        if not (self.asked.strip() or self.listing.order):
            self.draw()
        elif not self.listing.is_long:
            self.search(self.asked)
        elif self._due is None:
            self._due = self.set_timer(CATCH_UP_S, self._catch_up)

    def _catch_up(self) -> None:
        self._due = None
        self.search(self.asked)

    def count_beside(self) -> None:
        """Count the rows of a long list beside the screen; what changes meanwhile is counted after that."""
        self._uncounted = True
        if not self._counting:
            self._counting = True
            self._count()

    @work(group="counting")
    async def _count(self) -> None:
        try:
            while self._uncounted:
                self._uncounted = False
                listing = self.listing
                found = await asyncio.to_thread(listing.count)
                if listing is self.listing and found != listing.counted:
                    listing.counted = found
                    changed = self._uncounted
                    self.draw()
                    self._uncounted = changed  # Drawing what was counted is no change.
        finally:
            self._counting = False

    def action_find(self) -> None:
        """Go to the search line at once, so that letters typed behind the key get there."""
        self.field.display = True
        self.set_focus(self.field)

    @on(CleanInput.Changed, "#find")
    def _searched(self, event: CleanInput.Changed) -> None:
        self.insisted = False
        self.search(event.value, stay=False)

    @on(CleanInput.Submitted, "#find")
    def _found(self) -> None:
        """To the rows; an expression that cannot be read keeps the keyboard, for the rows are not those it asks for."""
        self.insisted = bool(self.listing.problem)
        if self.insisted:
            self.draw()
        else:
            self.set_focus(self.rows)

    def action_differing(self) -> None:
        """Only the instances that the runs fare differently on, or all again."""
        self._narrow("" if self.field.value.strip() == DIFFERING else DIFFERING)

    def _narrow(self, text: str) -> None:
        self.field.value = text
        self.field.display = bool(text)

    def action_clear(self) -> None:
        """Take away what narrows the list: the search first, then a choice that was made elsewhere."""
        if self.field.value:
            with self.prevent(CleanInput.Changed):  # A change of the text goes to the first row; here the row stays.
                self._narrow("")
            self.insisted = False
            self.search("")
        elif self.listing.only is not None and not self.field.has_focus:
            self.listing.only = None
            self.search(self.asked)
        self.field.display = False
        self.set_focus(self.rows)

    def show_only(self, keys: frozenset[EntryKey], words: str) -> None:
        """Show exactly these rows, and say why in ``words``; escape shows all again."""
        self.listing.only = Only(keys, words)
        if self.field.value:
            self._narrow("")
        self.search("", stay=False)

    # --- filters by name ---------------------------------------------------------------------------------------------

    @work(exclusive=True, group="filters")
    async def action_filters(self) -> None:
        """Choose one of the filters that were kept."""
        from vakra_tui.screens.filters import FiltersScreen

        filters = self.app.world.filters
        text = await self.app.push_screen_wait(FiltersScreen(filters, await self.app.engine.call(filters.all)))
        if text is not None:
            self._narrow(text)
            self.set_focus(self.rows)

    @work(exclusive=True, group="filters")
    async def action_keep_filter(self) -> None:
        """Keep what stands in the search line under a name."""
        from vakra_tui.screens.ask import AskScreen

        text = self.field.value.strip()
        if not text or self.listing.problem:
            self.app.toast("There is no filter to keep: / finds words or filters first.", warn=True)
            return
        name = await self.app.push_screen_wait(AskScreen(f"Keep {text} under which name?"))
        if not name:
            return
        try:
            await self.app.engine.call(self.app.world.filters.keep, name, text)
        except VakraError as error:
            self.app.report(str(error))
            return
        self.app.toast(f"Kept as {name}; {key('instances.filters')} chooses it.")

    # --- sorting -----------------------------------------------------------------------------------------------------

    @work(exclusive=True, group="filters")
    async def action_sort(self) -> None:
        """Choose by which column to sort; the one in use again sorts the other way round."""
        choices = [*self.listing.orders(), (FILE_ORDER, "as the files have them, or the best match first")]
        chosen = self.listing.order.by if self.listing.order is not None else ""
        picked = await self.app.push_screen_wait(SortScreen("Sort by", choices, chosen=chosen))
        if picked is not None:
            self.sort_by(None if picked == FILE_ORDER else picked)

    def sort_by(self, column: str | None) -> None:
        """Sort, and show the top."""
        self.listing.sort(column)
        self.search(self.asked, stay=False)

    def action_turn_runs(self, steps: int) -> None:
        """Show the verdicts of other runs where not all fit."""
        self.listing.turn_runs(steps)
        self.draw()
