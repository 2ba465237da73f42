"""Choosing a tool: a searched list beside the schema of the tool under the cursor, or one raw line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.suggester import Suggester

from toolenv.model import ToolCall, ToolSpec
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.form import complete_line, matching, parse_line
from vakra_tui.state.lines import Lines, line
from vakra_tui.state.panes.call_form import policy_warning
from vakra_tui.state.panes.tools import ToolsSource, tool_lines
from vakra_tui.state.scene import Scene
from vakra_tui.text import count_words
from vakra_tui.widgets.banner import Banner
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.clean_input import CleanInput
from vakra_tui.widgets.line_view import LineView
from vakra_tui.widgets.pick_list import PickList
from vakra_tui.widgets.turns import Screen


class LineSuggester(Suggester):
    """Completes a raw line: the tool's name, then its arguments."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._tools = tools

    async def get_suggestion(self, value: str) -> str | None:
        return complete_line(value, self._tools)


def tools_screen(
    tools: Sequence[ToolSpec], scene: Scene, behind: int, *, sought: str = "", chosen: str = ""
) -> ToolsScreen:
    """The choice of a tool for the step after the first ``behind`` ones; see ``ToolsScreen`` for where it begins."""
    return ToolsScreen(tools, lambda name: policy_warning(scene, behind, name), sought=sought, chosen=chosen)


class ToolsScreen(Screen[ToolSpec | ToolCall | None]):
    """Gives the tool whose form is to be opened, or a whole call typed as a raw line."""

    CSS_PATH = "tools.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012
    CONTEXT: ClassVar[str] = "tools"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)

    def __init__(
        self, tools: Sequence[ToolSpec], warns: Callable[[str], str], *, sought: str = "", chosen: str = ""
    ) -> None:
        """``warns`` gives of a tool's name why a call of it breaks the policy, empty where it does not.

        A person who comes back finds the text ``sought`` in the search line and the cursor on the tool ``chosen``.
        """
        super().__init__()
        self.sought = sought
        """What stands in the search line."""
        self._begins = sought, chosen
        self._tools = tuple(tools)
        self._found = list(self._tools)
        self._warns = warns

    def compose(self) -> ComposeResult:
        yield Banner(id="title", tallest=1, cut=True)
        yield CleanInput(
            placeholder='find a tool, or write a call: tool {"argument": "value"}',
            suggester=LineSuggester(self._tools),
            id="find",
        )
        with Horizontal(id="columns"):
            yield PickList(id="tools")
            yield LineView(id="schema")
        yield Banner(id="said", tallest=2)

    def on_mount(self) -> None:
        title = f" call a tool   {count_words(len(self._tools), 'tool')} on offer"
        keys = (
            f"   {key('tools.down')} and {key('tools.up')} choose, {key('tools.open')} opens the form, "
            f"{key('tools.complete')} completes, {key('tools.leave')} leaves"
        )
        self.query_one("#title", Banner).show_lines([line((title, "title"), (keys, "dim"))])
        find = self.query_one("#find", CleanInput)
        find.focus()
        if self.sought:
            self._found = matching(self._tools, self.sought.strip())
            find.value = self.sought
            find.cursor_position = len(self.sought)
        self._list()

    def _list(self) -> None:
        listed = self.query_one("#tools", PickList)
        listed.show(ToolsSource(self._found))
        sought, chosen = self._begins
        names = [tool.name for tool in self._found]
        if self.sought == sought and chosen in names:
            listed.place(names.index(chosen))
        self._describe()

    def _describe(self) -> None:
        chosen = self.chosen
        lines = tool_lines(chosen, self._warns(chosen.name)) if chosen is not None else [line(("no such tool", "dim"))]
        self.query_one("#schema", LineView).show(Lines(lines))

    @property
    def chosen(self) -> ToolSpec | None:
        """The tool under the cursor."""
        return self._found[self.query_one("#tools", PickList).cursor] if self._found else None

    @on(CleanInput.Changed, "#find")
    def _searched(self, event: CleanInput.Changed) -> None:
        text = self.sought = event.value
        raw = "{" in text
        name = text.split("{")[0].strip()
        self._found = matching(self._tools, name) if not raw else [t for t in self._tools if t.name == name]
        self._list()
        said = parse_line(text, self._tools) if raw else None
        self._say(said if isinstance(said, str) else f"{key('tools.open')} runs this line as a step" if raw else "")

    def _say(self, text: str) -> None:
        self.query_one("#said", Banner).show_lines([line((f" {text}", "warn"))] if text else [])

    @on(CleanInput.Submitted, "#find")
    def _submitted(self, event: CleanInput.Submitted) -> None:
        if "{" in event.value:
            parsed = parse_line(self.query_one("#find", CleanInput).meant, self._tools)
            if isinstance(parsed, str):
                self._say(parsed)
            else:
                self.dismiss(parsed)
            return
        self.action_open()

    @on(PickList.Moved, "#tools")
    def _moved(self) -> None:
        self._describe()

    @on(PickList.Chosen, "#tools")
    def _picked(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        if self.chosen is not None:
            self.dismiss(self.chosen)

    def action_move(self, rows: int) -> None:
        """Another tool, while the search line keeps the keyboard."""
        self.query_one("#tools", PickList).action_move(rows)

    def action_move_page(self, pages: int) -> None:
        self.query_one("#tools", PickList).action_move_page(pages)

    def action_find(self) -> None:
        self.query_one("#find").focus()

    def action_complete(self) -> None:
        """Take the suggestion; where there is none, go to the next part of the screen."""
        field = self.query_one("#find", CleanInput)
        if field.has_focus:
            completed = complete_line(field.value, self._tools)
            if completed is not None and completed != field.value:
                field.value = completed
                field.cursor_position = len(completed) - completed.endswith(": }")
                return
        self.focus_next()

    def action_leave(self) -> None:
        self.dismiss(None)
