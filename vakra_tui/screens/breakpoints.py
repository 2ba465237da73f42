"""The list of breakpoints: add, switch off and on, remove."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import msgspec
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from sessions.breakpoints import Breakpoint
from sessions.filters import StepView
from vakra_tui.render import content
from vakra_tui.state.breakpoints import ASKS, KINDS, completer, line_of, problem_of
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.lines import Lines, line
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.pick_list import PickList
from vakra_tui.widgets.turns import ModalScreen
from vakra_tui.working import work

if TYPE_CHECKING:
    from vakra_tui.app import VakraApp


class BreakpointsScreen(ModalScreen[tuple[Breakpoint, ...]]):
    """Gives all breakpoints as they are when it is left; ``names`` are tools, ``views`` steps, for completion."""

    CSS_PATH = "dialog.tcss"
    CONTEXT: ClassVar[str] = "breakpoints"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)

    app: VakraApp

    def __init__(self, breakpoints: Sequence[Breakpoint], names: Sequence[str], views: Sequence[StepView]) -> None:
        super().__init__()
        self._breakpoints = list(breakpoints)
        self._names = tuple(names)
        self._views = tuple(views)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            title = f"Breakpoints: {key('debugger.continue')} runs to the next one"
            yield Static(content(title), classes="dialog-title", markup=False)
            yield PickList(id="breakpoints")
            note = (
                f"{key('breakpoints.add')} adds, {key('list.choose')} switches off and on, "
                f"{key('breakpoints.remove')} removes, {key('breakpoints.leave')} closes"
            )
            yield Static(content(note), classes="dialog-note", markup=False)

    def on_mount(self) -> None:
        self._list()
        self.query_one("#breakpoints").focus()

    def _list(self, cursor: int = 0) -> None:
        listed = self.query_one("#breakpoints", PickList)
        rows = [line_of(each) for each in self._breakpoints]
        listed.show(Lines(rows or [line(("none yet", "dim"))], wrapped=False))
        listed.styles.height = max(1, min(len(rows), 12))
        listed.place(cursor)

    @property
    def _chosen(self) -> int | None:
        return self.query_one("#breakpoints", PickList).cursor if self._breakpoints else None

    @work(exclusive=True)
    async def action_add(self) -> None:
        """Choose a kind, then its value where it needs one."""
        from vakra_tui.screens.choice import ChoiceScreen
        from vakra_tui.screens.expression import ExpressionScreen

        kinds = {name: kind for kind, (name, _) in KINDS.items()}
        picked = await self.app.push_screen_wait(ChoiceScreen("Stop where?", tuple(KINDS.values())))
        if picked is None:
            return
        kind = kinds[picked]
        value: str | None = ""
        if kind in ASKS:
            value = await self.app.push_screen_wait(
                ExpressionScreen(
                    ASKS[kind], completer(kind, self._names, self._views), lambda text: problem_of(kind, text)
                )
            )
        if value is not None:
            self._breakpoints.append(Breakpoint(kind=kind, value=value))
            self._list(len(self._breakpoints) - 1)

    @on(PickList.Chosen, "#breakpoints")
    def _switch(self) -> None:
        if self._chosen is not None:
            index = self._chosen
            each = self._breakpoints[index]
            self._breakpoints[index] = msgspec.structs.replace(each, enabled=not each.enabled)
            self._list(index)

    def action_remove(self) -> None:
        if self._chosen is not None:
            index = self._chosen
            del self._breakpoints[index]
            self._list(max(index - 1, 0))

    def action_leave(self) -> None:
        self.dismiss(tuple(self._breakpoints))
