"""Screens that work in turns: between two long pieces of work, what else waits in the event loop has its turn.

The library handles what is queued for a screen in one callback of the event loop, as long as nothing in it waits:
opening a screen styles, lays out and paints it, then does so again for its size. Keys, timers and what comes from the
engine wait for all of it. A screen made here lets them in after each message that took long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any, Generic

from rich.console import RenderableType
from textual import events, screen
from textual._callback import invoke
from textual.css.query import NoMatches
from textual.message import Message
from textual.message_pump import MessagePump
from textual.messages import Prune
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ScreenResultType
from textual.widget import Widget

from vakra_tui.widgets.acyclic import forget_rows
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


class WithParts(InTurns):
    """Expects its parts only while it has them.

    A screen is told of sizes and of what was put off before its parts are made and after they are gone, and an
    application that ends makes no parts any more: what is looked for then in vain is no error.
    """

    children: Sequence[Widget]
    is_attached: bool
    is_mounted: bool

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except NoMatches:
            if self._has_parts(being_made=not isinstance(message, events.Mount)):
                raise

    def call_after_refresh(self, callback: Callable[..., Any], *arguments: Any, **named: Any) -> bool:
        async def while_there() -> None:
            try:
                await invoke(partial(callback, *arguments, **named))
            except NoMatches:
                if self._has_parts(being_made=True):
                    raise

        return super().call_after_refresh(while_there)

    async def on_prune(self, event: Prune) -> None:
        """It is taken away; its widgets, which end first, are still there. The library's own handler comes next."""
        if isinstance(self, Widget):
            forget_rows(self)

    def _has_parts(self, *, being_made: bool) -> bool:
        """Whether all parts are there; with ``being_made`` those of a screen that is not mounted are on their way."""
        return self.is_attached and bool(self.children) and (self.is_mounted or not being_made)


class Screen(WithParts, screen.Screen[ScreenResultType], Generic[ScreenResultType]):
    """The base of every screen."""


class ModalScreen(WithParts, screen.ModalScreen[ScreenResultType], Generic[ScreenResultType]):
    """The base of every dialog."""

    def render(self) -> RenderableType:
        below = super().render()
        return Dimmed(below.screen, below.color) if isinstance(below, BackgroundScreen) else below
