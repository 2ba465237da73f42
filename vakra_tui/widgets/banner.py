"""A few lines that take exactly the height they need: header, question, policy, waterfall."""

from __future__ import annotations

from collections.abc import Sequence

from vakra_tui.state.lines import Line, Lines
from vakra_tui.widgets.line_view import LineView


class Banner(LineView, can_focus=False):
    """Wrapped lines, as tall as they are, at most ``tallest`` rows; longer ones scroll by the wheel.

    ``cut`` shows each line on one row with an ellipsis instead of wrapping it.
    """

    DEFAULT_CSS = """
    Banner { height: 1; scrollbar-size-vertical: 1; overflow-x: hidden; }
    """

    def __init__(self, *, id: str, tallest: int = 4, cut: bool = False) -> None:
        super().__init__(id=id)
        self._tallest = tallest
        self._cut = cut

    @property
    def tallest(self) -> int:
        """The greatest number of rows taken."""
        return self._tallest

    @tallest.setter
    def tallest(self, rows: int) -> None:
        self._tallest = rows
        self._fit()

    def show_lines(self, lines: Sequence[Line]) -> None:
        """Show other lines; no lines take no room."""
        self.show(Lines(lines, wrapped=not self._cut))

    def _measure(self) -> None:
        super()._measure()
        self._fit()

    def _fit(self) -> None:
        wanted = min(self.count, self._tallest)
        self.display = wanted > 0
        if wanted:
            self.styles.height = wanted

    def show(self, source: object, *, keep: bool = False) -> None:  # type: ignore[override]
        self.display = True
        super().show(source, keep=keep)  # type: ignore[arg-type]
        if self.size.width == 0:
            self.call_after_refresh(self._measure)
