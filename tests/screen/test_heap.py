"""The garbage collector looks at little while the screen is shown, at the right time, and is left as it was."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator

import pytest
from screen_opening import opened
from screen_toy import wiring

from sessions.store import Store
from vakra_tui.state import heap
from vakra_tui.state.heap import Heap


class Later:
    """What is to be called soon waits here until a test lets it."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def __call__(self, function: Callable[[], None]) -> None:
        self.waiting.append(function)

    def run(self) -> None:
        while self.waiting:
            self.waiting.pop()()


class Cycle:
    """An object that only the collector frees."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def later() -> Later:
    return Later()


@pytest.fixture
def watching(later: Later) -> Iterator[Heap]:
    """A heap that is settled; only collections that a test asks for happen."""
    gc.disable()
    kept = Heap(later)
    kept.settle()
    try:
        yield kept
    finally:
        kept.release()
        gc.enable()


def lived(number: int) -> list[list[int]]:
    """So many objects that outlived the short collections."""
    made = [[each] for each in range(number)]
    gc.collect(1)
    return made


async def test_what_was_there_at_the_start_is_not_visited_again() -> None:
    frozen = gc.get_freeze_count()
    before = gc.get_threshold()
    async with opened(wiring(store=Store.open("sqlite://"))) as (app, _):
        assert gc.get_freeze_count() > 10_000
        assert app.heap._collected in gc.callbacks
        assert gc.get_threshold()[heap.FULL] == heap.NEVER
    assert app.heap._collected not in gc.callbacks
    assert gc.get_freeze_count() <= frozen
    assert gc.get_threshold() == before


def test_enough_that_lived_long_is_visited_as_a_callback_of_its_own(watching: Heap, later: Later) -> None:
    cycle = Cycle()
    gone = weakref.ref(cycle)
    few = lived(heap.GROWTH // 2)
    del cycle
    assert later.waiting == []
    more = [lived(heap.GROWTH // 4) for _ in range(3)]
    assert later.waiting == [watching.visit]
    assert gone() is not None
    later.run()
    assert gone() is None
    assert len(few) + sum(map(len, more)) > heap.GROWTH


def test_what_stays_is_put_aside_so_that_visits_stay_short(watching: Heap, later: Later) -> None:
    first = gc.get_freeze_count()
    kept = lived(heap.GROWTH + heap.STAYING)
    assert gc.get_freeze_count() <= first
    later.run()
    assert watching.frozen >= len(kept)
    assert gc.get_freeze_count() >= len(kept)


def test_what_came_at_once_is_put_aside_without_a_visit(watching: Heap, later: Later) -> None:
    kept = lived(heap.TOO_MANY + 1)
    assert later.waiting == []
    assert watching.frozen >= len(kept)


def test_a_visit_that_comes_late_does_not_take_longer(watching: Heap, later: Later) -> None:
    kept = lived(heap.GROWTH + 1_000)
    (visit,) = later.waiting
    cycle = Cycle()
    gone = weakref.ref(cycle)
    kept += [[each] for each in range(heap.TOO_MANY)]
    gc.collect(1)
    del cycle
    visit()
    assert gone() is not None  # nothing was visited
    assert watching.frozen >= len(kept)


def test_everything_is_visited_once_when_nobody_is_there(watching: Heap, monkeypatch: pytest.MonkeyPatch) -> None:
    cycle = Cycle()
    gone = weakref.ref(cycle)
    kept = lived(heap.TOO_MANY + 1)
    del cycle
    monkeypatch.setattr(heap, "WORTH_A_VISIT", len(kept))
    watching.used()
    watching.rest()
    assert gone() is not None
    monkeypatch.setattr(heap, "REST_AFTER_S", -1.0)
    watching.rest()
    assert gone() is None
    assert watching.frozen == 0
    assert gc.get_freeze_count() > len(kept)
