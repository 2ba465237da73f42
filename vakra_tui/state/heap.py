"""Short collections: the garbage collector never holds the screen up, least of all in the middle of a paint.

A full collection visits every object that it knows: 50 ms soon after the start, several times that after some minutes
of use, in whatever thread and in the middle of whatever it strikes. Full collections of its own are therefore taken
from the collector. When so many objects lived long enough that a visit of them is worth it and still short, they are
visited by themselves, between two callbacks of the event loop. Those that stay after that are frozen when they become
many: later visits leave them out. A cycle that becomes garbage after that is kept: a visit of everything would take a
second, and what of a closed screen lies in cycles is small, for its views let go of what they showed. Everything is
visited while another program has the terminal, in a thread of its own: nothing of the screen is shown then.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

FULL = 2
"""The generation of a full collection."""

NEVER = 1_000_000
"""Collections of the second generation before the collector makes a full one by itself: days."""

GROWTH = 8_000
"""Objects that lived long, above those that stayed at the last visit, that are worth a visit: about 8 ms for them."""

STAYING = 8_000
"""Objects that stayed at a visit above which they are put aside, so that each visit is about as short."""

TOO_MANY = 40_000
"""Objects that are put aside without a visit: what was read or imported at once, which is hardly ever garbage."""

LASTING_S = 2.0
"""Seconds after which a program that has the terminal is one that somebody reads in."""

WORTH_A_VISIT = 200_000
"""Objects put aside since everything was visited last, some 20 MB if all of them were garbage."""


class Heap:
    """Watches the collector of this process from ``settle`` to ``release``.

    ``soon`` has a function called by the event loop, as a callback of its own; it is called in any thread.
    """

    def __init__(self, soon: Callable[[Callable[[], None]], None]) -> None:
        self.frozen = 0
        """Objects put aside since everything was visited; the collector would walk through all of them to count."""
        self._soon = soon
        self._asked = False
        self._stayed = 0
        self._thresholds: tuple[int, int, int] | None = None

    def settle(self) -> None:
        """Put everything aside that is there now; call it when start-up is over."""
        gc.freeze()
        if self._thresholds is None:
            self._thresholds = gc.get_threshold()
            young, middle, _ = self._thresholds
            gc.set_threshold(young, middle, NEVER)
            gc.callbacks.append(self._collected)

    def release(self) -> None:
        """Leave the collector as it was."""
        if self._thresholds is not None:
            gc.callbacks.remove(self._collected)
            gc.set_threshold(*self._thresholds)
            gc.unfreeze()
            self._thresholds = None

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """Nothing is shown meanwhile: visit everything, if that is worth it and there is time for it."""
        if self.frozen <= WORTH_A_VISIT:
            yield
            return
        timer = threading.Timer(LASTING_S, self._visit_all)
        timer.name = "heap"
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()

    def _visit_all(self) -> None:
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self.frozen = self._stayed = 0

    def visit(self) -> None:
        """Collect the garbage among what lived long, unless that became too much meanwhile."""
        self._asked = False
        if self._thresholds is None:
            return
        if (living := _living()) <= TOO_MANY:
            gc.collect()
            living = self._stayed = _living()
        if living > STAYING:
            self._put_aside(living)

    def _collected(self, phase: str, info: dict[str, Any]) -> None:
        """Called by the collector, in whatever thread it works: see whether there is enough for a visit."""
        if phase != "stop" or info["generation"] != FULL - 1 or self._asked:
            return
        living = _living()
        if living > TOO_MANY:
            self._put_aside(living)
        elif living > self._stayed + GROWTH:
            self._asked = True
            self._soon(self.visit)

    def _put_aside(self, living: int) -> None:
        gc.freeze()
        self.frozen += living
        self._stayed = 0


def _living() -> int:
    """Objects that a full collection would visit, but for the youngest.

    Counted in one call without a turn for other threads: a tuple that one of them is just building must not be held by
    a list of all objects, or the building of it fails.
    """
    return next(map(len, map(gc.get_objects, (FULL,))))
