"""Making many values without looking for garbage meanwhile.

Decoding a long response makes hundreds of thousands of lists and objects. The collector would visit them over and over
while they are made, which takes twice as long as making them, and there is no cycle to be found.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from vakra_tui.state.heap import NEVER


class _Asked:
    """How many, in any thread, want the collector to stand still."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.number = 0
        self.was_on = True


_asked = _Asked()


@contextmanager
def no_cycles() -> Iterator[None]:
    """The collector stands still while values without cycles are made, of whole responses for example.

    Where a ``Heap`` watches the collector they are put aside afterwards, or the next object that anybody makes would
    have all of them visited.
    """
    with _asked.lock:
        if not _asked.number:
            _asked.was_on = gc.isenabled()
            gc.disable()
        _asked.number += 1
    try:
        yield
    finally:
        with _asked.lock:
            _asked.number -= 1
            if not _asked.number:
                if gc.get_threshold()[-1] == NEVER:
                    gc.freeze()
                if _asked.was_on:
                    gc.enable()
