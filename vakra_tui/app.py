"""The application: owns the engine thread and the screens; constructing it costs nothing but the screen library."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual import work
from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import AwaitMount
from textual.widgets import Footer
from textual.worker import WorkerFailed

from toolenv.errors import VakraError
from vakra_tui.screens.instances import InstancesScreen
from vakra_tui.state.commands import commands_of, key_words
from vakra_tui.state.engine import Engine
from vakra_tui.state.lines import LineSource, Span
from vakra_tui.state.listing import Entry
from vakra_tui.state.world import Wiring, World
from vakra_tui.text import sanitize
from vakra_tui.widgets.bound import bindings

if TYPE_CHECKING:
    from vakra_tui.screens.debugger import DebuggerScreen

CLOSING_S = 3.0
"""How long leaving may take before what still works is left behind."""

WAIT_TOLD_EVERY_S = 4.0

FIRST_READ = 60
"""Rows whose queries are read before the list is first shown: at least a screenful."""

READ_AT_ONCE = 100
"""Records whose queries are read for the list between two looks at the screen."""


class VakraApp(App[int]):
    """The debugger on a dataset and its runs; ``wiring`` makes the parts when they are first asked for."""

    TITLE = "vakra-tui"
    CSS_PATH = Path(__file__).parent / "app.tcss"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = bindings("app")

    def __init__(self, wiring: Wiring) -> None:
        super().__init__()
        self.engine = Engine()
        self.world = World(wiring)
        wiring.on_store_wait = self._store_waits
        self.instances = InstancesScreen()
        self.opened = False
        self._screen_loop: asyncio.AbstractEventLoop | None = None
        self._told_wait = 0.0

    @property
    def dataset_name(self) -> str:
        return self.world.name

    def footer(self) -> Footer:
        """The key line of a screen."""
        return Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        self._screen_loop = asyncio.get_running_loop()
        self.push_screen(self.instances)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self.engine.start()
        self.open_data()

    def on_unmount(self) -> None:
        self.engine.stop()

    # --- between the engine and the screen ---------------------------------------------------------------------------

    def from_engine(self, function: Callable[..., None], *arguments: Any) -> None:
        """Called in the engine thread: have ``function`` called on the screen's event loop."""
        if self._screen_loop is None or self._screen_loop.is_closed():
            return

        def inside() -> None:
            if self.is_running:
                with self._context():
                    function(*arguments)

        self._screen_loop.call_soon_threadsafe(inside)

    def _store_waits(self, seconds: float) -> None:
        """Called in the thread that waits while another process holds the store; told at most every few seconds."""
        now = time.monotonic()
        if now - self._told_wait > WAIT_TOLD_EVERY_S:
            self._told_wait = now
            self.from_engine(
                self.toast, f"Waiting for the session store, which another process holds ({seconds:.0f} s)"
            )

    async def read(self, function: Callable[..., LineSource], *arguments: Any) -> LineSource:
        """Make a large line source in a worker thread; the last argument is the width to lay it out for."""
        *given, width = arguments

        def made() -> LineSource:
            source = function(*given)
            source.layout(width)
            return source

        return await asyncio.to_thread(made)

    # --- the dataset -------------------------------------------------------------------------------------------------

    @work(exclusive=True, group="data")
    async def open_data(self) -> None:
        """Open dataset and runs, show the list, open what the command named, then read the queries for the list."""
        try:
            listing = await self.engine.call(self.world.open)
            await self.engine.call(self.world.read_entries, listing.entries[:FIRST_READ])
            first = await self.engine.call(self.world.first)
        except VakraError as error:
            self.exit(return_code=2, message=Text(f"vakra-tui: {sanitize(str(error))}"))
            return
        self.instances.take(listing)
        self.opened = True
        if first is not None:
            # Its session is at work before the store is opened, which takes longer than showing the question.
            await self.open_entry(first, hint=self.world.wants_hint)
        try:
            await self.engine.run(self.world.read_flags())
            await self.engine.run(self.world.read_verdicts())
        except VakraError as error:
            self.report(str(error), title="What was kept cannot be read")
        if self.world.keeping.damaged is not None:
            self._ask_about_store(str(self.world.keeping.damaged))
        for start in range(0, len(listing.entries), READ_AT_ONCE):
            entries = listing.entries[start : start + READ_AT_ONCE]
            await self.engine.call(self.world.read_entries, entries)
            self._list_changed()
        if self.world.wiring.sample:
            self.evaluate_entries(listing.entries)

    @work(group="store")
    async def _ask_about_store(self, path: str) -> None:
        """A store that cannot be read: go on without it, or move it away with consent and begin a fresh one."""
        from vakra_tui.screens.choice import ChoiceScreen

        choices = (
            ("leave it", "go on; steps and flags of this visit are not kept"),
            ("set it aside", "rename the file, which loses nothing, and begin a fresh one"),
        )
        problem = self.world.keeping.problem
        picked = await self.push_screen_wait(ChoiceScreen(f"{problem}\n\n{path}", choices))
        if picked == "set it aside":
            try:
                moved = await self.engine.call(self.world.keeping.set_aside)
            except VakraError as error:
                self.report(str(error))
                return
            self.toast(f"The old file is now {moved}")

    def _list_changed(self) -> None:
        if self.screen is self.instances:
            self.instances.draw()

    def open_entry(self, entry: Entry, *, run: str | None = None, hint: bool = False) -> AwaitMount:
        """Open the debugger on a row of the list; may be awaited until it is there."""
        from vakra_tui.screens.debugger import DebuggerScreen

        session = self.world.session(entry, run)
        return self.push_screen(DebuggerScreen(session, hint=hint))

    def open_other_run(self, run: str) -> None:
        """Open the instance of the present debugger on another run's prediction."""
        from vakra_tui.screens.debugger import DebuggerScreen

        if isinstance(self.screen, DebuggerScreen) and self.screen.session.entry is not None:
            entry = self.screen.session.entry
            self._close_session(self.screen)
            self.switch_screen(DebuggerScreen(self.world.session(entry, run)))

    def show_list(self) -> None:
        """Leave the debugger for the list; what the session learned is shown in its row."""
        from vakra_tui.screens.debugger import DebuggerScreen

        if isinstance(self.screen, DebuggerScreen):
            self._close_session(self.screen)
            self.pop_screen()
            self.instances.draw()

    @work(group="closing")
    async def _close_session(self, screen: DebuggerScreen) -> None:
        await self.engine.run(screen.session.in_turn(screen.session.close, screen.behind))

    @work(exclusive=True, group="scoring")
    async def evaluate_entries(self, entries: Sequence[Entry]) -> None:
        """Evaluate every prediction of some rows, one after the other; escape of the program ends it."""
        for number, entry in enumerate(entries, start=1):
            try:
                await self.engine.run(self.world.evaluate(entry))
            except VakraError as error:
                self.report(str(error), title="Cannot evaluate")
                return
            if number % 5 == 0 or number == len(entries):
                self._list_changed()

    # --- saying something --------------------------------------------------------------------------------------------

    def toast(self, text: str, *, warn: bool = False) -> None:
        """A short note at the corner."""
        self.notify(sanitize(text), severity="warning" if warn else "information", markup=False, timeout=4)

    def report(self, text: str, *, title: str = "That did not work") -> None:
        """A dialog with an error and what to do."""
        from vakra_tui.screens.message import MessageScreen

        self.push_screen(MessageScreen(title, text))

    def _handle_exception(self, error: Exception) -> None:
        """An error of this program in background work: a dialog and a log file; elsewhere the library's own way."""
        if isinstance(error, WorkerFailed) and not self.is_headless:
            place = self.world.memory.keep_crash(error.error)
            kept = f"The details are in {place}." if place is not None else "The details could not be written."
            what = f"{type(error.error).__name__}: {error.error}"
            goes_on = "The session goes on; what was shown is kept."
            self.report(f"{what}\n\n{goes_on}\n{kept}", title="An error of vakra-tui")
        else:
            super()._handle_exception(error)

    def problem_words(self) -> list[Span]:
        """What was odd in the data, for the last line of the list."""
        number = len(self.world.problems)
        if not number:
            return []
        return [Span(f"   ! {number} problem{'s' if number > 1 else ''} in the data (palette: problems)", "warn")]

    def hint_seen(self) -> None:
        """The first-start hint was read; it is not shown again."""
        self.engine.post(self.engine.loop, self.world.hint_seen)

    def contexts(self, screen: Screen[Any]) -> tuple[str, ...]:
        """The contexts whose commands work on a screen: its own, the focused widget's, and those of every screen."""
        near = [getattr(node, "CONTEXT", "") for node in (screen, screen.focused)]
        return tuple(dict.fromkeys(each for each in (*near, "app") if each))

    def action_help(self) -> None:
        from vakra_tui.screens.help import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(self.contexts(self.screen), getattr(self.screen, "focused_pane", "")))

    def action_problems(self) -> None:
        """All problems of dataset and runs, one a line."""
        from vakra_tui.screens.message import MessageScreen

        text = "\n".join(self.world.problems) or "Nothing odd was found in the data."
        self.push_screen(MessageScreen("Problems in the data", text))

    async def action_quit(self) -> None:
        """Leave; sessions are closed first, as long as that does not take long."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.engine.run(self._let_go()), CLOSING_S)
        self.exit(0)

    async def _let_go(self) -> None:
        """In the engine: close the open session and the world."""
        from vakra_tui.screens.debugger import DebuggerScreen

        for screen in self.screen_stack:
            if isinstance(screen, DebuggerScreen):
                await screen.session.in_turn(screen.session.close, screen.behind)
        if self.opened:
            await self.world.close()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        for command in commands_of(*self.contexts(screen)):
            if command.palette:
                keys = key_words(command.key_list)
                told = f"{command.title}  ({keys})" if keys else command.title
                node = self if command.context == "app" else screen
                yield SystemCommand(command.name.capitalize(), told, self._runner(node, command.action))

    def _runner(self, node: DOMNode, action: str) -> Callable[[], Any]:
        async def run() -> None:
            await self.run_action(action, default_namespace=node)

        return run

    def action_toggle_dark(self) -> None:
        self.theme = "textual-light" if self.current_theme.dark else "textual-dark"
