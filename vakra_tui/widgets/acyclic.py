"""Rows of the screen that are freed when nothing shows them any more.

The library's ``Strip`` keeps what was cut from it, and where nothing had to be cut that is itself: nearly every row
that was ever drawn is then a cycle of some twenty objects, which only the garbage collector frees. Moving the cursor by
one row leaves 400 objects, opening the debugger 10,000.

And a widget's rows are remembered by a table of a thousand colours for all widgets, whose keys hold the widget's rows:
those of some fifty closed debuggers, two megabytes each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from textual._styles_cache import StylesCache
from textual.strip import Strip
from textual.widget import Widget

CUTTING = {
    "divide": "_divide_cache",
    "crop": "_crop_cache",
    "crop_extend": "_crop_extend_cache",
    "adjust_cell_length": "_line_length_cache",
}
"""Methods of a strip that may give the strip itself, with the caches in which they keep it."""

_MENDED = "_without_cycles"


COLOURS = "get_inner_outer"
"""The method of the rows of a widget that is remembered with the rows themselves, though it asks nothing of them."""


def free_strips_at_once() -> None:
    """Have no strip keep itself, and no table the rows of a closed widget; safe to call again.

    What a version of the library does not have is left as it is.
    """
    colours = getattr(StylesCache, COLOURS, None)
    if colours is not None and hasattr(colours, "cache_info"):
        setattr(StylesCache, COLOURS, _for_all(colours))
    for name, cache in CUTTING.items():
        method = getattr(Strip, name, None)
        if method is not None and hasattr(Strip, cache) and not hasattr(method, _MENDED):
            setattr(Strip, name, _without_itself(method, cache))


def _without_itself(method: Callable[..., Any], cache: str) -> Callable[..., Any]:
    @wraps(method)
    def mended(strip: Strip, *arguments: Any, **named: Any) -> Any:
        given = method(strip, *arguments, **named)
        if given is strip or (isinstance(given, list) and len(given) == 1 and given[0] is strip):
            getattr(strip, cache).clear()
        return given

    setattr(mended, _MENDED, True)
    return mended


def _for_all(remembered: Callable[..., Any]) -> Callable[..., Any]:
    """A remembered method that is asked as one of the class: what it gives depends on its other arguments only."""

    @wraps(remembered)
    def asked(rows: StylesCache, *arguments: Any) -> Any:
        return remembered(StylesCache, *arguments)

    return asked


def forget_rows(screen: Widget) -> None:
    """Let go of the drawn rows of a screen that is closed: its widgets lie in cycles, and are kept long after that."""
    for widget in (screen, *screen.walk_children(Widget)):
        rows = getattr(widget, "_styles_cache", None)
        if isinstance(rows, StylesCache):
            rows.clear()
