"""A view of sections that can be folded."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from vakra_tui.state.folded import Folded
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.pick_list import PickList


class FoldedView(PickList):
    """The cursor goes through the rows; the section that it stands in is folded and unfolded."""

    CONTEXT: ClassVar[str] = "folded"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)

    def action_fold(self) -> None:
        """Fold the section under the cursor, or unfold it."""
        source = self.source
        if isinstance(source, Folded):
            self._changed(source, source.toggle(self.cursor))

    def action_aside(self, steps: int) -> None:
        """Unfold (1) or fold (-1) the section under the cursor."""
        source = self.source
        if isinstance(source, Folded):
            self._changed(source, source.set_open(self.cursor, steps > 0))

    def _changed(self, source: Folded, changed: bool) -> None:
        if changed:
            head = source.head_row(source.section_at(self.cursor))
            self.reload()
            self.place(head)
