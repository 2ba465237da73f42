"""The garbage collector looks at little while the screen is shown, at the right time, and is left as it was."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator

import pytest
from screen_opening import opened
from screen_reading import debugger, until
from screen_toy import wiring

from sessions.store import Store
from vakra_tui.state import heap
from vakra_tui.state.heap import Heap
from vakra_tui.widgets.line_view import LineView


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


def test_everything_is_visited_while_another_program_has_the_terminal(
    watching: Heap, monkeypatch: pytest.MonkeyPatch
) -> None:
    cycle = Cycle()
    gone = weakref.ref(cycle)
    kept = lived(heap.TOO_MANY + 1)
    del cycle
    with watching.unseen():  # what was put aside is not worth it
        pass
    assert gone() is not None
    monkeypatch.setattr(heap, "WORTH_A_VISIT", len(kept))
    with watching.unseen():  # a program that ends at once: nobody waits for a visit
        pass
    assert gone() is not None
    monkeypatch.setattr(heap, "LASTING_S", 0.0)
    visited = threading.Event()
    weakref.finalize(kept_by := Cycle(), visited.set)
    del kept_by
    with watching.unseen():
        assert visited.wait(60)
    assert gone() is None
    assert watching.frozen == 0
    assert gc.get_freeze_count() > len(kept)


async def test_a_closed_view_lets_go_of_what_it_showed() -> None:
    """The view itself lies in cycles, which nobody collects for long; what it showed must not wait for that."""
    async with opened(wiring(instance="u-1", store=Store.open("sqlite://"))) as (app, pilot):
        screen = debugger(app)
        views, widgets = list(screen.query(LineView)), [screen, *screen.query("*")]
        assert any(widget._styles_cache._cache for widget in widgets)
        assert sum(view.source.layout(80) > 0 for view in views) > 4
        await pilot.press("escape")
        await until(pilot, lambda: not any(view.is_attached for view in views), "the list")
        assert [view.source.layout(80) for view in views] == [0] * len(views)
        await until(pilot, lambda: not any(widget._styles_cache._cache for widget in widgets), "no row that was drawn")
