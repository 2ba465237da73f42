"""Short collections: what lives long is put aside, so that the garbage collector never holds the screen up.

A full collection visits every object that it knows, and with the screen library, the database library and a dataset
that takes a tenth of a second and more, in whatever thread it strikes. Objects that outlived one are therefore frozen:
later ones do not visit them. What becomes garbage in a cycle after that is kept, so at a bound everything is given
back to the collector once.
"""

from __future__ import annotations

import gc
from typing import Any

FULL = 2
"""The generation of a full collection."""

VISITED_AT_MOST = 20_000
"""Survivors of a full collection above which they are frozen: about 10 ms of visits."""

FROZEN_AT_MOST = 1_000_000
"""Objects frozen since the start before everything is given back: some 100 MB if all of it were garbage."""


class Heap:
    """Watches the collector of this process from ``settle`` to ``release``."""

    def __init__(self) -> None:
        self.frozen = 0
        """Objects put aside since ``settle``; counted here, as the collector would walk through all of them."""

    def settle(self) -> None:
        """Put everything aside that is there now; call it when start-up is over."""
        gc.freeze()
        if self._collected not in gc.callbacks:
            gc.callbacks.append(self._collected)

    def release(self) -> None:
        """Leave the collector as it was."""
        if self._collected in gc.callbacks:
            gc.callbacks.remove(self._collected)
            gc.unfreeze()

    def _collected(self, phase: str, info: dict[str, Any]) -> None:
        if phase != "stop" or info["generation"] != FULL:
            return
        survivors = len(gc.get_objects(FULL))
        if self.frozen > FROZEN_AT_MOST:
            gc.unfreeze()
            self.frozen = 0
        elif survivors > VISITED_AT_MOST:
            gc.freeze()
            self.frozen += survivors
