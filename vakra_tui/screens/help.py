"""The keys and signs, on one scrolling page."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from vakra_tui.render import content
from vakra_tui.state.keys import help_lines
from vakra_tui.state.lines import Lines
from vakra_tui.widgets.line_view import LineView


class HelpScreen(ModalScreen[None]):
    """Left with escape, q, ? or F1."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,f1,enter", "leave", "close")]
    CSS_PATH = "dialog.tcss"

    def __init__(self, first: str = "") -> None:
        """``first`` is how the titles of the keys begin that work where help was asked for."""
        super().__init__()
        self._lines = help_lines(first)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="help-box"):
            yield LineView(Lines(self._lines), id="help")

    def on_mount(self) -> None:
        box = self.query_one("#help-box")
        box.border_title = content("keys and signs")
        box.border_subtitle = content("arrows scroll, escape closes")
        self.query_one("#help").styles.height = min(len(self._lines), max(self.app.size.height - 4, 4))
        self.query_one("#help").focus()

    def action_leave(self) -> None:
        self.dismiss(None)
