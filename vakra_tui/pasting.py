"""What a paste may bring into a field: never more than a line can be edited with, never what a terminal acts on."""

from __future__ import annotations

from typing import Final

from textual import events
from textual.widget import Widget

from vakra_tui.text import one_line, sanitize
from vakra_tui.widgets.clean_input import CleanInput

LONGEST: Final = 20_000
"""Characters of one paste. A field draws its whole line at every key."""


def too_long(event: events.Paste) -> str:
    """A sentence where a paste is too long for any field, else nothing."""
    size = len(event.text)
    if size <= LONGEST:
        return ""
    return f"Nothing was pasted: {size:,} characters are more than the {LONGEST:,} that a field takes at once."


def fitting(event: events.Paste, target: Widget) -> events.Paste:
    """The paste as a widget may get it: a field of ours sees to it itself, all others get one harmless line."""
    return event if isinstance(target, CleanInput) else events.Paste(sanitize(one_line(event.text, LONGEST)))
