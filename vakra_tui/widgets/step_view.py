"""The body of the step pane."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message

from toolenv.model import Json
from vakra_tui.state.folded import Folded
from vakra_tui.state.json_tree import JsonTree
from vakra_tui.state.lines import Headed, Line, Span
from vakra_tui.state.panes.call import CallLines
from vakra_tui.state.scene import ArgumentRow
from vakra_tui.state.table_rows import TableRows
from vakra_tui.text import one_line
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.pick_list import PickList


class StepView(PickList):
    """The body of the step pane: a plain view with some exceptions.

    The rows of a JSON tree and of sections can be chosen and folded; of a call the arguments can be chosen; of a table
    the columns.
    """

    CONTEXT: ClassVar[str] = "step"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)

    class SourceWanted(Message):
        """An argument was chosen, to see where its value comes from."""

        def __init__(self, argument: ArgumentRow) -> None:
            super().__init__()
            self.argument = argument

    class SortWanted(Message):
        """A column of the table was chosen."""

        def __init__(self, column: int) -> None:
            super().__init__()
            self.column = column

    class FilterWanted(Message):
        """A filter of the table's rows is to be written."""

    class AgainWanted(Message):
        """What could not be shown is to be read again."""

    class ValueWanted(Message):
        """A scalar of the JSON tree was chosen, to be read whole."""

        def __init__(self, value: object) -> None:
            super().__init__()
            self.value = value

    _stop = 0
    _picked = False

    @property
    def json_tree(self) -> JsonTree | None:
        """The JSON tree that is shown, None for other lines."""
        body = self.source.body if isinstance(self.source, Headed) else self.source
        return body if isinstance(body, JsonTree) else None

    @property
    def above(self) -> int:
        """Rows above the tree."""
        return self.source.above if isinstance(self.source, Headed) else 0

    @property
    def argument(self) -> ArgumentRow | None:
        """The argument that is chosen in the call tab."""
        source = self.source
        return source.stops[self._stop][1] if isinstance(source, CallLines) and source.stops else None

    @property
    def looked_at(self) -> tuple[Json, str]:
        """(the value under the cursor, where it stands in words): of a JSON tree, or of a table's marked column in the
        first row in view. (None, "") where there is none or the keyboard is elsewhere.
        """
        tree, source = self.json_tree, self.source
        if not self.has_focus:
            return None, ""
        if tree is not None and self.cursor >= self.above:
            value = tree.row(self.cursor - self.above).value
            return (None, "") if isinstance(value, dict | list) else (value, "the value under the cursor")
        if isinstance(source, TableRows) and source.columns and source.count:
            row = source.place_at(int(self.scroll_offset.y) + source.sticky)
            name = one_line(source.columns[source.column].name, 40)
            return source.cell(row), f"{name} of the first row in view"
        return None, ""

    @property
    def picked_argument(self) -> ArgumentRow | None:
        """The argument that a person, or a jump to it, has chosen in the call tab; None where none was."""
        return self.argument if self._picked else None

    def show(self, source: object, *, keep: bool = False) -> None:
        self._picked = self._picked and keep
        stops = len(source.stops) if isinstance(source, CallLines) else 0
        self._stop = min(self._stop, max(stops - 1, 0)) if keep else 0
        super().show(source, keep=keep)  # type: ignore[arg-type]
        if not keep and self.json_tree is not None:
            self.place(self.above)

    def shows_cursor(self) -> bool:
        return self.json_tree is not None or isinstance(self.source, Folded)

    def line_at(self, index: int) -> Line:
        content = super().line_at(index)
        source = self.source
        if isinstance(source, CallLines) and source.stops and index == source.stop_row(self._stop):
            first, *rest = content
            return (Span("\u25b8 ", "accent"), Span(first.text[2:], first.role), *rest)
        return content

    # --- keys --------------------------------------------------------------------------------------------------------

    def action_move(self, rows: int) -> None:
        if self.shows_cursor():
            super().action_move(rows)
        elif not self._to_argument(self._stop + rows):
            self.scroll_relative(y=rows, animate=False)

    def choose_argument(self, name: str) -> None:
        """Choose an argument by its name and bring it into view; nothing where the call tab has none of that name."""
        source = self.source
        stops = source.stops if isinstance(source, CallLines) else ()
        number = next((number for number, (_, argument) in enumerate(stops) if argument.name == name), None)
        if isinstance(source, CallLines) and number is not None:
            self._stop, self._picked = number, True
            self.bring_into_view(source.stop_row(number))
            self.refresh()

    def _to_argument(self, number: int) -> bool:
        """Choose another argument where one is in view or close by; False where the text is to be scrolled."""
        source = self.source
        if not isinstance(source, CallLines) or not 0 <= number < len(source.stops):
            return False
        row = source.stop_row(number)
        top, height = self.scroll_offset.y, self.scrollable_content_region.height
        if not top - height // 2 <= row < top + height + height // 2:
            return False
        self._stop, self._picked = number, True
        self.bring_into_view(row)
        self.refresh()
        return True

    def action_move_page(self, pages: int) -> None:
        if self.shows_cursor():
            super().action_move_page(pages)
        else:
            self.scroll_relative(y=pages * max(self.size.height - 1, 1), animate=False)

    def action_first(self) -> None:
        if self.shows_cursor():
            self._go(self.above)
            self.scroll_home(animate=False)
        else:
            self.scroll_home(animate=False)

    def action_last(self) -> None:
        if self.shows_cursor():
            super().action_last()
        else:
            self.scroll_end(animate=False)

    def action_aside(self, steps: int) -> None:
        """Fold or unfold, another column, or sideways in wide lines."""
        tree, source = self.json_tree, self.source
        if tree is not None:
            self._fold_or_go(tree, steps)
        elif isinstance(source, Folded):
            self._folded(source, source.set_open(self.cursor, steps > 0))
        elif isinstance(source, TableRows):
            start, end = source.place_column(source.column + steps)
            left, width = self.scroll_offset.x, self.scrollable_content_region.width
            if source.column == 0:
                self.scroll_to(x=0, animate=False, force=True)
            elif start < left or end > left + width:
                self.scroll_to(x=start if start < left else max(end - width, 0), animate=False, force=True)
            self.refresh()
        else:
            self.scroll_relative(x=4 * steps, animate=False)

    def _folded(self, source: Folded, changed: bool) -> None:
        """Show the sections anew and stand on the head of the one that was folded or unfolded."""
        if changed:
            head = source.head_row(source.section_at(self.cursor))
            self.reload()
            self.place(head)

    def _fold_or_go(self, tree: JsonTree, steps: int) -> None:
        row = self.cursor - self.above
        if row < 0:
            return
        if tree.set_open(row, steps > 0):
            self.reload()
        elif steps < 0:
            self._go(self.above + tree.parent_of(row))
        elif isinstance(tree.row(row).value, dict | list):
            self._go(self.cursor + 1)

    def action_choose(self) -> None:
        tree, source, argument = self.json_tree, self.source, self.argument
        row = self.cursor - self.above
        if tree is not None and row >= 0:
            value = tree.row(row).value
            if isinstance(value, dict | list):
                tree.toggle(row)
                self.reload()
            else:
                self.post_message(self.ValueWanted(value))
        elif isinstance(source, Folded):
            self._folded(source, source.toggle(self.cursor))
        elif isinstance(source, TableRows):
            if source.columns:
                self.post_message(self.SortWanted(source.column))
        elif argument is not None:
            self.post_message(self.SourceWanted(argument))

    def action_filter_rows(self) -> None:
        self.post_message(self.FilterWanted())

    def action_read_again(self) -> None:
        if isinstance(self.source, TableRows):
            self.source.try_again()
            self.refresh()
        else:
            self.post_message(self.AgainWanted())

    def on_click(self, event: events.Click) -> None:
        source = self.source
        if isinstance(source, TableRows):
            column = source.column_at(event.x + self.scroll_offset.x)
            if column is not None and event.y < source.sticky:
                source.place_column(column)
                self.post_message(self.SortWanted(column))
        elif isinstance(source, CallLines):
            row = event.y + self.scroll_offset.y
            rows = [source.stop_row(number) for number in range(len(source.stops))]
            number = next((i for i, first in reversed(list(enumerate(rows))) if first <= row), None)
            if number is not None and row <= rows[number] + 2:
                again = number == self._stop
                self._stop, self._picked = number, True
                self.refresh()
                if again:
                    self.action_choose()
        elif self.shows_cursor():
            super().on_click(event)

    def mark(self, search: object) -> None:
        super().mark(search)  # type: ignore[arg-type]
        if self.json_tree is not None and self._match_row >= 0:
            self.place(self._match_row)
