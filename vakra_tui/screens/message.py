"""A dialog that says something: an error with what to do, or a longer note."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from vakra_tui.render import content
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.lines import Lines, line
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.line_view import LineView


class MessageScreen(ModalScreen[None]):
    """Shows a text until any of enter, escape or space is pressed."""

    CONTEXT: ClassVar[str] = "message"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)
    CSS_PATH = "dialog.tcss"

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(content(self._title), classes="dialog-title", markup=False)
            yield LineView(Lines([line(part) for part in self._text.split("\n")]), id="message")
            yield Static(content(f"{key('message.leave')} closes"), classes="dialog-note", markup=False)

    def on_mount(self) -> None:
        view = self.query_one("#message", LineView)
        view.styles.height = max(1, min(self._text.count("\n") + 1 + len(self._text) // 60, 16))
        view.focus()

    def action_leave(self) -> None:
        self.dismiss(None)
