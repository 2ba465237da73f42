"""A pane of lines that are made only when they are looked at: the base of every pane that shows data."""

from __future__ import annotations

from typing import ClassVar

from rich.style import Style
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from vakra_tui.render import palette, strip
from vakra_tui.state.lines import Line, Lines, LineSource
from vakra_tui.widgets.bound import bindings


class LineView(ScrollView, can_focus=True):
    """Shows a ``LineSource``; only the visible rows are ever asked for. Focusable, scrolls by keys and wheel."""

    DEFAULT_CSS = """
    LineView { scrollbar-gutter: stable; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1; }
    """

    CONTEXT: ClassVar[str] = "text"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)

    def __init__(self, source: LineSource | None = None, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._source: LineSource = source if source is not None else Lines(())
        self._count = 0
        self._laid_out = -1

    @property
    def source(self) -> LineSource:
        return self._source

    @property
    def count(self) -> int:
        """Number of lines at the present width."""
        return self._count

    def show(self, source: LineSource, *, keep: bool = False) -> None:
        """Show other lines; ``keep`` leaves the scroll position where it is."""
        self._source = source
        self._count = 0
        self._laid_out = -1
        self._measure()
        if not keep:
            self.scroll_to(0, 0, animate=False, force=True)
        self.refresh()

    def reload(self) -> None:
        """The source changed its lines: measure it again, keep the position."""
        self._count = 0
        self._laid_out = -1
        self._measure()
        self.refresh()

    def on_resize(self) -> None:
        self._measure()

    def text_width(self) -> int:
        """Cells that a line of the source may take."""
        return max(self.scrollable_content_region.width, 1)

    def _measure(self) -> None:
        if not self.is_attached or self.size.width == 0:
            return
        width = self.text_width()
        if width == self._laid_out:
            return
        self._laid_out = width
        self._count = self._source.layout(width)
        self.virtual_size = Size(max(self._source.cells, 1), self._count)

    def line_at(self, index: int) -> Line:
        """The line drawn at ``index``."""
        return self._source.line(index)

    def base_style(self, index: int) -> Style:
        """The style under line ``index``."""
        return self.rich_style

    def render_line(self, y: int) -> Strip:
        scroll_x, scroll_y = self.scroll_offset
        # The names of a table's columns stay in view; the line below them is the one that they would cover.
        index = y if y < getattr(self._source, "sticky", 0) else y + scroll_y
        width = self.scrollable_content_region.width
        base = self.base_style(index)
        if index >= self._count:
            return Strip.blank(width, self.rich_style)
        colours = palette(self.app.current_theme.dark)
        start = scroll_x if self._source.cells else 0
        return strip(self.line_at(index), width, colours, base=base, start=start)

    def refresh_line(self, index: int) -> None:
        """Draw one line again."""
        width = self.scrollable_content_region.width
        self.refresh(Region(0, index - self.scroll_offset.y, width, 1))
