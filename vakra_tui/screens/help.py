"""The keys and signs, on one scrolling page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from vakra_tui.render import content
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.keys import help_lines
from vakra_tui.state.lines import Lines
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.line_view import LineView
from vakra_tui.widgets.turns import ModalScreen


class HelpScreen(ModalScreen[None]):
    """Left with escape, q, ? or F1."""

    CONTEXT: ClassVar[str] = "help"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)
    CSS_PATH = "dialog.tcss"

    def __init__(
        self, contexts: Sequence[str], pane: str = "", keymap: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """For the place where help was asked for: its contexts, its focused pane, the keys that a person chose."""
        super().__init__()
        self._lines = help_lines(contexts, pane=pane, keymap=keymap)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog", id="help-box"):
            yield LineView(Lines(self._lines), id="help")

    def on_mount(self) -> None:
        box = self.query_one("#help-box")
        box.border_title = content("keys and signs")
        box.border_subtitle = content(f"{key('text.down')} and {key('text.up')} scroll, {key('help.leave')} closes")
        self.query_one("#help").styles.height = min(len(self._lines), max(self.app.size.height - 4, 4))
        self.query_one("#help").focus()

    def action_leave(self) -> None:
        self.dismiss(None)
