"""The one place where data becomes screen text: sanitised, measured in cells, coloured by role, never markup.

Widgets hold lines of (text, role) spans; ``strip`` makes the cells of one screen row from such a line, ``content``
makes the text of titles, toasts and tooltips. Nothing else in the package hands foreign text to the screen library.
"""

from __future__ import annotations

from collections.abc import Mapping

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.strip import Strip

from vakra_tui.state.lines import Line
from vakra_tui.text import sanitize
from vakra_tui.wrap import clean, crop

Palette = Mapping[str, Style]


def _palette(**colours: str) -> Palette:
    return {role: Style.parse(definition) for role, definition in colours.items()}


DARK: Palette = _palette(
    dim="#9aa2b0",
    title="bold #e6e9ef",
    label="#a9b3c1",
    strong="bold",
    ok="#8ccf7e",
    fail="bold #ff8d96",
    warn="#e8c26a",
    accent="#7fb4ff",
    api="#6fd0d8",
    rag="#c9a0f0",
    key="#8fb8f0",
    string="#b5d19c",
    number="#e0af7c",
    literal="#c9a0f0",
    punct="#9aa2b0",
    code="#d5dae3",
    bar="#4b5363",
    match="reverse #e8c26a",
    match_now="reverse bold underline #ffb070",
    added="#8ccf7e",
    removed="#ff8d96",
)

LIGHT: Palette = _palette(
    dim="#545c68",
    title="bold #1b1f27",
    label="#4d5562",
    strong="bold",
    ok="#1e6f2a",
    fail="bold #b3152a",
    warn="#7d5500",
    accent="#1650b0",
    api="#0b6470",
    rag="#6c2ea8",
    key="#1650b0",
    string="#2c6415",
    number="#8a4a00",
    literal="#6c2ea8",
    punct="#545c68",
    code="#262c36",
    bar="#b4bbc6",
    match="reverse #7d5500",
    match_now="reverse bold underline #8a2f00",
    added="#1e6f2a",
    removed="#b3152a",
)


STRONG: Palette = _palette(
    dim="#d6d6d6",
    title="bold #ffffff",
    label="#e6e6e6",
    strong="bold #ffffff",
    ok="bold #7dff7d",
    fail="bold #ffb8b8",
    warn="bold #ffff00",
    accent="bold #8ad8ff",
    api="#80ffff",
    rag="#e6c2ff",
    key="#a8dcff",
    string="#c8ffb0",
    number="#ffd9a0",
    literal="#e6c2ff",
    punct="#d6d6d6",
    code="#ffffff",
    bar="#a0a0a0",
    match="reverse #ffff00",
    match_now="reverse bold underline #ffffff",
    added="bold #7dff7d",
    removed="bold #ffb8b8",
)


COLOURLESS: Palette = _palette(
    dim="",
    title="bold",
    label="",
    strong="bold",
    ok="",
    fail="bold underline",
    warn="underline",
    accent="bold",
    api="",
    rag="",
    key="bold",
    string="",
    number="",
    literal="",
    punct="",
    code="",
    bar="",
    match="reverse",
    match_now="reverse bold underline",
    added="bold",
    removed="underline",
)


def palette(dark: bool, strong: bool = False, *, colour: bool = True) -> Palette:
    """The colours of the roles on a dark or a light ground; each keeps a contrast of 4.5 or more, ``strong`` of 7.

    Without ``colour`` bold, underlined and reversed text take their place.
    """
    if not colour:
        return COLOURLESS
    if strong:
        return STRONG
    return DARK if dark else LIGHT


def strip(content: Line, width: int, colours: Palette, *, base: Style | None = None, start: int = 0) -> Strip:
    """One screen row of exactly ``width`` cells.

    ``start`` is the first cell shown, for lines wider than their pane; without it a line that is too long ends in an
    ellipsis. ``base`` lies under every role (cursor bar, background).
    """
    shown = clean(content) if start else crop(content, width)
    segments = [Segment(text, _style(role, colours, base)) for text, role in shown if text]
    whole = Strip(segments)
    return whole.crop_extend(start, start + width, base)


def _style(role: str, colours: Palette, base: Style | None) -> Style | None:
    style = colours.get(role)
    if style is None:
        return base
    return base + style if base else style


def content(text: str) -> Content:
    """Foreign text for a title, a toast or a tooltip: sanitised line by line and never read as markup."""
    return Content("\n".join(sanitize(part) for part in text.split("\n")))
