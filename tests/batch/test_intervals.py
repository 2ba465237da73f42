"""Wilson and bootstrap intervals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.intervals import bootstrap_mean, bootstrap_share, wilson


def test_wilson_agrees_with_published_values() -> None:
    # Newcombe 1998, table I: 81 of 263 and 15 of 148.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=1e-4)


def test_wilson_at_the_ends() -> None:
    assert wilson(0, 0) is None
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share(sample: tuple[int, int]) -> None:
    correct, n = sample
    interval = wilson(correct, n)
    assert interval is not None
    low, high = interval
    assert 0 <= low <= correct / n + 1e-6
    assert correct / n - 1e-6 <= high <= 1


def test_bootstrap_of_plain_shares_is_near_wilson() -> None:
    interval = bootstrap_share({(1, True): 120, (1, False): 180})
    expected = wilson(120, 300)
    assert interval is not None
    assert interval == pytest.approx(expected, abs=0.01)


def test_bootstrap_is_reproducible_and_uses_the_weights() -> None:
    groups = {(2, True): 10, (2, False): 10, (1, True): 2, (1, False): 30}
    interval = bootstrap_share(groups, 4)
    assert interval == bootstrap_share(dict(reversed(groups.items())), 4)
    assert interval is not None
    assert interval[0] < 22 / 72 < interval[1]


def test_bootstrap_without_spread_and_without_instances() -> None:
    assert bootstrap_share({(1, True): 5}) == (1.0, 1.0)
    assert bootstrap_share({(1, False): 5}) == (0.0, 0.0)
    assert bootstrap_share({}) is None
    assert bootstrap_mean([]) is None
    assert bootstrap_mean([(1, {}), (2, {(1, True): 3})]) == (1.0, 1.0)


def test_mean_of_strata_is_resampled_within_each() -> None:
    one = {(1, True): 50, (1, False): 50}
    interval = bootstrap_mean([(1, one), (2, one)])
    alone = bootstrap_share(one, 1)
    assert interval is not None and alone is not None
    assert interval[1] - interval[0] < alone[1] - alone[0]
