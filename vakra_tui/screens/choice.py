"""A small dialog that offers a few things to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from string import digits
from typing import ClassVar

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from vakra_tui.render import content
from vakra_tui.state.cells import cell
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.lines import Lines, line
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.pick_list import PickList
from vakra_tui.widgets.turns import ModalScreen


class ChoiceScreen(ModalScreen[str | None]):
    """Gives the name of what was chosen; ``choices`` are (name, words). A row whose name is a digit is chosen by it."""

    CONTEXT: ClassVar[str] = "choice"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)
    CSS_PATH = "dialog.tcss"

    def __init__(self, question: str, choices: Sequence[tuple[str, str]], *, chosen: str = "") -> None:
        super().__init__()
        self._question = question
        self._choices = tuple(choices)
        self._chosen = chosen

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(content(self._question), classes="dialog-title", markup=False)
            width = min(max(14, *(cell_len(name) + 2 for name, _ in self._choices)), 40)
            rows = [line((cell(name, width), "strong"), (words, "dim")) for name, words in self._choices]
            yield PickList(Lines(rows, wrapped=False), id="choices")
            by_number = " or its number" if self._numbered else ""
            note = f"{key('list.choose')}{by_number} chooses, {key('choice.leave')} leaves"
            yield Static(content(note), classes="dialog-note", markup=False)

    def on_mount(self) -> None:
        listed = self.query_one("#choices", PickList)
        listed.styles.height = len(self._choices)
        listed.focus()
        names = [name for name, _ in self._choices]
        if self._chosen in names:
            self.call_after_refresh(listed.place, names.index(self._chosen))

    @property
    def _numbered(self) -> bool:
        """Whether each name is one digit, so that a key says all of it."""
        return all(len(name) == 1 and name in digits for name, _ in self._choices)

    def on_key(self, event: events.Key) -> None:
        if self._numbered and any(event.character == name for name, _ in self._choices):
            event.stop()
            self.dismiss(event.character)

    @on(PickList.Chosen)
    def _picked(self, message: PickList.Chosen) -> None:
        self.dismiss(self._choices[message.index][0])

    def action_leave(self) -> None:
        self.dismiss(None)
