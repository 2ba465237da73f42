"""What the application has around its screens: chosen keys, themes, help, palette, dialogs, and what is remembered."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from rich.text import Text
from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.filter import Monochrome, NoColor
from textual.geometry import Offset
from textual.screen import Screen
from textual.worker import WorkerFailed

from toolenv.errors import DataError
from toolenv.values import shortened
from vakra_tui import ink, themes
from vakra_tui.state.commands import chosen, commands_of, key_words
from vakra_tui.state.config import THEMES, Config
from vakra_tui.state.keys import keys_of
from vakra_tui.state.memory import Memory
from vakra_tui.state.remembered import Layout, Remembered, recall, remember
from vakra_tui.text import sanitize
from vakra_tui.type_ahead import TypeAhead
from vakra_tui.widgets.bound import bindings
from vakra_tui.working import work

if TYPE_CHECKING:
    from vakra_tui.state.engine import Engine

LONGEST_TOAST = 400
LONGEST_REPORT = 20_000
"""Characters of a note and of a dialog: what is told may quote data, which may be of any size."""

ERRORS_TOLD, WITHIN_S = 4, 3.0
"""So many errors of this program within so many seconds are dialogs; more of them end it."""


class Chrome(TypeAhead):
    """The base of the application. ``memory`` says in which folder it remembers."""

    ENABLE_COMMAND_PALETTE = True
    CONTEXT: ClassVar[str] = "app"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)

    engine: Engine

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self.memory = memory
        self.config = Config.of_user()
        self.remembered: Remembered = recall(memory.folder)
        self.set_keymap(self.config.keymap)
        chosen.choose(self.config.keys)
        for each in themes.ALL:
            self.register_theme(each)
        theme = self.config.theme or self.remembered.theme
        self.theme = theme if theme in THEMES else THEMES[0]
        self.no_color = ink.wanted()
        # The library would show colours as greys.
        self._filters = [each for each in self._filters if not isinstance(each, Monochrome | NoColor)]
        if self.no_color:
            self._filters.append(ink.Ink())
            self.register_theme(ink.INK)
            self.theme = ink.INK.name
        self._told_forgetting = False
        self.tells_own_errors: bool | None = None
        self._errors: deque[float] = deque(maxlen=ERRORS_TOLD)

    # --- keys, help, palette -----------------------------------------------------------------------------------------

    def key_of(self, id_: str) -> str:
        """The first key of a command as people read it; of one without keys where the palette has it."""
        return chosen.key(id_)

    def get_key_display(self, binding: Binding) -> str:
        """Keys in footers as in the help."""
        return key_words((binding.key,))

    def contexts(self, screen: Screen[Any]) -> tuple[str, ...]:
        """The contexts whose commands work on a screen: its own, the focused widget's, and those of every screen."""
        near = [getattr(node, "CONTEXT", "") for node in (screen, screen.focused)]
        return tuple(dict.fromkeys(each for each in (*near, "app") if each))

    def action_help(self) -> None:
        from vakra_tui.screens.help import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            pane = getattr(self.screen, "focused_pane", "")
            self.push_screen(HelpScreen(self.contexts(self.screen), pane, self.config.keys))

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        for command in commands_of(*self.contexts(screen)):
            if command.palette:
                keys = key_words(keys_of(command, self.config.keys))
                told = f"{command.title}  ({keys})" if keys else command.title
                node = self if command.context == "app" else screen
                yield SystemCommand(command.name.capitalize(), told, self._runner(node, command.action))

    def _runner(self, node: DOMNode, action: str) -> Callable[[], Any]:
        async def run() -> None:
            await self.run_action(action, default_namespace=node)

        return run

    # --- jump mode ---------------------------------------------------------------------------------------------------

    def action_jump(self) -> None:
        """Letters over the parts of the screen; the one that is pressed gets the keyboard."""
        self.call_after_refresh(self._jump)  # The key may have hidden the hint, which moves everything below it.

    @work(exclusive=True, group="jump")
    async def _jump(self) -> None:
        from vakra_tui.screens.jump import JumpScreen

        screen = self.screen
        if isinstance(screen, JumpScreen):
            return
        offered = getattr(screen, "jump_targets", None)
        picked = await self.push_screen_wait(JumpScreen(offered() if offered is not None else _focusable(screen)))
        if picked is not None:
            await self.run_action(picked, default_namespace=screen)

    # --- themes ------------------------------------------------------------------------------------------------------

    @work(exclusive=True, group="theme")
    async def action_theme(self) -> None:
        """Choose one of the themes."""
        from vakra_tui.screens.choice import ChoiceScreen

        words = {"dark": "light text on a dark ground", "light": "dark text on a light ground"}
        choices = [(name, words.get(name, "the strongest contrast there is")) for name in THEMES]
        picked = await self.push_screen_wait(ChoiceScreen("Which theme?", choices, chosen=self.theme))
        if picked is not None:
            self.choose_theme(picked)

    def action_toggle_dark(self) -> None:
        self.choose_theme("light" if self.current_theme.dark else "dark")

    def choose_theme(self, name: str) -> None:
        """Show a theme, and the next time again; without colours, only then."""
        if self.no_color:
            self.toast("NO_COLOR is set: the theme shows when it is not.")
        else:
            self.theme = name
        self.keep(theme=name)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return {name: themes.DARK.variables[name] for name in themes.OWN_VARIABLES}

    # --- what is remembered ------------------------------------------------------------------------------------------

    def keep(self, **changes: Any) -> None:
        """Remember some fields of ``Remembered`` otherwise; written in the engine thread."""
        changed = msgspec.structs.replace(self.remembered, **changes)
        if changed != self.remembered:
            self.remembered = changed
            self.engine.post(self.engine.loop, self._write, changed)

    def _write(self, changed: Remembered) -> None:
        """In the engine thread: write what is remembered; that it cannot be written is told once."""
        try:
            remember(self.memory.folder, changed)
        except DataError as error:
            if not self._told_forgetting:
                self._told_forgetting = True
                told = f"Layout, theme and place will not be remembered: {error}"
                self.from_engine(partial(self.toast, told, warn=True))

    def from_engine(self, function: Callable[..., None], *arguments: Any) -> None:
        """Called in the engine thread: have ``function`` called on the screen's event loop."""
        raise NotImplementedError

    def keep_layout(self, layout: Layout) -> None:
        """Remember the debugger's panes."""
        self.keep(layout=layout)

    # --- saying something --------------------------------------------------------------------------------------------

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """Leave the terminal to another program; the screen comes back also when what is done meanwhile fails."""
        failed: Exception | None = None
        with super().suspend():
            try:
                yield
            except Exception as error:  # noqa: BLE001 - raised again once the screen is back
                failed = error
        if failed is not None:
            raise failed

    def toast(self, text: str, *, warn: bool = False) -> None:
        """A short note at the corner; said again, it takes the place of the one before."""
        said = sanitize(shortened(text, LONGEST_TOAST))
        for note in [each for each in self._notifications if each.message == said]:
            self._unnotify(note, refresh=False)
        self.notify(
            said,
            severity="warning" if warn else "information",
            markup=False,
            timeout=4,
        )

    def report(self, text: str, *, title: str = "That did not work") -> None:
        """A dialog with an error and what to do."""
        from vakra_tui.screens.message import MessageScreen

        self.push_screen(MessageScreen(shortened(title, LONGEST_TOAST), shortened(text, LONGEST_REPORT)))

    def tell_config(self) -> None:
        """A dialog with what in the config file cannot be used, where there is anything."""
        if self.config.problems:
            where = f"\n\nThe file is {self.config.path}; everything else in it holds." if self.config.used else ""
            self.report("\n".join(self.config.problems) + where, title="The config file")

    # --- errors of this program --------------------------------------------------------------------------------------

    async def run_action(self, action: Any, default_namespace: DOMNode | None = None, namespaces: Any = None) -> bool:
        """Run an action; an error in it is a dialog, and the screen goes on."""
        try:
            return await super().run_action(action, default_namespace, namespaces)
        except Exception as error:
            if not self._tells_errors:
                raise
            self._tell_own_error(error)
            return True

    def guarded(self, function: Callable[..., None], *arguments: Any) -> None:
        """Call a function that nobody waits for; an error in it is told like one in an action."""
        try:
            function(*arguments)
        except Exception as error:  # noqa: BLE001 - as in run_action
            if self._tells_errors:
                self._tell_own_error(error)
            else:
                self._handle_exception(error)

    @property
    def _tells_errors(self) -> bool:
        return not self.is_headless if self.tells_own_errors is None else self.tells_own_errors

    def _handle_exception(self, error: Exception) -> None:
        """An error in background work is a dialog; one that ends a part of the screen ends the program in order."""
        if not self._tells_errors:
            super()._handle_exception(error)
        elif self._exit:
            # A screen that was being opened when the program began to end has no parts to find any more.
            self._kept(error)
        elif isinstance(error, WorkerFailed):
            self._tell_own_error(error.error)
        else:
            self._end_by(error)

    def _tell_own_error(self, error: BaseException) -> None:
        """A dialog with what went wrong and the log's place; many in a row end the program."""
        now = time.monotonic()
        if len(self._errors) == ERRORS_TOLD and now - self._errors[0] < WITHIN_S:
            self._end_by(error)
            return
        self._errors.append(now)
        goes_on = "The session goes on; what was shown is kept. Please report it with the log."
        self.report(f"{_words(error)}\n\n{goes_on}\n{self._kept(error)}", title="An error of vakra-tui")

    def _end_by(self, error: BaseException) -> None:
        said = f"vakra-tui: an error of this program ended it: {_words(error)}. {self._kept(error)}"
        self.exit(return_code=2, message=Text(sanitize(said)))

    def _kept(self, error: BaseException) -> str:
        place = self.memory.keep_crash(error)
        return f"The details are in {place}." if place is not None else "The details could not be written."


def _words(error: BaseException) -> str:
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _focusable(screen: Screen[Any]) -> list[tuple[Offset, str]]:
    """The widgets of a screen that can have the keyboard and are seen."""
    return [
        (widget.region.offset, f"app.focus({widget.id!r})")
        for widget in screen.focus_chain
        if widget.id is not None and widget.region.area
    ]
