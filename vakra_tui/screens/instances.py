"""The list of instances: what there is, what each run made of it, and the way into the debugger."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from vakra_tui.state.lines import Line, line
from vakra_tui.state.listing import Listing
from vakra_tui.text import one_line
from vakra_tui.widgets.banner import Banner
from vakra_tui.widgets.clean_input import CleanInput
from vakra_tui.widgets.pick_list import PickList

if TYPE_CHECKING:
    from vakra_tui.app import VakraApp


class InstancesScreen(Screen[None]):
    """A virtual list with a search line."""

    CSS_PATH = "instances.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open", show=True),
        Binding("slash", "find", "find"),
        Binding("v", "evaluate", "evaluate"),
        Binding("V", "evaluate_all", "evaluate all"),
        Binding("escape", "clear", "clear", show=False),
        Binding("question_mark,f1", "app.help", "help"),
        Binding("q", "app.quit", "quit"),
    ]

    app: VakraApp

    def __init__(self) -> None:
        super().__init__()
        self.listing = Listing((), ())
        self.note: Line = line(("opening the dataset \u2026", "dim"))

    def compose(self) -> ComposeResult:
        yield Banner(id="title", tallest=1, cut=True)
        yield CleanInput(placeholder="find: every word must occur in query, domain, uuid or verdict", id="find")
        yield Banner(id="columns", tallest=1, cut=True)
        yield PickList(id="instances")
        yield Banner(id="counts", tallest=2)
        yield self.app.footer()

    def on_mount(self) -> None:
        self.query_one("#find").display = False
        self.query_one("#instances").focus()
        self.draw()

    def take(self, listing: Listing) -> None:
        """Show a list."""
        self.listing = listing
        self.note = ()
        if self.is_attached:
            self.query_one("#instances", PickList).show(listing)
            self.draw()

    def draw(self) -> None:
        """Show what has changed in the rows; cursor and position stay."""
        if not self.is_attached:
            return
        title = [(" vakra-tui ", "title"), (f" {one_line(self.app.dataset_name, 80)}", "accent")]
        runs = ", ".join(one_line(run, 30) for run in self.listing.runs)
        self.query_one("#title", Banner).show_lines([line(*title, (f"   runs: {runs}" if runs else "", "dim"))])  # type: ignore[arg-type]
        listed = self.query_one("#instances", PickList)
        width = max(listed.scrollable_content_region.width, 20)
        self.query_one("#columns", Banner).show_lines([(*line("  "), *self.listing.head(width - 2))])
        listed.reload()
        counts = self.note or line((f" {self.listing.counts()}", "dim"), *self.app.problem_words())
        self.query_one("#counts", Banner).show_lines([counts])

    def on_resize(self) -> None:
        self.call_after_refresh(self.draw)

    @property
    def chosen(self) -> int | None:
        """Index of the row under the cursor among those shown."""
        return self.query_one("#instances", PickList).cursor if self.listing.shown else None

    def action_find(self) -> None:
        field = self.query_one("#find", CleanInput)
        field.display = True
        field.focus()

    @on(CleanInput.Changed, "#find")
    def _searched(self, event: CleanInput.Changed) -> None:
        self.listing.find(event.value)
        self.query_one("#instances", PickList).show(self.listing)
        self.draw()

    @on(CleanInput.Submitted, "#find")
    def _found(self) -> None:
        self.query_one("#instances").focus()

    def action_clear(self) -> None:
        field = self.query_one("#find", CleanInput)
        if field.value:
            field.value = ""
        field.display = False
        self.query_one("#instances").focus()

    def action_open(self) -> None:
        if self.chosen is not None:
            self.app.open_entry(self.listing.shown[self.chosen])

    @on(PickList.Chosen, "#instances")
    def _picked(self) -> None:
        self.action_open()

    def action_evaluate(self) -> None:
        if self.chosen is not None:
            self.app.evaluate_entries([self.listing.shown[self.chosen]])

    def action_evaluate_all(self) -> None:
        self.app.evaluate_entries(list(self.listing.shown))
