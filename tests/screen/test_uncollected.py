"""Nothing is collected while values without cycles are made, and the collector is left as it was."""

from __future__ import annotations

import gc
import json

import pytest
from screen_opening import opened
from screen_toy import wiring

from sessions.store import Store
from toolenv.long_json import SHORT
from vakra_tui.state import response
from vakra_tui.state.response import read
from vakra_tui.state.uncollected import no_cycles


def test_a_long_response_is_decoded_without_a_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps([{"number": number} for number in range(SHORT // 10)])
    asked: list[bool] = []
    decode = response.decoded
    monkeypatch.setattr(response, "decoded", lambda text: asked.append(gc.isenabled()) or decode(text))
    assert len(read(text).value) == SHORT // 10
    assert read("[1]").value == [1]
    assert asked == [False, True]
    assert gc.isenabled()


def test_the_collector_stands_still_until_the_last_one_is_done() -> None:
    with no_cycles():
        with pytest.raises(ValueError, match="no value"), no_cycles():
            raise ValueError("no value")
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with no_cycles():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


async def test_what_was_made_is_put_aside_while_the_screen_is_shown() -> None:
    async with opened(wiring(store=Store.open("sqlite://"))):
        with no_cycles():
            living = [[number] for number in range(30_000)]
        young = {id(each) for each in gc.get_objects()}
        assert not any(id(each) in young for each in living)
    young = {id(each) for each in gc.get_objects()}
    assert all(id(each) in young for each in living)
