"""A one-line field into which only printable text can get, typed or pasted."""

from __future__ import annotations

import re
from typing import Any

from textual import events
from textual.widgets import Input

from vakra_tui.text import sanitize


class CleanInput(Input):
    """An input whose text is sanitised on its way in, so that a pasted escape sequence never reaches the terminal.

    ``value`` is what is shown. ``meant`` is the text with every character as it came: what data is made of.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self._came_as: dict[str, str] = {}
        super().__init__(*arguments, **named)

    def validate_value(self, value: str) -> str:
        shown = sanitize(value)
        if shown != value:
            # A stand-in that a person wrote in so many characters stays what it is.
            stand_ins = {sanitize(character): character for character in set(value)}
            self._came_as |= {each: came for each, came in stand_ins.items() if each != came and each not in value}
        return shown

    def _on_paste(self, event: events.Paste) -> None:
        """Take all lines of a paste, the breaks between them as signs; a break at its end says nothing."""
        text = event.text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
        if text:
            # Shown as it will stand there, so that the cursor comes behind it.
            self.replace(self.validate_value(text), *sorted(self.selection))
        event.prevent_default()
        event.stop()

    @property
    def meant(self) -> str:
        """The text with the characters that stand-ins are shown for."""
        if not self._came_as:
            return self.value
        return re.sub("|".join(map(re.escape, self._came_as)), lambda found: self._came_as[found[0]], self.value)
