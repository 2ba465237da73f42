"""Keys typed faster than the screen follows: each goes where the key before it led.

The library hands every key at once to the widget that has the keyboard. Where a key moves the keyboard (``/`` to a
search line, ``n`` to another screen), those behind it in the same burst would still reach the old widget, where a word
meant for a search line is a row of commands.
"""

from __future__ import annotations

import time
from collections import deque

from textual import events
from textual.app import App
from textual.dom import DOMNode
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget

from vakra_tui.pasting import fitting, too_long

LAPS = 2
"""So often something follows the key on its way from widget to application before the next key is given out: first
behind the key itself, then behind what its action posted."""

LOOK_S = 0.05
PATIENCE_S = 0.5
"""How often it is looked whether what follows the key was lost with a closed widget, and after how long the next key
goes out in any case."""


class Way:
    """A key between the widget it was given to and the application, which it reaches last."""

    def __init__(self, target: Widget, screen: Screen[object]) -> None:
        self.target = target
        self.screen = screen
        self.began = time.monotonic()
        self.laps = 0

    @property
    def lost(self) -> bool:
        """Whether what follows the key can no longer arrive, or has taken too long."""
        return not self.target.is_attached or time.monotonic() - self.began > PATIENCE_S


class TypeAhead(App[int]):
    """An application that gives a key out when the one before it has had its effect."""

    class Lap(Message):
        """Follows a key from its widget up to the application."""

        def __init__(self, way: Way) -> None:
            super().__init__()
            self.way = way

    def __init__(self) -> None:
        super().__init__()
        self._way: Way | None = None
        self._ahead: deque[events.Event] = deque()

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Paste) and not event.is_forwarded and (refused := too_long(event)):
            self.notify(refused, severity="warning", markup=False)
        elif not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
        elif self._way is None:
            await self._give_out(event)
        else:
            if not self._ahead:
                self.set_timer(LOOK_S, self._look)
            self._ahead.append(event)

    async def _give_out(self, event: events.Event) -> None:
        if not self.screen_stack:  # the program ends: what is still waited for has nobody to go to
            self._ahead.clear()
            return
        screen = self.screen
        target: DOMNode = self.focused or screen
        assert isinstance(target, Widget)
        if isinstance(event, events.Paste):
            event = fitting(event, target)
        self._way = Way(target, screen)
        await super().on_event(event)
        self._follow(self._way)

    def _follow(self, way: Way) -> None:
        if not way.target.post_message(self.Lap(way)):
            self._arrived(way)

    def on_type_ahead_lap(self, message: Lap) -> None:
        way = message.way
        if way is not self._way:
            return
        way.laps += 1
        if way.laps < LAPS:
            self._follow(way)
        else:
            self._arrived(way)

    def _arrived(self, way: Way) -> None:
        """Go on at once, or where another screen came up when that has chosen its own focus."""
        if not self.screen_stack:
            return
        if self.screen is way.screen or not self.screen.call_after_refresh(self._next, way):
            self.call_later(self._next, way)

    async def _next(self, way: Way) -> None:
        if way is not self._way:
            return
        self._way = None
        if self._ahead:
            await self._give_out(self._ahead.popleft())

    async def _look(self) -> None:
        """While keys wait: go on where what follows the last one went down with its widget."""
        way = self._way
        if way is not None and way.lost:
            await self._next(way)
        if self._ahead:
            self.set_timer(LOOK_S, self._look)
