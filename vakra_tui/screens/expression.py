"""A small dialog that asks for one line and completes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from sessions.filters import Completion
from vakra_tui.render import content
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.lines import Lines, line
from vakra_tui.text import one_line
from vakra_tui.widgets.banner import Banner
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.clean_input import CleanInput
from vakra_tui.widgets.pick_list import PickList
from vakra_tui.widgets.turns import ModalScreen

OFFERED = 200
"""Completions listed at most."""


def completed(text: str, completion: Completion) -> str:
    """The line with a completion taken."""
    return text[: len(text) - completion.replaces] + completion.text + " "


class ExpressionScreen(ModalScreen[str | None]):
    """Gives the line; ``complete`` offers how to go on, ``problem`` says why a line cannot be taken."""

    CSS_PATH = "dialog.tcss"
    CONTEXT: ClassVar[str] = "expression"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)

    def __init__(
        self,
        question: str,
        complete: Callable[[str], Sequence[Completion]],
        problem: Callable[[str], str],
        *,
        value: str = "",
    ) -> None:
        super().__init__()
        self._question = question
        self._complete = complete
        self._problem = problem
        self._value = value
        self._offered: list[Completion] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(content(self._question), classes="dialog-title", markup=False)
            yield CleanInput(self._value, id="answer")
            yield Banner(id="said", tallest=3)
            yield PickList(id="offered")
            note = (
                f"{key('expression.complete')} completes, {key('expression.up')} and {key('expression.down')} choose "
                f"what, Enter accepts, {key('expression.leave')} leaves"
            )
            yield Static(content(note), classes="dialog-note", markup=False)

    def on_mount(self) -> None:
        self.query_one("#answer").focus()
        self._offer(self._value)

    def _offer(self, text: str) -> None:
        self._offered = list(self._complete(text))[:OFFERED]
        rows = [line((f"{one_line(c.text, 60):<14} ", "strong"), (c.meaning, "dim")) for c in self._offered]
        listed = self.query_one("#offered", PickList)
        listed.display = bool(rows)
        listed.styles.height = min(len(rows), 8)
        listed.show(Lines(rows, wrapped=False))

    def _say(self, text: str) -> None:
        self.query_one("#said", Banner).show_lines([line((text, "warn"))] if text else [])

    @on(CleanInput.Changed, "#answer")
    def _changed(self, event: CleanInput.Changed) -> None:
        self._say("")
        self._offer(event.value)

    @on(CleanInput.Submitted, "#answer")
    def _submitted(self, event: CleanInput.Submitted) -> None:
        said = self._problem(event.value)
        if said:
            self._say(said)
        else:
            self.dismiss(event.value.strip())

    @on(PickList.Chosen, "#offered")
    def action_complete(self) -> None:
        """Take the completion under the cursor."""
        if not self._offered:
            return
        field = self.query_one("#answer", CleanInput)
        field.value = completed(field.value, self._offered[self.query_one("#offered", PickList).cursor])
        field.cursor_position = len(field.value)
        field.focus()

    def action_choose(self, rows: int) -> None:
        self.query_one("#offered", PickList).action_move(rows)

    def action_leave(self) -> None:
        self.dismiss(None)
