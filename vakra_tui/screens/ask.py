"""A small dialog that asks for one line."""

from __future__ import annotations

from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from vakra_tui.render import content
from vakra_tui.state.commands.chosen import key
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.clean_input import CleanInput
from vakra_tui.widgets.turns import ModalScreen

MOST_DIGITS = 9


class AskScreen(ModalScreen[str | None]):
    """Asks for a text or a number; gives None when it was left with escape.

    A text that was given keeps its line breaks and what else a field of one line cannot show; they can be deleted.
    """

    CONTEXT: ClassVar[str] = "ask"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)
    CSS_PATH = "dialog.tcss"

    def __init__(
        self, question: str, *, kind: Literal["text", "number"] = "text", value: str = "", note: str = ""
    ) -> None:
        super().__init__()
        self._question = question
        self._kind: Literal["text", "number"] = kind
        self._value = value
        self._note = note

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(content(self._question), classes="dialog-title", markup=False)
            number = self._kind == "number"
            yield CleanInput(
                self._value,
                type="integer" if number else "text",
                max_length=MOST_DIGITS if number else 0,
                id="answer",
            )
            note = self._note or f"Enter accepts, {key('ask.leave')} leaves"
            yield Static(content(note), classes="dialog-note", markup=False)

    def on_mount(self) -> None:
        self.query_one("#answer").focus()

    @on(CleanInput.Submitted)
    def _submitted(self, event: CleanInput.Submitted) -> None:
        if self._kind == "number" and not event.value.strip().isdecimal():
            return
        self.dismiss(self.query_one("#answer", CleanInput).meant.strip())

    def action_leave(self) -> None:
        self.dismiss(None)
