"""The debugger's panes: which has the keyboard, which are shown, how wide they are."""

from __future__ import annotations

from msgspec.structs import replace
from textual import events, on
from textual.geometry import Offset

from vakra_tui.screens.debug_base import DebugBase
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.layout import BY, NARROW, PANES, resized, visible, widths
from vakra_tui.state.remembered import Layout
from vakra_tui.widgets.tab_line import TabLine

PANE_IDS = {"steps": "steps-pane", "step": "step-pane", "ground truth": "truth-pane"}
FOCUS_IDS = {"steps": "steps", "step": "step", "ground truth": "truth"}


class ArrangingVerbs(DebugBase):
    """Going from pane to pane; zooming, folding and sizing them. The arrangement is remembered."""

    current = "steps"
    """The pane that has the keyboard, or had it last."""
    zoomed = False

    @property
    def layout_chosen(self) -> Layout:
        """What the person chose, for all sessions."""
        return self.app.remembered.layout

    @property
    def focused_pane(self) -> str:
        """Name of the pane that has the keyboard, empty where none has."""
        node = self.focused
        while node is not None and node is not self:
            found = next((pane for pane, id_ in PANE_IDS.items() if node.id == id_), "")
            if found:
                return found
            node = node.parent  # type: ignore[assignment]
        return ""

    @property
    def shown_panes(self) -> tuple[str, ...]:
        return visible(self.layout_chosen.folded, self.current, self.zoomed, self.size.width)

    def place_panes(self) -> None:
        """Show the panes as they were chosen, in the width that there is."""
        shown = self.shown_panes
        columns = widths(shown, self.layout_chosen.widths, self.size.width)
        for pane, id_ in PANE_IDS.items():
            box = self.query_one(f"#{id_}")
            box.display = pane in shown
            width = columns.get(pane)
            box.styles.width = "1fr" if width is None else width
        self._place_banners()
        tabs = self.query_one("#panes-tabs", TabLine)
        tabs.display = len(shown) < len(PANES)
        tabs.choose(self.current)

    def action_pane(self, name: str) -> None:
        """Show (where it is folded) and focus a pane; a zoom goes along."""
        folded = tuple(pane for pane in self.layout_chosen.folded if pane != name)
        if folded != self.layout_chosen.folded:
            self.app.keep_layout(replace(self.layout_chosen, folded=folded))
        self.current = name
        self.place_panes()
        self.query_one(f"#{FOCUS_IDS[name]}").focus()

    def _turn(self, places: int) -> None:
        open_ = [pane for pane in PANES if pane not in self.layout_chosen.folded or pane == self.current]
        self.action_pane(open_[(open_.index(self.current) + places) % len(open_)])

    def action_next_pane(self) -> None:
        self._turn(1)

    def action_previous_pane(self) -> None:
        self._turn(-1)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        pane = self.focused_pane
        if pane and pane != self.current:
            self.current = pane
            self.place_panes()

    @on(TabLine.Picked, "#panes-tabs")
    def _pane_picked(self, message: TabLine.Picked) -> None:
        self.action_pane(message.name)

    # --- zooming, folding, sizing ------------------------------------------------------------------------------------

    def action_zoom(self) -> None:
        """The pane alone on the screen, or all as before. Where one is alone anyway, what is around it goes."""
        self.zoomed = not self.zoomed
        self.place_panes()

    def _place_banners(self) -> None:
        """A zoom in a narrow terminal takes the texts around the pane away, since its neighbours are not there."""
        away = self.zoomed and self.size.width < NARROW
        self.set_class(away, "-alone")

    def action_fold(self) -> None:
        """Put the pane away; its name in the line of panes, or its number, brings it back."""
        layout = self.layout_chosen
        others = [pane for pane in PANES if pane != self.current and pane not in layout.folded]
        if not others:
            self.app.toast("One pane stays.")
            return
        self.app.keep_layout(replace(layout, folded=tuple(dict.fromkeys((*layout.folded, self.current)))))
        self.zoomed = False
        self.action_pane(others[0])

    def action_unfold(self) -> None:
        """All panes, in their own widths."""
        self.app.keep_layout(Layout())
        self.zoomed = False
        self.place_panes()

    def action_resize(self, times: int) -> None:
        """Make the pane wider, or narrower."""
        chosen = resized(self.current, times * BY, self.shown_panes, self.layout_chosen.widths, self.size.width)
        if chosen is None:
            self.app.toast(f"There is one pane on the screen; {key('debugger.zoom')} shows all where they fit.")
            return
        self.app.keep_layout(replace(self.layout_chosen, widths=chosen))
        self.place_panes()

    # --- jumping -----------------------------------------------------------------------------------------------------

    def jump_targets(self) -> list[tuple[Offset, str]]:
        """Where letters are shown by jump mode, and the action that each stands for."""
        found: list[tuple[Offset, str]] = []
        shown = self.shown_panes
        tabs = self.query_one("#panes-tabs", TabLine)
        for pane in PANES:
            if pane in shown:
                place = self.query_one(f"#{PANE_IDS[pane]}").region.offset
            else:
                place = Offset(tabs.region.x + tabs.start_of(pane), tabs.region.y)
            found.append((place, f"screen.pane({pane!r})"))
        waterfall = self.query_one("#waterfall")
        if waterfall.display:
            found.append((waterfall.region.offset, "screen.waterfall"))
        if "step" in shown:
            line = self.query_one("#step-tabs", TabLine)
            for name in line.names:
                place = Offset(line.region.x + line.start_of(name), line.region.y)
                if line.region.x <= place.x < line.region.right:
                    found.append((place, f"screen.tab({name!r})"))
        return found
