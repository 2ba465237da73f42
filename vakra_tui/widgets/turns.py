"""Screens that work in turns: between two long pieces of work, what else waits in the event loop has its turn.

The library handles what is queued for a screen in one callback of the event loop, as long as nothing in it waits:
opening a screen styles, lays out and paints it, then does so again for its size. Keys, timers and what comes from the
engine wait for all of it. A screen made here lets them in after each message that took long.
"""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import Generic

from rich.console import RenderableType
from textual import screen
from textual.message import Message
from textual.message_pump import MessagePump
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ScreenResultType

from vakra_tui.widgets.dimmed import Dimmed

LONG_S = 0.004
"""What a message may take before others have a turn."""


class InTurns(MessagePump):
    """Handles its messages as the library does, and gives the event loop a turn after a long one."""

    async def _dispatch_message(self, message: Message) -> None:
        began = perf_counter()
        await super()._dispatch_message(message)
        if perf_counter() - began > LONG_S:
            await asyncio.sleep(0)


class Screen(InTurns, screen.Screen[ScreenResultType], Generic[ScreenResultType]):
    """The base of every screen."""


class ModalScreen(InTurns, screen.ModalScreen[ScreenResultType], Generic[ScreenResultType]):
    """The base of every dialog."""

    def render(self) -> RenderableType:
        below = super().render()
        return Dimmed(below.screen, below.color) if isinstance(below, BackgroundScreen) else below
