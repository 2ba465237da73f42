"""Jump mode: a letter over each place of the screen; pressing it goes there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.geometry import Offset
from textual.widgets import Static

from vakra_tui.render import content
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.turns import ModalScreen

LETTERS = "asdfghjklqwertyuiopzxcvbnm"


class JumpScreen(ModalScreen[str | None]):
    """Gives the action of the letter that was pressed, None for any other key. The screen below stays visible."""

    CSS_PATH = "jump.tcss"
    CONTEXT: ClassVar[str] = "jump"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)

    def __init__(self, targets: Sequence[tuple[Offset, str]]) -> None:
        """``targets``: where a letter is shown, and the action that it stands for; more than letters are left out."""
        super().__init__()
        self._targets = dict(zip(LETTERS, targets, strict=False))

    def compose(self) -> ComposeResult:
        for letter, (place, _) in self._targets.items():
            label = Static(content(f"[{letter}]"), classes="jump-letter", markup=False)
            label.styles.offset = (place.x, place.y)
            yield label

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            return
        event.stop()
        event.prevent_default()
        self.dismiss(self._targets[event.key][1] if event.key in self._targets else None)

    def on_click(self) -> None:
        self.dismiss(None)

    def action_leave(self) -> None:
        self.dismiss(None)
