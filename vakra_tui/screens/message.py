"""A dialog that says something: an error with what to do, or a longer note."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from vakra_tui.render import content
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.lines import Lines, line
from vakra_tui.state.response import RawText
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.line_view import LineView
from vakra_tui.widgets.turns import ModalScreen
from vakra_tui.working import work

if TYPE_CHECKING:
    from vakra_tui.app import VakraApp

LONG = 20_000
"""Characters from which on a text is laid out in a worker, and cut at the edge instead of between words."""


class MessageScreen(ModalScreen[None]):
    """Shows a text of any length until it is closed."""

    CONTEXT: ClassVar[str] = "message"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)
    CSS_PATH = "dialog.tcss"

    app: VakraApp

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        shown = self._text if len(self._text) <= LONG else "reading \u2026"
        with Vertical(classes="dialog"):
            yield Static(content(self._title), classes="dialog-title", markup=False)
            yield LineView(Lines([line(part) for part in shown.split("\n")]), id="message")
            yield Static(content(f"{key('message.leave')} closes"), classes="dialog-note", markup=False)

    def on_mount(self) -> None:
        view = self.query_one("#message", LineView)
        view.styles.height = max(1, min(self._text.count("\n") + 1 + len(self._text) // 60, 16))
        view.focus()
        if len(self._text) > LONG:
            self._read(view)

    @work(exclusive=True)
    async def _read(self, view: LineView) -> None:
        view.show(await self.app.read(RawText, self._text, view.text_width()))

    def action_leave(self) -> None:
        self.dismiss(None)
