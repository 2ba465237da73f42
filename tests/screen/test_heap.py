"""The garbage collector looks at little while the screen is shown, and is left as it was."""

from __future__ import annotations

import gc

import pytest
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


def test_what_outlives_some_collections_is_put_aside_until_nobody_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Heap()
    gc.disable()  # only those below count
    kept.settle()
    try:
        first = gc.get_freeze_count()
        living = [[number] for number in range(2 * heap.VISITED_AT_MOST)]
        for _ in range(heap.OUTLIVED):
            assert gc.get_freeze_count() <= first  # fewer where something of those was let go
            gc.collect()
        assert kept.frozen >= len(living)
        assert gc.get_freeze_count() >= first + len(living)
        del living
        monkeypatch.setattr(heap, "WORTH_A_VISIT", heap.VISITED_AT_MOST)
        kept.used()
        kept.rest()
        assert kept.frozen
        monkeypatch.setattr(heap, "REST_AFTER_S", -1.0)
        kept.rest()
        assert not kept.frozen
        assert gc.get_freeze_count() < first + heap.VISITED_AT_MOST
    finally:
        kept.release()
        gc.enable()
