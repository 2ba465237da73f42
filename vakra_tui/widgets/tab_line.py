"""The line of tab names above a pane; a click chooses."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from vakra_tui.render import palette, strip
from vakra_tui.state.cells import cell
from vakra_tui.state.lines import Line, Span
from vakra_tui.themes import HIGH_CONTRAST

SHORTEST = 4
"""Cells of a name that are always shown; where even that is too much the line begins later."""


class TabLine(Widget):
    """Names in a row; the chosen one stands in brackets, so that it is told without colour."""

    DEFAULT_CSS = "TabLine { height: 1; }"

    class Picked(Message):
        """A name was clicked."""

        def __init__(self, tab_line: TabLine, name: str) -> None:
            super().__init__()
            self.tab_line = tab_line
            self.name = name

        @property
        def control(self) -> TabLine:
            return self.tab_line

    def __init__(self, names: Sequence[str], *, id: str) -> None:
        super().__init__(id=id)
        self.names = tuple(names)
        self.chosen = self.names[0]
        self.tail: Line = ()

    def choose(self, name: str) -> None:
        self.chosen = name
        self.refresh()

    def name_after(self, steps: int) -> str:
        """The name ``steps`` places further, round the end."""
        return self.names[(self.names.index(self.chosen) + steps) % len(self.names)]

    def shown_names(self) -> list[str]:
        """The names as they fit: where there is too little room, all but the chosen one are cut alike, and say so."""
        room = self.size.width
        names = list(self.names)
        longest = max(len(name) for name in names)
        while longest > SHORTEST and sum(len(name) + 2 for name in names) > room:
            longest -= 1
            names = [name if name == self.chosen else cell(name, longest).rstrip() for name in self.names]
        return names

    def start_of(self, name: str) -> int:
        """The first column of a name; negative where the line begins behind it, so that the chosen one is in view."""
        return self._starts(self.shown_names())[self.names.index(name)]

    def _starts(self, shown: Sequence[str]) -> list[int]:
        """The first column of each name as it is shown."""
        cells = [len(name) + 2 for name in shown]
        chosen = self.names.index(self.chosen)
        out = next((n for n in range(chosen) if sum(cells[n : chosen + 1]) <= self.size.width), chosen)
        return [sum(cells[:n]) - sum(cells[:out]) for n in range(len(cells))]

    def _line(self) -> Line:
        names = self.shown_names()
        parts = [
            Span(f"[{shown}]", "title") if name == self.chosen else Span(f" {shown} ", "dim")
            for name, shown, start in zip(self.names, names, self._starts(names), strict=True)
            if start >= 0
        ]
        return (*parts, *self.tail)

    def render_line(self, y: int) -> Strip:
        theme = self.app.current_theme
        colours = palette(theme.dark, theme.name == HIGH_CONTRAST.name, colour=not self.app.no_color)
        return strip(self._line(), self.size.width, colours, base=self.rich_style)

    def on_click(self, event: events.Click) -> None:
        start = self.start_of(self.names[0])
        for name, shown in zip(self.names, self.shown_names(), strict=True):
            start += len(shown) + 2
            if event.x < start:
                self.post_message(self.Picked(self, name))
                return
