"""The filters that were kept: choose one, or delete one's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from toolenv.errors import VakraError
from vakra_tui.render import content
from vakra_tui.screens.choice import ChoiceScreen
from vakra_tui.state.cells import cell
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.lines import Line, Lines, Role, line
from vakra_tui.state.saved_filters import SavedFilter, SavedFilters
from vakra_tui.text import one_line
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.pick_list import PickList
from vakra_tui.widgets.turns import ModalScreen
from vakra_tui.working import work

if TYPE_CHECKING:
    from vakra_tui.app import VakraApp

NAME_CELLS = 22
ROWS = 14


def filter_line(each: SavedFilter) -> Line:
    """One row: the name, and what it stands for."""
    role: Role = "strong" if each.own else ""
    return line((cell(each.name, NAME_CELLS) + " ", role), (one_line(each.text, 200), "dim"))


class FiltersScreen(ModalScreen[str | None]):
    """Gives the text of the filter that was chosen."""

    CSS_PATH = "dialog.tcss"
    CONTEXT: ClassVar[str] = "filters"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)

    app: VakraApp

    def __init__(self, filters: SavedFilters, listed: Sequence[SavedFilter]) -> None:
        super().__init__()
        self._filters = filters
        self._listed = list(listed)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(content("Filters"), classes="dialog-title", markup=False)
            yield PickList(id="filters")
            note = (
                f"{key('list.choose')} filters, {key('filters.delete')} deletes one of yours (bold), "
                f"{key('filters.leave')} leaves; {key('instances.keep-filter')} in the list keeps a filter"
            )
            yield Static(content(note), classes="dialog-note", markup=False)

    def on_mount(self) -> None:
        self._show()
        self.query_one("#filters").focus()

    def _show(self, cursor: int = 0) -> None:
        listed = self.query_one("#filters", PickList)
        listed.show(Lines([filter_line(each) for each in self._listed], wrapped=False))
        listed.styles.height = min(len(self._listed), ROWS)
        listed.place(cursor)

    @property
    def _chosen(self) -> SavedFilter:
        return self._listed[self.query_one("#filters", PickList).cursor]

    @on(PickList.Chosen, "#filters")
    def _picked(self) -> None:
        self.dismiss(self._chosen.text)

    @work(exclusive=True)
    async def action_delete(self) -> None:
        """Delete one of the person's own, after asking."""
        chosen = self._chosen
        if not chosen.own:
            self.app.toast("This one is always there; only your own can be deleted.")
            return
        choices = (("keep it", "nothing changes"), ("delete it", one_line(chosen.text, 60)))
        if await self.app.push_screen_wait(ChoiceScreen(f"Delete the filter {chosen.name}?", choices)) != "delete it":
            return
        try:
            await self.app.engine.call(self._filters.delete, chosen.name)
        except VakraError as error:
            self.app.report(str(error))
            return
        self._listed = await self.app.engine.call(self._filters.all)
        self._show(min(self.query_one("#filters", PickList).cursor, len(self._listed) - 1))

    def action_leave(self) -> None:
        self.dismiss(None)
