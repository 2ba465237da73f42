"""Short collections: what lives long is put aside, so that the garbage collector never holds the screen up.

A full collection visits every object that it knows, and with the screen library, the database library and a dataset
that takes a tenth of a second and more, in whatever thread it strikes. Objects that outlive several are therefore
frozen: later ones do not visit them. A cycle that becomes garbage after that is kept until nobody touches the program
for a while; then everything is visited once.
"""

from __future__ import annotations

import gc
import time
from typing import Any

FULL = 2
"""The generation of a full collection."""

VISITED_AT_MOST = 40_000
"""Survivors of a full collection above which they are put aside: about 20 ms of visits."""

OUTLIVED = 4
"""Full collections with so many survivors, one after the other, before they are put aside."""

REST_AFTER_S = 60.0
"""Seconds without a key or the mouse after which there is time for a visit of everything."""

LOOK_EVERY_S = 20.0

WORTH_A_VISIT = 200_000
"""Objects put aside since everything was visited last, some 20 MB if all of them were garbage."""


class Heap:
    """Watches the collector of this process from ``settle`` to ``release``."""

    def __init__(self) -> None:
        self.frozen = 0
        """Objects put aside since everything was visited; the collector would walk through all of them to count."""
        self._above = 0
        self._touched = time.monotonic()

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

    def used(self) -> None:
        """Somebody uses the program."""
        self._touched = time.monotonic()

    def rest(self) -> None:
        """Visit everything once if that is worth it and nobody has used the program for a while."""
        if self.frozen > WORTH_A_VISIT and time.monotonic() - self._touched > REST_AFTER_S:
            gc.unfreeze()
            gc.collect()
            gc.freeze()
            self.frozen = 0

    def _collected(self, phase: str, info: dict[str, Any]) -> None:
        if phase != "stop" or info["generation"] != FULL:
            return
        survivors = len(gc.get_objects(FULL))
        self._above = self._above + 1 if survivors > VISITED_AT_MOST else 0
        if self._above == OUTLIVED:
            gc.freeze()
            self.frozen += survivors
            self._above = 0
