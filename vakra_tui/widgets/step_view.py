"""The body of the step pane."""

from __future__ import annotations

from vakra_tui.state.json_tree import JsonTree
from vakra_tui.widgets.pick_list import PickList


class StepView(PickList):
    """The body of the step pane: a plain view, except that the rows of a JSON tree can be chosen and folded."""

    @property
    def folds(self) -> bool:
        """Whether the rows are those of a JSON tree."""
        return isinstance(self.source, JsonTree)

    def shows_cursor(self) -> bool:
        return self.folds

    def action_move(self, rows: int) -> None:
        if self.folds:
            super().action_move(rows)
        else:
            self.scroll_relative(y=rows, animate=False)

    def action_move_page(self, pages: int) -> None:
        if self.folds:
            super().action_move_page(pages)
        else:
            self.scroll_relative(y=pages * max(self.size.height - 1, 1), animate=False)

    def action_first(self) -> None:
        if self.folds:
            super().action_first()
        else:
            self.scroll_home(animate=False)

    def action_last(self) -> None:
        if self.folds:
            super().action_last()
        else:
            self.scroll_end(animate=False)
