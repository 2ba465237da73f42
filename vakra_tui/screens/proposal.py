"""What an agent proposes, in a dialog: take it, change it, reject it with a word, or leave it where it is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from vakra_tui.render import content
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.folded import Folded
from vakra_tui.state.lines import plain
from vakra_tui.state.panes.proposal import proposal_source, proposal_title
from vakra_tui.state.proposing import Offer
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.clean_input import CleanInput
from vakra_tui.widgets.folded_view import FoldedView
from vakra_tui.widgets.pick_list import PickList
from vakra_tui.widgets.turns import ModalScreen

if TYPE_CHECKING:
    from vakra_tui.app import VakraApp

AROUND = 8
"""Rows of the dialog around what is proposed, of a title and keys that take two rows each."""

Ruled = Literal["accept", "edit", "reject"]


class ProposalScreen(ModalScreen[Ruled | None]):
    """Gives what a person decided, None when it was left as it is."""

    CONTEXT: ClassVar[str] = "proposal"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)
    DEFAULT_CSS = """
    ProposalScreen { align: center middle; background: $background 60%; }
    ProposalScreen .dialog { width: 100; }
    ProposalScreen FoldedView { height: auto; }
    """
    CSS_PATH = "dialog.tcss"

    app: VakraApp

    def __init__(self, offer: Offer) -> None:
        super().__init__()
        self._offer = offer

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(content(plain(proposal_title(self._offer))), classes="dialog-title", markup=False)
            yield FoldedView(proposal_source(self._offer), id="proposed")
            yield Static(content(self._keys()), classes="dialog-note", markup=False)

    def _keys(self) -> str:
        key = self.app.key_of
        return (
            f"{key('list.choose')} runs it, {key('proposal.edit')} edits it, {key('proposal.reject')} rejects it with "
            f"a word, {key('folded.fold')} unfolds, {key('proposal.leave')} leaves it open"
        )

    def on_mount(self) -> None:
        view = self.query_one("#proposed", FoldedView)
        view.focus()
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        view = self.query_one("#proposed", FoldedView)
        source = view.source
        if isinstance(source, Folded):
            room = self.size.height * 9 // 10 - AROUND
            view.styles.height = max(1, min(source.layout(view.text_width()), room))

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    @on(PickList.Chosen)
    def _accepted(self) -> None:
        self.dismiss("accept")

    def action_edit(self) -> None:
        self.dismiss("edit")

    def action_reject(self) -> None:
        self.dismiss("reject")

    def action_leave(self) -> None:
        self.dismiss(None)


class AskAgainScreen(ModalScreen["tuple[str, str, str] | None"]):
    """Asks how the agent is to be asked: (model, temperature, seed) as typed; None when it was left."""

    CONTEXT: ClassVar[str] = "again"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)
    DEFAULT_CSS = """
    AskAgainScreen { align: center middle; background: $background 60%; }
    """
    CSS_PATH = "dialog.tcss"

    def __init__(self, title: str, *, model: str, temperature: str, seed: str, note: str = "") -> None:
        """``note`` is said of the three fields before how they are used."""
        super().__init__()
        self._title = title
        self._note = note
        self._values = {"model": model, "temperature": temperature, "seed": seed}

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(content(self._title), classes="dialog-title", markup=False)
            for name, value in self._values.items():
                yield Static(content(name), markup=False)
                kind = {"temperature": "number", "seed": "integer"}.get(name, "text")
                yield CleanInput(value, type=kind, id=name)
            note = (
                f"{self._note + '; ' if self._note else ''}another seed asks for another sample; "
                f"empty leaves it as it is set; Enter asks, {key('again.leave')} leaves"
            )
            yield Static(content(note), classes="dialog-note", markup=False, id="again-note")

    def on_mount(self) -> None:
        self.query_one("#model").focus()

    def on_input_submitted(self) -> None:
        """Give what was typed; the keyboard goes to a number that is none."""
        fields = {name: self.query_one(f"#{name}", CleanInput) for name in self._values}
        model, temperature, seed = (field.meant.strip() for field in fields.values())
        for name, text, number in (("temperature", temperature, _is_number), ("seed", seed, _is_whole)):
            if text and not number(text):
                self.query_one("#again-note", Static).update(content(f"{name}: {text} is no number"))
                fields[name].focus()
                return
        self.dismiss((model, temperature, seed))

    def action_leave(self) -> None:
        self.dismiss(None)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _is_whole(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True
