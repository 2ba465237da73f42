"""Times that a wrong clock wrote into the store: listed like others, never an error."""

from __future__ import annotations

import math

import pytest

from vakra_tui.cli.sessions import _when
from vakra_tui.state.session_list import when_words


@pytest.mark.parametrize("seconds", [1e18, -1e12, 253_402_300_800.0, math.inf, -math.inf, math.nan, 1.7e308])
def test_a_time_that_no_calendar_has_is_told_as_none(seconds: float) -> None:
    assert _when(seconds) == "at no time      "
    assert when_words(seconds) == when_words(seconds, brief=True) == "at no time"


@pytest.mark.parametrize(("seconds", "words"), [(0, "1970-01-01 00:00"), (32_503_680_000.0, "3000-01-01 00:00")])
def test_a_time_in_the_far_past_or_future_is_told_as_it_is(seconds: float, words: str) -> None:
    assert _when(seconds) == words
