"""A virtual list with a cursor: rows are drawn when visible, so thousands cost what a screenful costs."""

from __future__ import annotations

from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.message import Message

from vakra_tui.state.lines import Line, LineSource, Span
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.line_view import LineView


class PickList(LineView):
    """Lines of which one is chosen. Each line of the source is one row; the source must not wrap."""

    CONTEXT: ClassVar[str] = "list"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)

    class Moved(Message):
        """The cursor stands on another row; sent for keys and clicks, not when a program moves it."""

        def __init__(self, pick_list: PickList, index: int) -> None:
            super().__init__()
            self.pick_list = pick_list
            self.index = index

        @property
        def control(self) -> PickList:
            return self.pick_list

    class Chosen(Message):
        """The row under the cursor was chosen (enter or a second click)."""

        def __init__(self, pick_list: PickList, index: int) -> None:
            super().__init__()
            self.pick_list = pick_list
            self.index = index

        @property
        def control(self) -> PickList:
            return self.pick_list

    def __init__(self, source: LineSource | None = None, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(source, id=id, classes=classes)
        self._cursor = 0

    @property
    def cursor(self) -> int:
        """Index of the chosen row, 0 in an empty list."""
        return self._cursor

    def place(self, index: int) -> None:
        """Put the cursor on a row and bring it into view, without a message."""
        self._cursor = max(0, min(index, self.count - 1))
        self._into_view()
        self.refresh()

    def show(self, source: LineSource, *, keep: bool = False) -> None:
        super().show(source, keep=keep)
        if not keep:
            self._cursor = 0
        self._cursor = max(0, min(self._cursor, self.count - 1))

    def on_resize(self) -> None:
        super().on_resize()
        self._into_view()

    def _into_view(self) -> None:
        height = self.scrollable_content_region.height
        top = self.scroll_offset.y
        if height <= 0:
            return
        if self._cursor < top:
            self.scroll_to(y=self._cursor, animate=False, force=True)
        elif self._cursor >= top + height:
            self.scroll_to(y=self._cursor - height + 1, animate=False, force=True)

    def _go(self, index: int) -> None:
        before = self._cursor
        self.place(index)
        if self._cursor != before:
            self.post_message(self.Moved(self, self._cursor))

    def action_move(self, rows: int) -> None:
        self._go(self._cursor + rows)

    def action_move_page(self, pages: int) -> None:
        self._go(self._cursor + pages * max(self.scrollable_content_region.height - 1, 1))

    def action_first(self) -> None:
        self._go(0)

    def action_last(self) -> None:
        self._go(self.count - 1)

    def action_choose(self) -> None:
        if self.count:
            self.post_message(self.Chosen(self, self._cursor))

    def on_click(self, event: events.Click) -> None:
        index = event.y + self.scroll_offset.y
        if 0 <= index < self.count:
            again = index == self._cursor
            self._go(index)
            if again:
                self.action_choose()

    def shows_cursor(self) -> bool:
        """Whether a row is marked as chosen."""
        return True

    def line_at(self, index: int) -> Line:
        content = super().line_at(index)
        if not self.shows_cursor():
            return content
        return (Span("\u25b8 " if index == self._cursor else "  ", "accent"), *content)

    def text_width(self) -> int:
        return max(super().text_width() - 2 * self.shows_cursor(), 1)

    def base_style(self, index: int) -> Style:
        if index != self._cursor or not self.count or not self.shows_cursor():
            return self.under
        name = "pick-list--cursor-focus" if self.has_focus else "pick-list--cursor"
        return self.get_component_rich_style(name)

    COMPONENT_CLASSES: ClassVar[set[str]] = {"pick-list--cursor", "pick-list--cursor-focus"}
    DEFAULT_CSS = """
    PickList > .pick-list--cursor { background: $row-cursor; text-style: none; }
    PickList > .pick-list--cursor-focus { background: $row-cursor-focus; text-style: bold; }
    """

    def watch_has_focus(self, focus: bool) -> None:
        super().watch_has_focus(focus)
        self.refresh()
