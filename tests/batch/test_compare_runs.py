"""Comparison of two runs: pairs and McNemar's test."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.compare import compare, mcnemar


def test_mcnemar_exact() -> None:
    # Binomial(10, 1/2): two-sided tail of at most 1 is 2 * (1 + 10) / 1024.
    assert mcnemar(1, 9) == pytest.approx(22 / 1024)
    assert mcnemar(5, 5) == 1.0
    assert mcnemar(0, 0) is None


@given(st.integers(0, 700), st.integers(0, 700))
def test_mcnemar_is_symmetric_and_a_probability(first: int, second: int) -> None:
    p = mcnemar(first, second)
    assert p == mcnemar(second, first)
    assert p is None or 0 <= p <= 1


def test_mcnemar_of_many_pairs_is_continuous_with_the_exact_one() -> None:
    exact, approximate = mcnemar(470, 530), mcnemar(471, 531)
    assert exact is not None and approximate is not None
    assert math.isclose(exact, approximate, rel_tol=0.05)


def test_only_common_instances_are_paired_and_undecided_is_not_right() -> None:
    first = {(1, "d", "a"): True, (1, "d", "b"): True, (2, "d", "c"): None, (2, "d", "x"): True}
    second = {(1, "d", "a"): True, (1, "d", "b"): False, (2, "d", "c"): True, (4, "d", "y"): True}
    result = compare(first, second)
    assert (result.pairs.both, result.pairs.first, result.pairs.second, result.pairs.neither) == (1, 1, 1, 0)
    assert (result.pairs.only_in_first, result.pairs.only_in_second) == (1, 1)
    assert result.gained == ((2, "d", "c"),)
    assert result.lost == ((1, "d", "b"),)
    assert result.difference == 0
    assert sorted(result.capabilities) == [1, 2]


def test_nothing_in_common() -> None:
    result = compare({(1, "d", "a"): True}, {})
    assert result.p_value is None and result.difference is None and result.ci95 is None
