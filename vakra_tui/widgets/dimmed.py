"""The screen below a dialog: as the library dims it, with each style worked out once instead of for each word."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.renderables.background_screen import BackgroundScreen

STYLES_KEPT = 4096


class Dimmed(BackgroundScreen):
    """A screen has some hundred words of some dozens of styles, and is drawn again with every change in a dialog."""

    @classmethod
    def process_segments(cls, segments: Iterable[Segment], color: Color) -> Iterable[Segment]:
        for segment in segments:
            text, style, control = segment
            yield segment if control else Segment(text, _dimmed(style, color), control)


@lru_cache(maxsize=STYLES_KEPT)
def _dimmed(style: Style | None, colour: Color) -> Style | None:
    """What the library makes of one style below a colour."""
    (made,) = BackgroundScreen.process_segments((Segment("", style),), colour)
    return made.style
