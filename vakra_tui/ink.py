"""A screen without any colour, for ``NO_COLOR``: bold, underlined and reversed text alone reach the terminal.

The theme ``ink`` has two grounds, black and white, and the filter makes reversed text of what stands on the white one:
the row under the cursor, a letter of the jump mode, the thumb of a scroll bar. All colours are then taken out, so that
the terminal's own ones are used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.theme import Theme

BLACK, WHITE = "#000000", "#ffffff"

BRIGHT = 0.4
"""Brightness, 0 to 1, from which on a ground counts as white."""

INK = Theme(
    name="ink",
    primary=WHITE,
    secondary=WHITE,
    accent=WHITE,
    warning=WHITE,
    error=WHITE,
    success=WHITE,
    foreground=WHITE,
    background=BLACK,
    surface=BLACK,
    panel=BLACK,
    dark=True,
    variables={
        "footer-key-foreground": WHITE,
        "footer-description-foreground": WHITE,
        "text-muted": WHITE,
        "border": WHITE,
        "border-blurred": WHITE,
        "pane-border": WHITE,
        "row-cursor": BLACK,
        "row-cursor-focus": WHITE,
        "scrollbar": WHITE,
        "scrollbar-hover": WHITE,
        "scrollbar-active": WHITE,
        "scrollbar-background": BLACK,
        "scrollbar-background-hover": BLACK,
        "scrollbar-background-active": BLACK,
        "scrollbar-corner-color": BLACK,
        "block-cursor-background": WHITE,
        "block-cursor-foreground": BLACK,
        "input-selection-background": WHITE,
    },
)


def wanted(environment: Mapping[str, str] | None = None) -> bool:
    """Whether colours are not wanted: ``NO_COLOR`` is there and not empty (https://no-color.org)."""
    return bool((os.environ if environment is None else environment).get("NO_COLOR"))


class Ink(LineFilter):
    """Takes all colours out of a line."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(text, without_colour(style), control) for text, style, control in segments]


@lru_cache(maxsize=4096)
def without_colour(style: Style | None) -> Style | None:
    """The style with its attributes alone; reversed where it stands on a bright ground."""
    if style is None:
        return None
    ground = style.bgcolor
    bright = ground is not None and not ground.is_default and Color.from_rich_color(ground).brightness >= BRIGHT
    return Style(
        bold=style.bold,
        italic=style.italic,
        underline=style.underline,
        strike=style.strike,
        reverse=bool(style.reverse) != bright,
        meta=style.meta or None,
    )
