"""The garbage collector during a batch: what was there when it began is not looked through again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLD = 10_000
"""New objects between two collections; a unit makes some thousands, nearly all of them freed without the collector."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect rarely and leave out modules, indexes and references of the start; afterwards all is as it was."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(THRESHOLD, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
