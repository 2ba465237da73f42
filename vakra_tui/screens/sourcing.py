"""From the value of an argument to the place that it comes from, to the others that show it, and back."""

from __future__ import annotations

import json
from dataclasses import dataclass

from textual import on

from vakra_tui.screens.step_tabs import StepTabs
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.lines import LineSource
from vakra_tui.state.panes import step
from vakra_tui.state.panes.call import argument_rows, jumpable, place_words
from vakra_tui.state.scene import ArgumentRow, Origin
from vakra_tui.state.search import Needle, Search, Searchable
from vakra_tui.text import one_line
from vakra_tui.widgets.banner import Banner
from vakra_tui.widgets.step_view import StepView
from vakra_tui.working import work

MOST_WAYS_BACK = 50


Place = tuple[int, step.Tab, str]
"""Where one stands: index of the step, tab, the argument that is chosen in the call tab."""


@dataclass(frozen=True)
class Trail:
    """The places of one value; ``at`` is the one that was gone to last, from ``start``, which led to ``here``."""

    places: tuple[Origin, ...]
    at: int
    start: tuple[int, step.Tab]
    here: Place


class SourcingVerbs(StepTabs):
    """``source`` jumps to the response, the turn or the policy that a value comes from; ``source_back`` returns.

    Pressed again where it led to, ``source`` goes on to the next place that shows the value.
    """

    _ways_back: list[tuple[int, step.Tab]]
    _trail: Trail | None = None

    def action_source(self) -> None:
        """Jump to the source of the argument that is chosen, or of one that is asked for."""
        trail = self._trail
        if trail is not None and len(trail.places) > 1 and trail.here == self._place():
            self._go_on(trail)
            return
        row = self.row
        arguments = argument_rows(row) if row is not None else ()
        known = [argument for argument in arguments if jumpable(argument)]
        view = self.query_one("#step", StepView)
        if self._tab == "call" and view.has_focus and view.argument is not None:
            self._jump(view.argument)
        elif len(known) == 1:
            self._jump(known[0])
        elif known:
            self._ask_argument(known)
        else:
            self.app.toast("No value of this step comes from somewhere that can be gone to.", warn=True)

    @on(StepView.SourceWanted)
    def _source_wanted(self, message: StepView.SourceWanted) -> None:
        self._jump(message.argument)

    @work(exclusive=True, group="doing")
    async def _ask_argument(self, arguments: list[ArgumentRow]) -> None:
        from vakra_tui.screens.choice import ChoiceScreen

        named = {argument.name: argument for argument in arguments}
        choices = [(name, argument.origin) for name, argument in named.items()]
        picked = await self.app.push_screen_wait(ChoiceScreen("Where does its value come from?", choices))
        if picked is not None:
            await self._jump_from(named[picked])

    @work(exclusive=True, group="doing")
    async def _jump(self, argument: ArgumentRow) -> None:
        await self._jump_from(argument)

    async def _jump_from(self, argument: ArgumentRow) -> None:
        from vakra_tui.screens.choice import ChoiceScreen

        places = jumpable(argument)
        if not places:
            why = argument.origin or "where it comes from was not looked into"
            self.app.toast(f"{one_line(argument.name, 60)}: {why}.", warn=True)
            return
        origin = places[0]
        if len(places) > 1:
            named = {f"{number}  {one_line(str(place.value), 40)}": place for number, place in enumerate(places, 1)}
            picked = await self.app.push_screen_wait(
                ChoiceScreen("Which of its values?", [(name, place.text) for name, place in named.items()])
            )
            if picked is None:
                return
            origin = named[picked]
        await self._go_to((origin, *origin.others), 0, (self.cursor, self._tab))

    def _place(self) -> Place:
        chosen = self.query_one("#step", StepView).argument if self._tab == "call" else None
        return self.cursor, self._tab, chosen.name if chosen is not None else ""

    @work(exclusive=True, group="doing")
    async def _go_on(self, trail: Trail) -> None:
        await self._go_to(trail.places, (trail.at + 1) % len(trail.places), trail.start)

    async def _go_to(self, places: tuple[Origin, ...], at: int, start: tuple[int, step.Tab]) -> None:
        """Show one of the places of a value; ``start`` is where the person came from."""
        scene, origin = self.scene, places[at]
        if scene is None:
            return
        following = place_words(places[(at + 1) % len(places)]) if len(places) > 1 else ""
        on = f" {key('debugger.source-of-argument')} again: {following}" if following else ""
        text = origin.value if isinstance(origin.value, str) else json.dumps(origin.value)
        if origin.seen in ("response", "handle"):
            index = next((i for i, row in enumerate(scene.rows) if row.number == (origin.step or 0)), None)
            if index is None:
                return
            ways = getattr(self, "_ways_back", [])
            if ways[-1:] != [start]:
                self._ways_back = [*ways, start][-MOST_WAYS_BACK:]
            self._tab = "response"
            self._move(index)
            self._draw_step(force=True)
            self.action_pane("step")
            await self.step_read()
            await self.find_in(self.query_one("#step", StepView), text, quiet=True)
            self.app.toast(f"{key('debugger.back-from-source')} leads back.{on}")
        elif origin.seen == "policy":
            if not self._mark_banner("#policy", text, f"It stands in the policy above.{on}"):
                from vakra_tui.screens.message import MessageScreen

                self.app.push_screen(MessageScreen(f"The policy, which has {one_line(text, 60)}", scene.policy.text))
        else:
            if origin.seen == "context" and not self._context_shown:
                self.action_context()
            self._mark_banner("#question", text, f"{origin.text.capitalize()}, above.{on}")
        self._trail = Trail(places, at, start, self._place())

    def _mark_banner(self, name: str, text: str, words: str) -> bool:
        """Mark a value in the texts above the panes; False where it does not stand there as it is written."""
        banner = self.query_one(name, Banner)
        source: LineSource = banner.source
        needle = Needle(text)
        places = source.find(needle, lambda: False) if isinstance(source, Searchable) else ()
        if isinstance(source, Searchable):
            banner.mark(Search(needle, source, source, places))
        if places or name != "#policy":
            self.app.toast(words)
        return bool(places)

    def action_source_back(self) -> None:
        """Back to where the last jump began."""
        ways = getattr(self, "_ways_back", [])
        if not ways:
            self.app.toast("There is no jump to come back from.")
            return
        cursor, self._tab = ways.pop()
        self._move(cursor)
        self._draw_step(force=True)
        self.action_pane("step")

    _context_shown: bool

    def action_context(self) -> None:
        """Show or hide the earlier turns."""
        raise NotImplementedError
