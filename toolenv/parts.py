"""Cutting long texts: what is done with a text of megabytes is done part by part.

A search or a translation of the standard library is one call that nothing interrupts, up to 100 ms for 5 MB. Between
two parts the interpreter lets other threads in, one of which draws a screen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

PART: Final = 100_000
"""Characters that are worked on at once, which takes a millisecond or two."""


def cuts(text: str, border: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """(start, end) of the parts of a text, in order; each but the last ends where ``border`` matches.

    Parts have ``PART`` characters, or more as far as there is no border.
    """
    start = 0
    while start < len(text):
        found = border.search(text, start + PART) if len(text) - start > 2 * PART else None
        end = found.start() if found is not None else len(text)
        yield start, end
        start = end
