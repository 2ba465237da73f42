"""The application: owns the engine thread and the screens; constructing it costs nothing but the screen library."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from rich.text import Text
from textual.widget import AwaitMount

from toolenv.errors import VakraError
from vakra_tui.leaving import Leaving
from vakra_tui.screens.instances import InstancesScreen
from vakra_tui.state.engine import Engine
from vakra_tui.state.heap import Heap
from vakra_tui.state.lines import LineSource, Span
from vakra_tui.state.listing import Entry, Order
from vakra_tui.state.memory import Memory
from vakra_tui.state.remembered import Place
from vakra_tui.state.world import Wiring, World
from vakra_tui.text import sanitize
from vakra_tui.widgets.acyclic import free_strips_at_once
from vakra_tui.widgets.key_line import KeyLine
from vakra_tui.widgets.turns import InTurns
from vakra_tui.working import work

if TYPE_CHECKING:
    from sessions.store import SessionSummary
    from vakra_tui.screens.debugger import DebuggerScreen

WAIT_TOLD_EVERY_S = 4.0

FIRST_READ = 60
"""Rows whose queries are read before the list is first shown: at least a screenful."""

BUILT_IN = "built-in sample"

READ_AT_ONCE = 100
"""Records whose queries are read for the list between two looks at the screen."""


class VakraApp(InTurns, Leaving):
    """The debugger on a dataset and its runs; ``wiring`` makes the parts when they are first asked for."""

    TITLE = "vakra-tui"
    CSS_PATH = Path(__file__).parent / "app.tcss"

    def __init__(self, wiring: Wiring) -> None:
        memory = Memory.of_user()
        free_strips_at_once()
        super().__init__(memory)
        self.engine = Engine()
        self.heap = Heap(self._soon)
        self.world = World(wiring, memory)
        wiring.on_store_wait = self._store_waits
        self.instances = InstancesScreen()
        self.opened = False
        self._screen_loop: asyncio.AbstractEventLoop | None = None
        self._told_wait = 0.0
        self._dataset_key = BUILT_IN

    @property
    def dataset_name(self) -> str:
        return self.world.name

    def footer(self) -> KeyLine:
        """The key line of a screen."""
        return KeyLine()

    def on_mount(self) -> None:
        self._screen_loop = asyncio.get_running_loop()
        self.heap.settle()
        self.push_screen(self.instances)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self.heap.settle()
        self.engine.start()
        self.open_data()

    @contextmanager
    def suspend(self) -> Iterator[None]:
        with super().suspend(), self.heap.unseen():
            yield

    def on_unmount(self) -> None:
        self.engine.stop()
        self.heap.release()

    def _soon(self, function: Callable[[], None]) -> None:
        """Called in any thread: have a function called as a callback of its own."""
        if self._screen_loop is not None and not self._screen_loop.is_closed():
            self._screen_loop.call_soon_threadsafe(function)

    # --- between the engine and the screen ---------------------------------------------------------------------------

    def from_engine(self, function: Callable[..., None], *arguments: Any) -> None:
        """Called in the engine thread: have ``function`` called on the screen's event loop."""
        if self._screen_loop is None or self._screen_loop.is_closed():
            return

        def inside() -> None:
            if self.is_running:
                with self._context():
                    self.guarded(function, *arguments)

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
            await self.engine.call(self.world.read_entries, listing.entries[:FIRST_READ], False)
            first = await self.engine.call(self.world.first)
            self._dataset_key = await self.engine.call(self._key_of_dataset)
        except VakraError as error:
            self.exit(return_code=2, message=Text(f"vakra-tui: {sanitize(str(error))}"))
            return
        self.instances.take(listing)
        self.opened = True
        first, run = self._left_at(first)
        await self._painted()
        self.prepare()
        await self.debugger_ready.wait()
        if first is not None:
            # Its session is at work before the store is opened, which takes longer than showing the question.
            await self.open_entry(first, run=run, hint=self.world.wants_hint)
        elif self.world.wants_hint:
            self.instances.welcome()
        self.tell_config()
        try:
            await self.engine.run(self.world.read_flags())
            await self.engine.run(self.world.read_verdicts())
        except VakraError as error:
            self.report(str(error), title="What was kept cannot be read")
        if self.world.keeping.damaged is not None:
            self._ask_about_store(str(self.world.keeping.damaged))
        await self.read_rows()
        if self.world.wiring.sample:
            self.evaluate_entries(listing.entries)

    async def _painted(self) -> None:
        """Until the list can be read: what opens the debugger takes longer than that."""
        painted = asyncio.Event()
        self.instances.call_after_refresh(painted.set)
        await painted.wait()

    # --- coming back -------------------------------------------------------------------------------------------------

    def _key_of_dataset(self) -> str:
        """Under what the dataset's place is remembered; asks the file system."""
        wiring = self.world.wiring
        return BUILT_IN if wiring.sample else str(wiring.data_path.resolve())

    def _left_at(self, first: Entry | None) -> tuple[Entry | None, str | None]:
        """The row and run to open at once: where this dataset was left, unless the command line says otherwise."""
        place = self.remembered.places.get(self._dataset_key)
        wiring = self.world.wiring
        if place is None or wiring.instance is not None or wiring.selected:
            return first, None
        key = (place.capability, place.domain, place.uuid)
        order = Order(place.sort, place.reverse) if place.sort else None
        self.instances.restore(place.find, order, key)
        if not place.debugging:
            return None, None
        entry = next((each for each in self.instances.listing.entries if each.key == key), None)
        if entry is None:
            return first, None
        return entry, place.run if place.run in entry.predictions else None

    def keep_place(self) -> None:
        """Remember where this dataset is looked at."""
        from vakra_tui.screens.debugger import DebuggerScreen

        if not self.opened:
            return
        open_now = next((each for each in self.screen_stack if isinstance(each, DebuggerScreen)), None)
        entry = self.instances.entry if open_now is None else open_now.session.entry
        subject = open_now.session.subject if open_now is not None else None
        order = self.instances.listing.order
        place = Place(
            find=self.instances.asked,
            sort=order.by if order is not None else "",
            reverse=order is not None and order.reverse,
            run=subject.run if subject is not None else "",
            debugging=open_now is not None,
        )
        if entry is not None:
            place = replace(place, uuid=entry.uuid, capability=entry.capability, domain=entry.domain)
        self.keep(places=self.remembered.with_place(self._dataset_key, place).places)

    async def read_rows(self) -> None:
        """Read the records of all rows that were not read yet, a part at a time and those in sight first."""
        waiting = deque(entry for entry in self.instances.listing.entries if not entry.known)
        tried: set[int] = set()
        while waiting:
            part = [entry for entry in self.instances.in_sight() if not entry.known and id(entry) not in tried]
            if not part:
                part = [waiting.popleft() for _ in range(min(READ_AT_ONCE, len(waiting)))]
            # A row of a file that is being written stays unread; it is tried once.
            tried.update(id(entry) for entry in part)
            await self.engine.call(self.world.read_entries, part)
            self.list_changed()

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

    def list_changed(self) -> None:
        # While the program ends, work that was begun may come here after the last screen.
        if self.screen_stack and self.screen is self.instances:
            self.instances.changed()

    def open_entry(
        self, entry: Entry, *, run: str | None = None, hint: bool = False, at: int | None = None
    ) -> AwaitMount:
        """Open the debugger on a row of the list, at a step where one is named; may be awaited until it is there."""
        from vakra_tui.screens.debugger import DebuggerScreen

        session = self.world.session(entry, run)
        if run is None and (instead := entry.shown_instead()):
            self.toast(instead, warn=True)
        return self.push_screen(DebuggerScreen(session, hint=hint, at=at))

    def open_stored(self, stored: SessionSummary, place: tuple[int, int] | None = None) -> None:
        """Open the debugger on a stored session of this dataset: at a ``place`` (branch, steps behind), or as left."""
        from vakra_tui.screens.debugger import DebuggerScreen

        entry = self.world.entry_of(stored)
        if entry is not None:
            session = self.world.session(entry, stored=stored)
            session.sought = place
            self.push_screen(DebuggerScreen(session))

    def open_other_run(self, run: str, *, at: int | None = None) -> None:
        """Open the instance of the present debugger on another run's prediction, at a step where one is named."""
        from vakra_tui.screens.debugger import DebuggerScreen

        if isinstance(self.screen, DebuggerScreen) and self.screen.session.entry is not None:
            entry = self.screen.session.entry
            self._close_session(self.screen)
            self.switch_screen(DebuggerScreen(self.world.session(entry, run), at=at))

    def show_list(self) -> None:
        """Leave the debugger for the list; what the session learned is shown in its row."""
        from vakra_tui.screens.debugger import DebuggerScreen

        if isinstance(self.screen, DebuggerScreen):
            entry = self.screen.session.entry
            self._close_session(self.screen)
            self.pop_screen()
            if entry is not None:
                self.instances.stand_on(entry.key)
            self.instances.changed()
            self.keep_place()

    @work(group="closing")
    async def _close_session(self, screen: DebuggerScreen) -> None:
        try:
            await self.engine.run(screen.session.in_turn(screen.session.close, screen.behind))
        except VakraError as error:
            self.toast(f"Not everything of the session could be closed: {error}", warn=True)

    async def action_stop(self) -> None:
        """Stop what runs: the screen's own work, else the evaluation of rows."""
        stop = getattr(self.screen, "stop", None)
        if stop is not None and await stop():
            return
        if self.stop_evaluating():
            self.toast("The evaluation is stopped; the verdicts so far stay.")
        else:
            self.toast("Nothing is running.")

    # --- saying something --------------------------------------------------------------------------------------------

    def problem_words(self) -> list[Span]:
        """What is being done and what was odd in the data, for the last line of the list."""
        number = len(self.world.problems)
        busy = [Span(f"   {self.evaluating}", "accent")] if self.evaluating else []
        if not number:
            return busy
        return [
            *busy,
            Span(f"   ! {number} problem{'s' if number > 1 else ''} in the data (palette: problems)", "warn"),
        ]

    def hint_seen(self) -> None:
        """The first-start hint was read; it is not shown again."""
        self.engine.post(self.engine.loop, self.world.hint_seen)

    def action_problems(self) -> None:
        """Why steps are not kept, where they are not, and all problems of dataset and runs, one a line."""
        from vakra_tui.screens.message import MessageScreen

        reasons = [getattr(getattr(screen, "scene", None), "store_problem", "") for screen in self.screen_stack]
        unkept = [f"Steps are not kept: {reason}" for reason in reasons if reason]
        text = "\n".join((*unkept, *self.world.problems)) or "Nothing odd was found in the data."
        self.push_screen(MessageScreen("Problems in the data", text))
