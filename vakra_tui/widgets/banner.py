"""A few lines that take exactly the height they need: header, question, policy, waterfall."""

from __future__ import annotations

from collections.abc import Sequence

from vakra_tui.state.lines import Line, Lines
from vakra_tui.widgets.line_view import LineView


class Banner(LineView, can_focus=False):
    """Wrapped lines, as tall as they are, at most ``tallest`` rows; longer ones scroll by the wheel.

    ``cut`` shows each line on one row with an ellipsis instead of wrapping it. Without lines it takes no room.
    """

    DEFAULT_CSS = """
    Banner { height: 1; scrollbar-size: 0 0; scrollbar-gutter: auto; }
    """

    def __init__(self, *, id: str, tallest: int = 4, cut: bool = False) -> None:
        super().__init__(id=id)
        self._tallest = tallest
        self._cut = cut
        self._given: tuple[Line, ...] = ()
        self.display = False

    @property
    def tallest(self) -> int:
        """The greatest number of rows taken."""
        return self._tallest

    @tallest.setter
    def tallest(self, rows: int) -> None:
        if rows != self._tallest:
            self._tallest = rows
            self._fit()

    def show_lines(self, lines: Sequence[Line]) -> None:
        """Show other lines; showing the same ones again costs nothing."""
        given = tuple(lines)
        if given == self._given:
            return
        self._given = given
        self.display = bool(given)
        self.show(Lines(given, wrapped=not self._cut))
        self.call_after_refresh(self._measure)

    def _measure(self) -> None:
        super()._measure()
        self._fit()

    def _fit(self) -> None:
        if self.count:
            self.styles.height = min(self.count, self._tallest)
