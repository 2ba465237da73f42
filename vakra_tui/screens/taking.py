"""The debugger's verbs that take something out of it: copies, the user's own programs, exports."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from toolenv.errors import DataError, VakraError
from toolenv.files import path_of
from vakra_tui.screens.debug_base import DebugBase
from vakra_tui.state import outside
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.copies import CLIPBOARD_AT_MOST, Copy, copies_of, request_copies
from vakra_tui.text import count_words, size_words
from vakra_tui.working import work

if TYPE_CHECKING:
    from vakra_tui.state.outside import Kind


class TakingVerbs(DebugBase):
    """Copy, open in a pager or an editor, export."""

    async def _copies(self) -> tuple[Copy, ...]:
        if self.scene is None:
            return ()
        world = self.app.world
        found = copies_of(self.scene, self.row, "" if world.wiring.sample else str(world.wiring.data_path))
        if self.row is None or self.row.actor != "agent":
            return found
        try:
            asked = await self.app.engine.run(self.session.in_turn(self.session.spoken, self.cursor))
        except VakraError as error:
            self.app.toast(f"What the agent's model was asked cannot be read: {error}", warn=True)
            return found
        return (*found, *request_copies(asked, world.agent_base_url))

    async def _picked_copy(self, question: str) -> Copy | None:
        """One of the things that can be taken, chosen by a person."""
        from vakra_tui.screens.choice import ChoiceScreen

        found = await self._copies()
        if not found:
            self.app.toast("There is nothing here yet.")
            return None
        picked = await self.app.push_screen_wait(ChoiceScreen(question, [(each.name, each.words) for each in found]))
        return next((each for each in found if each.name == picked), None)

    @work(exclusive=True, group="doing")
    async def action_copy(self) -> None:
        """Copy something of this step or branch: to the terminal's clipboard and, for terminals without, to a file."""
        chosen = await self._picked_copy("Copy what?")
        if chosen is None:
            return
        try:
            text = await asyncio.to_thread(chosen.text)
        except VakraError as error:
            self.app.report(str(error))
            return
        text = text.encode("utf-8", "replace").decode("utf-8")
        size = len(text.encode())
        place = self.app.world.memory.folder / "copied" / chosen.file
        kept = await asyncio.to_thread(_kept, place, text)
        where = f"it is in {place}" if kept else "no file of it could be written"
        fits = size <= CLIPBOARD_AT_MOST
        if fits:
            self.app.copy_to_clipboard(text)
            told = f"Copied the {chosen.name} ({size_words(size)}); if your terminal does not take it, {where}."
        else:
            told = f"{size_words(size)} are too much for a terminal's clipboard; {where}."
        if chosen.after:
            self.app.report(f"{chosen.after}\n\n{told}", title=f"The {chosen.name}")
        else:
            self.app.toast(told, warn=not (fits or kept))

    @work(exclusive=True, group="doing")
    async def action_outside(self) -> None:
        """Open something of this step or branch in the user's pager or editor; the screen comes back afterwards."""
        from vakra_tui.screens.choice import ChoiceScreen

        kinds = await asyncio.to_thread(outside.offered)
        if not kinds:
            self.app.report(await asyncio.to_thread(_no_program), title="No program to open it in")
            return
        chosen = await self._picked_copy("Open what?")
        if chosen is None:
            return
        kind: Kind = kinds[0]
        if len(kinds) > 1:
            choices = [("pager", "to read it"), ("editor", "a copy of it; what is changed there is not read back")]
            picked = await self.app.push_screen_wait(ChoiceScreen(f"Open the {chosen.name} in your", choices))
            if picked is None:
                return
            kind = "editor" if picked == "editor" else "pager"
        try:
            text = await asyncio.to_thread(chosen.text)
            with self.app.suspend():
                # Nothing may be drawn while the other program has the terminal, so the event loop waits with it.
                outside.run(kind, text, chosen.file)
        except SuspendNotSupported:
            told = "This terminal (a browser, say) cannot be handed to another program"
            self.app.report(f"{told}; {key('debugger.copy')} copies instead.")
        except VakraError as error:
            self.app.report(str(error))

    @work(exclusive=True, group="doing")
    async def action_export(self) -> None:
        """Write this branch in one of the forms that others read."""
        from vakra_tui.screens.ask import AskScreen
        from vakra_tui.screens.choice import ChoiceScreen
        from vakra_tui.state.export import FORM_KINDS, LAYOUT_KINDS, default_place, reference_doubts

        if self.scene is None:
            return
        choices = [*LAYOUT_KINDS.items(), *FORM_KINDS.items()]
        kind = await self.app.push_screen_wait(ChoiceScreen("Export this branch as", [(n, w) for n, w in choices]))
        if kind is None:
            return
        doubts = reference_doubts(self.scene) if kind == "reference" else ()
        if doubts:
            asked = "\n".join(("Write this branch as ground truth?", *doubts))
            ways = (("leave it", "write nothing"), ("write it", "as it stands"))
            if await self.app.push_screen_wait(ChoiceScreen(asked, ways)) != "write it":
                return
        question = "Folder to write it to" if kind in LAYOUT_KINDS else "File to write it to"
        place = default_place(kind, self.scene.instance, self.scene.branch)
        written = await self.app.push_screen_wait(AskScreen(question, value=place))
        if not written:
            return
        try:
            path = await self._exported(kind, written)
        except VakraError as error:
            self.app.report(str(error))
            return
        whole = await asyncio.to_thread(path.absolute)
        self.app.toast(f"Written: {whole}")

    async def _exported(self, kind: str, place: str) -> Path:
        """Write the branch; a file that is there already and holds something else is replaced only with consent."""
        from vakra_tui.screens.choice import ChoiceScreen
        from vakra_tui.state.export import LAYOUT_KINDS, export_form

        if kind in LAYOUT_KINDS:
            layout = "reference" if kind == "reference" else "prediction"
            return Path(await self.app.engine.run(self.session.in_turn(self.session.export, layout, place)))
        there = await asyncio.to_thread(_size_of, place)
        if there is not None:
            choices = (("leave it", "write nothing"), ("replace it", f"what it holds now ({there}) is lost"))
            if await self.app.push_screen_wait(ChoiceScreen(f"{place} is there already", choices)) != "replace it":
                raise DataError("Nothing was written.")
        one = await self.app.engine.run(self.session.in_turn(self.session.exported))
        return await asyncio.to_thread(export_form, kind, place, one)


def _size_of(place: str) -> str | None:
    """The size of what is at a path in words, None where nothing is. Raises ``DataError`` for what is no path."""
    try:
        return count_words(path_of(place).stat().st_size, "byte")
    except OSError:
        return None


def _kept(place: Path, text: str) -> bool:
    """Write a copy where only this user reads it; False where that is not possible."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        place.touch(mode=0o600)
        place.write_text(text, encoding="utf-8")
    except OSError:
        return False
    return True


def _no_program() -> str:
    """Why neither a pager nor an editor can be opened."""
    reasons = []
    for kind in outside.VARIABLES:
        try:
            outside.program_of(kind)
        except DataError as error:
            reasons.append(str(error))
    return "\n".join(reasons)
