"""The garbage collector looks at little while the screen is shown, and is left as it was."""

from __future__ import annotations

import gc

from screen_opening import opened
from screen_toy import wiring

from sessions.store import Store
from vakra_tui.state import heap
from vakra_tui.state.heap import Heap


async def test_what_was_there_at_the_start_is_not_visited_again() -> None:
    frozen = gc.get_freeze_count()
    async with opened(wiring(store=Store.open("sqlite://"))) as (app, _):
        assert gc.get_freeze_count() > 10_000
        assert app.heap._collected in gc.callbacks
    assert app.heap._collected not in gc.callbacks
    assert gc.get_freeze_count() <= frozen


def test_survivors_are_put_aside_and_given_back_at_the_bound() -> None:
    kept = Heap()
    kept.settle()
    try:
        first = gc.get_freeze_count()
        living = [[number] for number in range(2 * heap.VISITED_AT_MOST)]
        gc.collect()
        assert gc.get_freeze_count() >= first + len(living)
        assert len(gc.get_objects(heap.FULL)) < heap.VISITED_AT_MOST
        kept.frozen = heap.FROZEN_AT_MOST + 1
        gc.collect()
        assert gc.get_freeze_count() == 0
    finally:
        kept.release()
