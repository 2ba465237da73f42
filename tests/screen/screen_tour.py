"""A walk through every command that the screens offer: each key is pressed once where it is reachable.

What a key opens is walked through as well, then accepted with what it proposes, then left; so every verb is carried
out. A new screen takes part as soon as a key leads to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from screen_reading import PATIENCE_S, shown
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from vakra_tui.app import VakraApp
from vakra_tui.state.commands import COMMANDS
from vakra_tui.state.engine import Engine

LEAVING = frozenset(
    command.id for command in COMMANDS if command.action.removeprefix("app.") in ("quit", "leave", "back", "close")
)
"""Pressed by ``leave`` alone."""

ACCEPTED_AT_MOST = 6
"""Dialogs that follow one another after one key."""


TYPED = frozenset(
    {
        "circumflex_accent",
        "colon",
        "comma",
        "full_stop",
        "greater_than_sign",
        "less_than_sign",
        "question_mark",
        "semicolon",
        "slash",
        "space",
        "ampersand",
    }
)
"""Names of keys that an input line takes for a sign."""

AGAIN_AT_MOST = 8
"""Times that one key is pressed to come back to what it opens."""


class Idle:
    """Knows whether the engine works for the screen: what is handed to it is counted until it comes back."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.working = 0
        run = Engine.run

        async def counted(engine: Engine, work: Any) -> Any:
            self.working += 1
            try:
                return await run(engine, work)
            finally:
                self.working -= 1

        monkeypatch.setattr(Engine, "run", counted)


class Tour:
    """``each`` is awaited after every key, with the id of the command; ``typed`` goes into every line that asks."""

    def __init__(
        self,
        app: VakraApp,
        pilot: Pilot[Any],
        idle: Idle,
        *,
        each: Callable[[str], Awaitable[None]],
        typed: str = "1",
        without: frozenset[str] = frozenset(),
    ) -> None:
        self.app = app
        self.pilot = pilot
        self.done: set[str] = set()
        self._seen: set[str] = set()
        self._idle = idle
        self._each = each
        self._typed = typed
        self._without = without | LEAVING

    async def settle(self) -> None:
        """Until the engine has given back what it was handed and the screen has drawn it."""
        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        while True:
            await self.pilot.pause()
            if not self._idle.working:
                await self.pilot.pause()
                if not self._idle.working:
                    return
            await asyncio.sleep(0.005)
            if asyncio.get_running_loop().time() > deadline:
                raise AssertionError(f"the engine does not come to rest\n{shown(self.app)}")

    async def press(self, key: str, name: str) -> None:
        await self.pilot.press(key)
        await self.settle()
        await self._each(name)

    async def walk(self) -> None:
        """Every command of the present screen that was not pressed yet, and of what each opens.

        A command that opened something is pressed again as long as that leads to commands that were only seen.
        """
        again: dict[str, int] = {}
        while (found := self._next()) is not None:
            base = self.app.screen
            widget, key, name = found
            self.done.add(name)
            before, outer = set(self.done), self._seen
            self._seen = set()
            base.set_focus(widget)
            await self.press(key, name)
            await self._through(base, name)
            only_seen = self._seen - self.done
            self._seen |= outer
            if base not in self.app.screen_stack:
                return
            again[name] = again.get(name, 0) + 1
            if only_seen and self.done - before and again[name] < AGAIN_AT_MOST:
                self.done.discard(name)

    async def _through(self, base: Screen[Any], name: str) -> None:
        """Walk through what a command opened, accept it, and come back to ``base`` where that is still open."""
        for _ in range(ACCEPTED_AT_MOST):
            top = self.app.screen
            if top is base or base not in self.app.screen_stack:
                return
            await self.walk()
            if self.app.screen is top:
                await self._accept(name)
        await self.leave(base)

    async def _accept(self, name: str) -> None:
        field = self.app.focused
        if isinstance(field, Input) and not field.value:
            field.value = self._typed
        await self.press("enter", f"{name}, accepted")

    async def leave(self, base: Screen[Any]) -> None:
        """Escape until ``base`` is on top again; a screen that escape does not leave is an error."""
        for _ in range(2 * ACCEPTED_AT_MOST):
            if self.app.screen is base or base not in self.app.screen_stack:
                return
            await self.press("escape", "escape")
        raise AssertionError(f"escape does not leave this screen\n{shown(self.app)}")

    def _next(self) -> tuple[Widget | None, str, str] | None:
        """(widget to focus, key, command) of the next command that can be reached on the present screen."""
        screen = self.app.screen
        focused = screen.focused
        reachable = list(self._reachable(screen))
        found = reachable[0] if reachable else None
        screen.set_focus(focused)
        return found

    def _reachable(self, screen: Screen[Any]) -> Iterator[tuple[Widget | None, str, str]]:
        widgets: list[Widget | None] = sorted(screen.focus_chain, key=lambda widget: isinstance(widget, Input))
        for widget in widgets or [None]:
            screen.set_focus(widget)
            for key, name, priority in _keys(screen):
                if name in self.done or name in self._without:
                    continue
                if isinstance(widget, Input) and not priority and _types(key):
                    continue
                self._seen.add(name)
                yield widget, key, name


def _keys(screen: Screen[Any]) -> Iterator[tuple[str, str, bool]]:
    """(key, command, priority) of everything that is bound from the focused widget to the application.

    One that a widget below has bound too is among them: it gets the key where that widget has no use for it.
    """
    for _, bound in screen._binding_chain:
        for key, bindings in bound.key_to_bindings.items():
            yield from ((key, each.id, each.priority) for each in bindings if each.id is not None)


def _types(key: str) -> bool:
    """Whether an input line takes a key for a letter."""
    return len(key) == 1 or key in TYPED
