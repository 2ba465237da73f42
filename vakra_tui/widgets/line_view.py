"""A pane of lines that are made only when they are looked at: the base of every pane that shows data."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.style import Style
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from vakra_tui.render import palette, strip
from vakra_tui.state.lines import Line, Lines, LineSource, Role, plain
from vakra_tui.widgets.bound import bindings
from vakra_tui.wrap import clean

if TYPE_CHECKING:
    from vakra_tui.state.search import Search
from vakra_tui.themes import HIGH_CONTRAST

UNSEEN = 80
"""Cells for which a view is laid out that was never on the screen."""


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
        self._last_width = UNSEEN
        self._under: Style | None = None
        self._search: Search | None = None
        self._match_row = -1
        self._sideways = False

    @property
    def source(self) -> LineSource:
        return self._source

    @property
    def count(self) -> int:
        """Number of lines at the present width."""
        return self._count

    def show(self, source: LineSource, *, keep: bool = False) -> None:
        """Show other lines; ``keep`` leaves the scroll position where it is. Marks of a search go with their lines."""
        if self._search is not None and self._search.source is not source:
            self._search = None
        self._source = source
        self._count = 0
        self._laid_out = -1
        self._measure()
        if not keep:
            self.scroll_to(0, 0, animate=False, force=True)
        self.refresh()

    @property
    def search(self) -> Search | None:
        """The search whose matches are marked."""
        return self._search

    def mark(self, search: Search | None) -> None:
        """Mark the matches of a search in these lines and bring the one that is looked at into view."""
        self._search = search
        self._match_row = search.row() if search is not None else -1
        if self._match_row >= 0:
            self._sideways = True
            self.reload()
            self.bring_into_view(self._match_row)
        self.refresh()

    def _match_into_view(self) -> None:
        """Scroll sideways to the match, as soon as its line is there."""
        search, width = self._search, self.scrollable_content_region.width
        if search is None or not self._source.cells or not 0 <= self._match_row < self._count:
            self._sideways = False
            return
        text = plain(clean(self._source.line(self._match_row)))
        place = search.needle.first(text)
        if place < 0:
            return
        self._sideways = False
        start = cell_len(text[:place])
        end = start + cell_len(search.needle.text)
        if not self.scroll_offset.x <= start or end > self.scroll_offset.x + width:
            self.scroll_to(x=max(end - width // 2, 0), animate=False, force=True)

    def bring_into_view(self, row: int) -> None:
        """Scroll as little as needed, a few lines around the row in view too."""
        height = self.scrollable_content_region.height
        top = self.scroll_offset.y
        if not top + 1 <= row < top + height - 1:
            self.scroll_to(y=max(row - height // 3, 0), animate=False, force=True)

    def reload(self) -> None:
        """The source changed its lines: measure it again, keep the position."""
        self._count = 0
        self._laid_out = -1
        self._measure()
        if self._sideways:
            self._match_into_view()
        self.refresh()

    def on_resize(self) -> None:
        self._measure()

    def on_unmount(self) -> None:
        """Let go of what was shown: the view itself lies in cycles, which are kept long after it is gone."""
        self._source = Lines(())
        self._search = None
        self._count = 0

    def text_width(self) -> int:
        """Cells that a line of the source may take; in a pane that is put away those that it had when it was seen."""
        seen = self.scrollable_content_region.width
        if seen > 0:
            self._last_width = seen
        return self._last_width

    def _measure(self) -> None:
        """Lay the source out. A hidden view does so too: its count and what stands on it hold when it is shown."""
        if not self.is_attached:
            return
        width = self.text_width()
        if width != self._laid_out:
            self._laid_out = width
            self._count = self._source.layout(width)
            self.virtual_size = Size(max(self._source.cells, 1), self._count)
            # As many rows as before are drawn again, too: they were drawn in the old width.
            self.refresh()
        self._within()

    def _within(self) -> None:
        """Scroll back to where there are lines: fewer than before may have been laid out."""
        if self.scrollable_content_region.height > 0 and self.scroll_offset.y > self.max_scroll_y:
            self.scroll_to(y=self.max_scroll_y, animate=False, force=True)

    def line_at(self, index: int) -> Line:
        """The line drawn at ``index``."""
        return self._marked(index) if self._search is not None else self._source.line(index)

    def _marked(self, index: int) -> Line:
        """The line with the matches of the search marked; one that is too long begins shortly before them."""
        from vakra_tui.state.search import marked, shifted

        search = self._search
        assert search is not None
        found = getattr(self._source, "line_found", None)
        shown: Line = found(index, search.needle) if found is not None else self._source.line(index)
        if not self._source.cells:
            shown = shifted(shown, search.needle, self.text_width())
        role: Role = "match_now" if index == self._match_row else "match"
        return marked(shown, search.needle, role)

    def base_style(self, index: int) -> Style:
        """The style under line ``index``."""
        return self.under

    @property
    def under(self) -> Style:
        """The widget's own style; it comes from all that the widget lies in and is worked out once for all rows."""
        return self._under if self._under is not None else self.rich_style

    def render_lines(self, crop: Region) -> list[Strip]:
        self._under = self.rich_style
        try:
            return super().render_lines(crop)
        finally:
            self._under = None

    def render_line(self, y: int) -> Strip:
        scroll_x, scroll_y = self.scroll_offset
        # The names of a table's columns stay in view; the line below them is the one that they would cover.
        index = y if y < getattr(self._source, "sticky", 0) else y + scroll_y
        width = self.scrollable_content_region.width
        base = self.base_style(index)
        if index >= self._count:
            return Strip.blank(width, self.under)
        theme = self.app.current_theme
        colours = palette(theme.dark, theme.name == HIGH_CONTRAST.name, colour=not self.app.no_color)
        start = scroll_x if self._source.cells else 0
        return strip(self.line_at(index), width, colours, base=base, start=start)

    def refresh_line(self, index: int) -> None:
        """Draw one line again."""
        width = self.scrollable_content_region.width
        self.refresh(Region(0, index - self.scroll_offset.y, width, 1))
