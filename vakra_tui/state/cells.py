"""Columns of text that line up: widths in terminal cells, never in characters."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from vakra_tui.text import one_line, sanitize


def cell(text: str, width: int) -> str:
    """One cell of a column: a single line, sanitised, padded or cut to ``width`` terminal cells."""
    clean = sanitize(one_line(text, width * 2 + 2))
    if cell_len(clean) > width:
        return set_cell_size(clean, max(width - 1, 0)) + "\u2026"
    return set_cell_size(clean, width)
