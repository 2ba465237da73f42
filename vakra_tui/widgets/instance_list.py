"""The rows of the list of instances, and the names of its columns above them."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message

from vakra_tui.widgets.banner import Banner
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.pick_list import PickList


class InstanceList(PickList):
    """A list whose rows can be marked."""

    CONTEXT: ClassVar[str] = "row"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)

    class Marked(Message):
        """The row under the cursor is to be marked, or its mark taken away."""

    def action_mark(self) -> None:
        self.post_message(self.Marked())


class ColumnHead(Banner):
    """The names of columns; a click on one is reported with its cell."""

    class Clicked(Message):
        """A column's name was clicked at cell ``x``."""

        def __init__(self, x: int) -> None:
            super().__init__()
            self.x = x

    def on_click(self, event: events.Click) -> None:
        self.post_message(self.Clicked(event.x))
