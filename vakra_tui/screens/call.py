"""The form of one call: a field an argument, validated as one types; run as a step or tried without a trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.suggester import SuggestFromList
from textual.widgets import Button, Static

from toolenv.errors import VakraError
from toolenv.model import Json, ToolCall, ToolSpec
from vakra_tui.render import content
from vakra_tui.state import response as responses
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.form import Field, assemble, fields_of, problem, raw_line, written
from vakra_tui.state.lines import HANG, Headed, Line, Lines, LineSource, line
from vakra_tui.state.panes.tools import field_line
from vakra_tui.text import one_line
from vakra_tui.widgets.banner import Banner
from vakra_tui.widgets.bound import bindings
from vakra_tui.widgets.clean_input import CleanInput
from vakra_tui.widgets.line_view import LineView
from vakra_tui.widgets.turns import Screen
from vakra_tui.working import work

if TYPE_CHECKING:
    from vakra_tui.app import VakraApp
    from vakra_tui.state.session import DebugSession

CHOICES_SHOWN = 8

WRAPPED_BELOW = 20_000
"""Characters of a plain text up to which it is wrapped at words; longer ones are cut at the edge."""


class FieldInput(CleanInput):
    """The input of one argument; up and down go through its choices, or where it has none to another field."""

    CONTEXT: ClassVar[str] = "field"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)

    def __init__(self, field: Field, value: str) -> None:
        suggester = SuggestFromList(list(field.choices), case_sensitive=False) if field.choices else None
        placeholder = "" if not field.has_default else f"default {one_line(written(field.default, field), 40)}"
        super().__init__(value, suggester=suggester, placeholder=placeholder, classes="field")
        self.field = field

    def action_choice(self, places: int) -> None:
        choices = self.field.choices
        if not choices:
            if places > 0:
                self.screen.focus_next(FieldInput)
            else:
                self.screen.focus_previous(FieldInput)
            return
        if self.value in choices:
            self.value = choices[(choices.index(self.value) + places) % len(choices)]
        else:
            self.value = choices[0 if places > 0 else -1]
        self.cursor_position = len(self.value)


class CallScreen(Screen[ToolCall | None]):
    """Gives the call to run as a step, or None when it was left. A scratch call stays on this screen.

    ``at`` is how many steps lie behind the place where a scratch call is made. ``said`` are lines about the call that
    stay above the fields, ``notes`` what is wrong with single arguments, ``due`` those that the reference gives and the
    edited call does not, ``first`` the argument to begin with.
    """

    CSS_PATH = "call.tcss"
    CONTEXT: ClassVar[str] = "call"
    BINDINGS: ClassVar[list[BindingType]] = bindings(CONTEXT)

    app: VakraApp

    def __init__(
        self,
        session: DebugSession,
        spec: ToolSpec,
        at: int,
        *,
        values: Mapping[str, Json] | None = None,
        handles: Sequence[tuple[str, str]] = (),
        columns: Mapping[str, Sequence[str]] | None = None,
        said: Sequence[Line] = (),
        notes: Mapping[str, str] | None = None,
        due: Sequence[str] = (),
        first: str = "",
    ) -> None:
        super().__init__()
        self._due = tuple(due)
        self._told = tuple(said)
        self._notes = notes or {}
        self._first = first
        self._session = session
        self._spec = spec
        self._at = at
        self._values = values or {}
        self._handles = tuple(handles)
        self._fields = fields_of(spec, [handle for handle, _ in handles], columns)

    def compose(self) -> ComposeResult:
        yield Banner(id="title", tallest=2)
        yield Banner(id="warnings", tallest=4)
        with VerticalScroll(id="fields", can_focus=False):
            for field in self._fields:
                sign = "! " if field.name in self._notes else "* " if field.required else "  "
                yield Static(content(sign + field.name), classes="name", markup=False)
                given = field.name in self._values
                text = written(self._values[field.name], field) if given else ""
                if not given and field.constant:
                    text = field.choices[0]
                yield FieldInput(field, text)
        yield Banner(id="about", tallest=5)
        yield Banner(id="line", tallest=3)
        yield Banner(id="said", tallest=3)
        with Horizontal(id="buttons"):
            yield Button("Run as step (Enter)", id="run", compact=True)
            yield Button(f"Try without trace ({key('call.scratch')})", id="scratch", compact=True)
            yield Button(f"Back ({key('call.leave')})", id="back", compact=True)
        yield LineView(id="result")

    def on_mount(self) -> None:
        head = line((" ", ""), (self._spec.name, "title"), (f"   {one_line(self._spec.description, 300)}", "dim"))
        self.query_one("#title", Banner).show_lines([head])
        self.query_one("#warnings", Banner).show_lines(self._told)
        self.query_one("#result").display = False
        inputs = self.query(FieldInput)
        first = next((each for each in inputs if each.field.name == self._first), None)
        (first or (inputs.first() if inputs else self.query_one("#run"))).focus()
        self._check()

    @property
    def call(self) -> ToolCall:
        """The call as it stands."""
        texts = {field.field.name: field.meant for field in self.query(FieldInput)}
        return assemble(self._spec, self._fields, texts)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        if isinstance(event.widget, FieldInput):
            self._about(event.widget.field)

    def _about(self, field: Field) -> None:
        lines: list[Line] = [field_line(field)]
        if field.name in self._notes:
            lines.append(line(("    ! ", "warn"), HANG, (self._notes[field.name], "warn")))
        if field.description:
            lines.append(line(("    ", ""), (field.description, "dim")))
        if field.choices:
            where = dict(self._handles)
            shown = []
            for choice in field.choices[:CHOICES_SHOWN]:
                shown.append(choice + (f" ({where[choice]})" if choice in where else ""))
            more = len(field.choices) - CHOICES_SHOWN
            tail = f" and {more} more" if more > 0 else ""
            lines.append(line(("    up/down: ", "label"), ", ".join(shown), (tail, "dim")))
        self.query_one("#about", Banner).show_lines(lines)

    @on(CleanInput.Changed)
    def _changed(self) -> None:
        self._check()

    @work(exclusive=True, group="check")
    async def _check(self) -> None:
        """Validate what is typed so far, away from the event loop; a newer text cancels it."""
        call = self.call
        self.query_one("#line", Banner).show_lines([line((" ", ""), (raw_line(call), "code"))])
        refused = await self.app.engine.call(problem, self._spec, call)
        if refused:
            words = line((f" \u2717 {refused}", "warn"))
        else:
            lacks = ", ".join(one_line(name, 40) for name in self._due if name not in call.arguments)
            gives = f"; the reference gives {lacks}" if lacks else ""
            words = line((" \u2713 the schema accepts this", "ok"), (gives, "warn"))
        self.query_one("#said", Banner).show_lines([words])

    @on(CleanInput.Submitted)
    def _submitted(self) -> None:
        self.action_run()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "run":
            self.action_run()
        elif event.button.id == "scratch":
            self.action_scratch()
        else:
            self.action_leave()

    def action_run(self) -> None:
        self.dismiss(self.call)

    @work(exclusive=True, group="scratch")
    async def action_scratch(self) -> None:
        """Call on a fork: the answer is shown here and leaves no trace in the trajectory."""
        view = self.query_one("#result", LineView)
        view.display = True
        view.show(Lines([line(("calling \u2026", "dim"))]))
        try:
            result = await self.app.engine.run(self._session.scratch(self.call, self._at))
        except VakraError as error:
            view.show(Lines([line(("no answer: ", "warn"), str(error))]))
            return
        made: list[responses.Shape] = []

        def body() -> LineSource:
            shape = responses.read(result.text)
            made.append(shape)
            if shape.kind == "text" and len(shape.text) < WRAPPED_BELOW:
                return Lines([line((shape.text, "code"))])
            return responses.document(shape)

        document = await self.app.read(body, view.text_width())
        state = ("\u2717 failed  ", "fail") if result.failed else ("\u2713 ", "ok")
        head = line(("scratch, no trace: ", "label"), state, (made[0].words, "dim"))  # type: ignore[arg-type]
        notes = [line(("quirk: ", "warn"), note) for note in result.notes]
        view.show(Headed([head, *notes], document))
        view.scroll_visible(animate=False)

    def action_leave(self) -> None:
        self.dismiss(None)
