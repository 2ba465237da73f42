"""Searching inside the panes of the debugger."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from threading import Event
from typing import Any

from textual.content import Content
from textual.widget import Widget

from vakra_tui.render import content
from vakra_tui.screens.debug_base import DebugBase
from vakra_tui.state.search import LineByLine, Needle, Placed, Search, Searchable
from vakra_tui.state.table_order import rows_with
from vakra_tui.state.table_rows import TableRows
from vakra_tui.widgets.line_view import LineView
from vakra_tui.working import work

PANE_OF = {"steps": "#steps-pane", "step": "#step-pane", "truth": "#truth-pane"}
"""The id of a view -> the pane in whose lower border its search is told."""

BESIDE = "  \u2502 "
"""Between a pane's title and what is told beside it."""


def title_of(pane: Widget) -> str:
    """The text of a pane's title. The library's own property gives it back as markup that cannot be read again."""
    title: Content | None = getattr(pane, "_border_title", None)
    return title.plain if title is not None else ""


class FindingVerbs(DebugBase):
    """``search``, and on to the next match; a search goes on in what the pane shows next."""

    _needles: dict[str, Needle]
    _search_stop: Event | None = None

    def _searched(self) -> LineView:
        """The view that has the keyboard, else the step's."""
        focused = self.focused
        if isinstance(focused, LineView) and focused.id in PANE_OF:
            return focused
        return self.query_one("#step", LineView)

    def _needle_of(self, view: LineView) -> Needle | None:
        return getattr(self, "_needles", {}).get(view.id or "")

    @work(exclusive=True, group="searching")
    async def action_search(self) -> None:
        """Ask for a text and go to its first match at or behind what is in view."""
        from vakra_tui.screens.ask import AskScreen

        view = self._searched()
        before = self._needle_of(view)
        what = {"steps": "the steps", "step": "this step", "truth": "the ground truth"}[view.id or "step"]
        note = "upper and lower case are the same; . and , go on; an empty text takes the marks away"
        text = await self.app.push_screen_wait(
            AskScreen(f"Search in {what}", value=before.text if before is not None else "", note=note)
        )
        if text is not None:
            await self.find_in(view, text)

    async def find_in(self, view: LineView, text: str, *, quiet: bool = False) -> bool:
        """Search a view; whether there is a match. ``quiet`` says nothing where there is none."""
        if not hasattr(self, "_needles"):
            self._needles = {}
        if not text:
            self._needles.pop(view.id or "", None)
            view.mark(None)
            self._tell_search(view)
            return False
        needle = self._needles[view.id or ""] = Needle(text)
        source = view.source
        self._tell_search(view, "searching \u2026")
        placed, places = await self._found_places(view, needle)
        if view.source is not source:
            self._tell_search(view)
            return False
        search = Search(needle, source, placed, places)
        search.go_behind(view.scroll_offset.y)
        view.mark(search)
        self._show_match(view, search)
        if not places and not quiet:
            self.app.toast(f"\u201c{text}\u201d occurs nowhere here.", warn=True)
        return bool(places)

    async def _found_places(self, view: LineView, needle: Needle) -> tuple[Placed, Sequence[Any]]:
        """All places: in the engine for the rows of a table, else in a worker; a newer search ends an older one."""
        source = view.source
        if isinstance(source, TableRows):
            return source, await self.app.engine.run(rows_with(source.view, source.positions, needle))
        self.end_search()
        stop = self._search_stop = Event()
        searched = source if isinstance(source, Searchable) else LineByLine(source, view.count)
        return searched, await asyncio.to_thread(searched.find, needle, stop.is_set)

    def end_marks(self) -> bool:
        """Take the search of the pane away that has the keyboard; False where there is none."""
        view = self._searched()
        if self._needle_of(view) is None:
            return False
        self._needles.pop(view.id or "", None)
        self.end_search()
        view.mark(None)
        self._tell_search(view)
        return True

    def end_search(self) -> None:
        """Have a search that runs in a worker end soon."""
        if self._search_stop is not None:
            self._search_stop.set()

    def action_next_match(self, steps: int) -> None:
        """On to the next match, or the one before; in other lines than those that were searched, search them first."""
        view = self._searched()
        search, needle = view.search, self._needle_of(view)
        if search is not None:
            search.go(steps)
            view.mark(search)
            self._show_match(view, search)
        elif needle is not None:
            self._again(view, needle)
        else:
            self.app.toast("Nothing is searched for yet: / searches inside a pane.")

    @work(exclusive=True, group="searching")
    async def _again(self, view: LineView, needle: Needle) -> None:
        await self.find_in(view, needle.text)

    def _show_match(self, view: LineView, search: Search) -> None:
        table = f"   {search.source.words}" if isinstance(search.source, TableRows) else ""
        self._tell_search(view, search.words + table)
        if view.id == "steps" and search.places:
            self._move(search.row())

    def _tell_search(self, view: LineView, words: str = "") -> None:
        """In the lower border of the pane; beside its title where panes are folded and have no lower border."""
        pane = self.query_one(PANE_OF[view.id or "step"])
        title = title_of(pane).partition(BESIDE)[0]
        narrow = self.has_class("-narrow")
        pane.border_subtitle = content(words if not narrow else "")
        pane.border_title = content(f"{title}{BESIDE}{words}" if narrow and words else title)
