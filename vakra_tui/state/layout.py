"""How the debugger's panes share the width: pure arithmetic on what a person chose and what the terminal has."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from vakra_tui.state.remembered import WIDTHS

PANES = ("steps", "step", "ground truth")

MIDDLE = "step"
"""The pane that takes what the others leave."""

NARROW, WIDE = 100, 140
"""Columns below which one pane is shown at a time, and from which the side panes have their full width."""

DEFAULT_WIDE = {"steps": 40, "ground truth": 44}
DEFAULT = {"steps": 28, "ground truth": 36}

LEAST_MIDDLE = 24
"""Columns that the middle pane keeps."""

BY = 4
"""Columns that a pane grows or shrinks by at once."""


def visible(folded: Collection[str], current: str, zoomed: bool, columns: int) -> tuple[str, ...]:
    """The panes that are shown: the current one where it is zoomed or the terminal narrow, else those not folded."""
    if zoomed or columns < NARROW:
        return (current,)
    return tuple(pane for pane in PANES if pane not in folded or pane == current)


def widths(shown: Collection[str], chosen: Mapping[str, int], columns: int) -> dict[str, int | None]:
    """Columns of each pane that is shown; None for the one that takes the rest. Side panes give way to the middle."""
    if len(shown) == 1:
        return dict.fromkeys(shown)
    default = DEFAULT_WIDE if columns >= WIDE else DEFAULT
    sides = {pane: chosen.get(pane, default[pane]) for pane in shown if pane != MIDDLE}
    least = WIDTHS[0]
    if MIDDLE not in shown:
        return {"steps": min(sides["steps"], columns - least), "ground truth": None}
    over = sum(sides.values()) + LEAST_MIDDLE - columns
    for pane in sorted(sides, key=lambda side: -sides[side]):
        cut = max(min(over, sides[pane] - least), 0)
        sides[pane] -= cut
        over -= cut
    return {pane: sides.get(pane) for pane in PANES if pane in shown}


def resized(
    pane: str, by: int, shown: Collection[str], chosen: Mapping[str, int], columns: int
) -> dict[str, int] | None:
    """What is chosen after a pane was made ``by`` columns wider; None where there is nothing to share.

    The middle pane takes its columns from, or gives them to, the wider of its neighbours.
    """
    now = widths(shown, chosen, columns)
    sides = {name: width for name, width in now.items() if width is not None}
    if not sides:
        return None
    if pane not in sides:
        pane, by = max(sides, key=lambda name: sides[name] if by > 0 else -sides[name]), -by
    least, greatest = WIDTHS
    room = columns - LEAST_MIDDLE - sum(width for name, width in sides.items() if name != pane)
    width = max(least, min(sides[pane] + by, greatest, room))
    return {**chosen, pane: width}
