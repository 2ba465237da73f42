"""A few lines that take exactly the height they need: header, question, policy, waterfall."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from textual.message import Message

from vakra_tui.state.lines import Line, Lines, Span
from vakra_tui.widgets.line_view import LineView


def cut_short(content: Line, width: int, more: str) -> Line:
    """The line with an ellipsis at its end, and ``more`` behind it."""
    tail = f" \u2026 {more}".rstrip()
    room = max(width - cell_len(tail), 0)
    kept: list[Span] = []
    for span in content:
        if cell_len(span.text) > room:
            kept.append(Span(set_cell_size(span.text, room).rstrip(), span.role))
            break
        kept.append(span)
        room -= cell_len(span.text)
    return (*kept, Span(tail, "dim"))


class Banner(LineView, can_focus=False):
    """Wrapped lines, as tall as they are, at most ``tallest`` rows; longer ones scroll by the wheel.

    ``cut`` shows each line on one row with an ellipsis instead of wrapping it. Without lines it takes no room.
    """

    DEFAULT_CSS = """
    Banner { height: 1; scrollbar-size: 0 0; scrollbar-gutter: auto; }
    """

    class Fitted(Message):
        """The banner takes another number of rows than before."""

        def __init__(self, banner: Banner, rows: int) -> None:
            super().__init__()
            self.banner = banner
            self.rows = rows

        @property
        def control(self) -> Banner:
            return self.banner

    def __init__(self, *, id: str, tallest: int = 4, cut: bool = False) -> None:
        super().__init__(id=id)
        self._tallest = tallest
        self._cut = cut
        self.more = ""
        """What shows the rest, said behind the ellipsis."""
        self._given: tuple[Line, ...] = ()
        self._rows = 0
        self.display = False

    def on_unmount(self) -> None:
        self._given = ()

    @property
    def tallest(self) -> int:
        """The greatest number of rows taken."""
        return self._tallest

    @tallest.setter
    def tallest(self, rows: int) -> None:
        if rows != self._tallest:
            self._tallest = rows
            self._fit()

    @property
    def hidden(self) -> int:
        """Rows that do not fit; the last one that is shown says so by an ellipsis."""
        return max(self.count - self._tallest, 0)

    def line_at(self, index: int) -> Line:
        content = super().line_at(index)
        if not self.hidden or self._cut or index != self.scroll_offset.y + self._tallest - 1 or index + 1 == self.count:
            return content
        return cut_short(content, self.text_width(), self.more)

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
        rows = min(self.count, self._tallest)
        if self.count:
            self.styles.height = rows
        if rows != self._rows:
            self._rows = rows
            self.post_message(self.Fitted(self, rows))
