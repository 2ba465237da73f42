"""The list of instances: what there is, what each run made of it, and the way into the debugger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen
from textual.suggester import Suggester

from vakra_tui.state.lines import Line, line
from vakra_tui.state.listing import Entry, Listing
from vakra_tui.text import one_line
from vakra_tui.widgets.banner import Banner
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.clean_input import CleanInput
from vakra_tui.widgets.pick_list import PickList

if TYPE_CHECKING:
    from vakra_tui.app import VakraApp


OFFERED = 4
"""Completions told below the list."""

DIFFERING = "~differs"


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


class InstancesScreen(Screen[None]):
    """A virtual list with a search line."""

    CSS_PATH = "instances.tcss"
    CONTEXT: ClassVar[str] = "instances"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)

    app: VakraApp

    def __init__(self) -> None:
        super().__init__()
        self.listing = Listing((), ())
        self.note: Line = line(("opening the dataset \u2026", "dim"))

    def compose(self) -> ComposeResult:
        yield Banner(id="title", tallest=1, cut=True)
        yield CleanInput(
            placeholder="find words of query, domain, uuid or verdict; or ~cap 4 ~policy applies ~fail tool_sequence",
            suggester=FilterSuggester(lambda: self.listing.entries),
            id="find",
        )
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
        said = self._about_filter()
        self.query_one("#counts", Banner).show_lines([said, counts] if said else [counts])

    def _about_filter(self) -> Line:
        """How the expression in the search line can go on, else why it cannot be read."""
        field = self.query_one("#find", CleanInput)
        offered = []
        if field.has_focus and "~" in field.value:
            from vakra_tui.state.entry_filter import completions

            offered = completions(field.value, self.listing.entries)
        if offered and (offered[0].replaces or self.listing.problem):
            words = "  ".join(f"{one_line(each.text, 30)} ({each.meaning})" for each in offered[:OFFERED])
            more = f"  and {len(offered) - OFFERED} more" if len(offered) > OFFERED else ""
            return line((" tab: ", "accent"), (words + more, "dim"))
        return line((f" {self.listing.problem}", "warn")) if self.listing.problem else ()

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

    def action_complete(self) -> None:
        """In the search line take the first completion; elsewhere go to the next part of the screen."""
        field = self.query_one("#find", CleanInput)
        line_ = completed(field.value, self.listing.entries) if field.has_focus else None
        if line_ is None:
            self.focus_next()
            return
        field.value = line_ + " "
        field.cursor_position = len(field.value)

    def action_differing(self) -> None:
        """Only the instances that the runs fare differently on, or all again."""
        field = self.query_one("#find", CleanInput)
        field.display = True
        field.value = "" if field.value.strip() == DIFFERING else DIFFERING
        field.display = bool(field.value)

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
