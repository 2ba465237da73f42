"""A one-line field into which only printable text can get, typed or pasted."""

from __future__ import annotations

from textual.widgets import Input

from vakra_tui.text import sanitize


class CleanInput(Input):
    """An input whose text is sanitised on its way in, so that a pasted escape sequence never reaches the terminal."""

    def validate_value(self, value: str) -> str:
        return sanitize(value)
