"""Looking at the collector's objects disturbs no thread that is just making some."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from vakra_tui.state import heap

ROUNDS = 8000


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads that take turns as often as they can, and objects that grow old at once."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(50, 2, 2)
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
        sys.setswitchinterval(interval)


@pytest.mark.usefixtures("restless")
def test_counting_what_lives_breaks_no_tuple_that_is_being_built() -> None:
    """A tuple that somebody else holds while it is built cannot be finished: ``SystemError``, in whatever code."""
    stop = Event()

    def build() -> int:
        built = 0
        while not stop.is_set():
            built += len(tuple([number] for number in range(300)))
        return built

    with ThreadPoolExecutor(2) as threads:
        building = [threads.submit(build) for _ in range(2)]
        for _ in range(ROUNDS):
            heap._living()
        stop.set()
        assert all(each.result() > 0 for each in building)
