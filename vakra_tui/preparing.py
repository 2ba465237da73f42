"""What is made ready beside the event loop once the list can be read: modules and styles of the screens that follow.

Imports and styles are read from the disk and take the longest of what a screen needs when it is first opened. A key
that comes before they are there waits for them, in its turn and without holding the event loop; an import in the loop,
or waiting there for one that another thread has begun, would hold everything else up too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

from textual import events
from textual.actions import ActionParseResult
from textual.dom import DOMNode

from vakra_tui.evaluating import Evaluating
from vakra_tui.state.memory import Memory
from vakra_tui.working import work

SCREENS = Path(__file__).parent / "screens"

PACKAGES = ("vakra_tui.screens", "vakra_tui.state", "vakra_tui.widgets")

REPORTS = "scores"
"""The screen that stands on the whole of evaluation, and the action that opens it."""

OPENING = "choose"
"""The action that opens the debugger on a row."""

NEEDING_NOTHING = frozenset({"clear", "find", "first", "last", "leave", "move", "move_page", "mark", "quit", "stop"})
"""Actions, beside the library's own, that import nothing."""

LIBRARYS = ("cursor_", "delete_", "focus_", "page_", "scroll_")
"""How such actions of the library begin."""


def import_debugger() -> None:
    """What is needed first."""
    import vakra_tui.screens.debugger
    import vakra_tui.state.session  # noqa: F401


def import_screens() -> None:
    """Every screen but the one of reports."""
    _import_of("vakra_tui.screens", without=REPORTS)


def import_all() -> None:
    """Every module that a key may ask for, with all that it stands on."""
    for name in PACKAGES:
        _import_of(name)


def _import_of(name: str, without: str = "") -> None:
    for module in walk_packages(import_module(name).__path__, f"{name}."):
        if module.name != f"{name}.{without}":
            import_module(module.name)


def read_styles() -> list[tuple[str, str]]:
    """Path and text of the styles of all screens, in one order whichever of them is opened first."""
    return [(str(path), path.read_text(encoding="utf-8")) for path in sorted(SCREENS.glob("*.tcss"))]


class Preparing(Evaluating):
    """The part of the application that gets ready, and has keys wait that come too early."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.debugger_ready = asyncio.Event()
        self._screens_ready = asyncio.Event()
        self._all_ready = asyncio.Event()
        self._begun = False

    @property
    def prepared(self) -> bool:
        """Whether no key has to import anything any more."""
        return self._all_ready.is_set()

    def prepare(self) -> None:
        """Begin; safe to call again."""
        if not self._begun:
            self._begun = True
            self._prepare()

    @work(group="imports")
    async def _prepare(self) -> None:
        """Import in a thread that does nothing else: the engine's may be at work on the data."""
        await asyncio.to_thread(import_debugger)
        self._know_styles(await asyncio.to_thread(read_styles))
        self.debugger_ready.set()
        await asyncio.to_thread(import_screens)
        self._screens_ready.set()
        await asyncio.to_thread(import_all)
        self._all_ready.set()

    def _know_styles(self, styles: list[tuple[str, str]]) -> None:
        """Parse the styles of all screens at once; with each screen that is first opened all would be parsed again."""
        for path, text in styles:
            self.stylesheet.add_source(text, read_from=(path, ""))
        self.stylesheet.parse()

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        if not self.prepared and (needed := self._needed_for(action)) is not None:
            self.prepare()
            await needed.wait()
        return await super().run_action(action, default_namespace, namespaces)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.MouseDown) and not self.debugger_ready.is_set():
            self.prepare()
            await self.debugger_ready.wait()
        await super().on_event(event)

    def _needed_for(self, action: str | ActionParseResult) -> asyncio.Event | None:
        """What has to be there before an action is run; None where that is nothing."""
        name = action[1] if isinstance(action, tuple) else action.partition("(")[0].rpartition(".")[2]
        if name in NEEDING_NOTHING or name.startswith(LIBRARYS):
            return None
        if name == REPORTS:
            return self._all_ready
        return self.debugger_ready if name == OPENING else self._screens_ready
