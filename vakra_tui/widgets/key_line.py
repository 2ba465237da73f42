"""The keys of the present screen in one row; a click presses one."""

from __future__ import annotations

from typing import Any, NamedTuple

from rich.cells import cell_len
from textual import events
from textual.binding import Binding
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from vakra_tui.render import palette, strip
from vakra_tui.state.lines import Line, Span
from vakra_tui.themes import HIGH_CONTRAST
from vakra_tui.widgets.pick_list import PickList

MARGIN = 1
"""Cells before the first key, as in the lines above."""


class Key(NamedTuple):
    """``name`` is the library's, ``shown`` how people read it."""

    name: str
    shown: str
    words: str
    enabled: bool


class KeyLine(Widget):
    """One row drawn at once: a widget for each key would cost more than the rest of a small screen."""

    DEFAULT_CSS = "KeyLine { dock: bottom; height: 1; background: $panel; }"

    def __init__(self) -> None:
        super().__init__()
        self._keys: tuple[Key, ...] = ()

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)
        self._changed(self.screen)

    def _changed(self, screen: Screen[Any]) -> None:
        if screen is not self.screen or not self.app.app_focus:
            return
        found: dict[str, Key] = {}
        for key_name, (_, active, enabled, _) in screen.active_bindings.items():
            binding = self._chosen_by(screen, key_name) or active
            if binding.show and binding.action not in found:
                key = Key(binding.key, self.app.get_key_display(binding), binding.description, enabled)
                found[binding.action] = key
        if (keys := tuple(found.values())) != self._keys:
            self._keys = keys
            self.refresh()

    @staticmethod
    def _chosen_by(screen: Screen[Any], key_name: str) -> Binding | None:
        """What the screen says of choosing a row: the list has that key, and its screen does what the key is for."""
        focused = screen.focused
        if not isinstance(focused, PickList):
            return None
        if not any(each.action == "choose" for each in focused._bindings.key_to_bindings.get(key_name, ())):
            return None
        return next((each for each in screen._bindings.key_to_bindings.get(key_name, ()) if each.show), None)

    @property
    def _gap(self) -> int:
        """Cells between two keys: two where there is room."""
        keys = sum(cell_len(f"{key.shown} {key.words}") for key in self._keys)
        return 2 if MARGIN + keys + 2 * len(self._keys) <= self.size.width else 1

    def _line(self) -> Line:
        parts: list[Span] = [Span(" " * MARGIN)]
        gap = " " * self._gap
        for key in self._keys:
            words = f" {key.words}{gap}"
            if key.enabled:
                parts += [Span(key.shown, "accent"), Span(words)]
            else:
                parts.append(Span(key.shown + words, "dim"))
        return tuple(parts)

    def render_line(self, y: int) -> Strip:
        theme = self.app.current_theme
        colours = palette(theme.dark, theme.name == HIGH_CONTRAST.name, colour=not self.app.no_color)
        return strip(self._line(), self.size.width, colours, base=self.rich_style)

    def on_click(self, event: events.Click) -> None:
        start = MARGIN
        for key in self._keys:
            start += cell_len(f"{key.shown} {key.words}") + self._gap
            if event.x < start:
                if key.enabled:
                    self.app.simulate_key(key.name)
                return
