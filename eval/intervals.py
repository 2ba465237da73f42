"""Confidence intervals of 95%: Wilson for plain shares, percentile bootstrap for weighted shares and for means.

Source of the choice: contract, "Scores".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

Interval = tuple[float, float]

Z95 = 1.959963984540054
"""The 97.5% quantile of the normal distribution."""

RESAMPLES = 10_000
SEED = 20_260_101
"""Fixed, so that the same verdicts give the same interval."""

DIGITS = 6
"""Intervals are rounded to this many decimals: more would say nothing, and rounding makes reports comparable."""


def wilson(correct: int, n: int, z: float = Z95) -> Interval | None:
    """Wilson score interval of ``correct`` out of ``n``; None for ``n`` 0."""
    if n <= 0:
        return None
    share = correct / n
    centre = share + z * z / (2 * n)
    spread = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low = 0.0 if correct <= 0 else (centre - spread) / scale
    high = 1.0 if correct >= n else (centre + spread) / scale
    return _rounded(low, high)


Groups = Mapping[tuple[int, bool], int]
"""Instances of one capability by (weight, passed): how many there are of each kind."""


def bootstrap_share(groups: Groups, stream: int = 0) -> Interval | None:
    """Percentile bootstrap interval of a weighted share; None where there is nothing to resample."""
    shares = _resampled_shares(groups, stream)
    return None if shares is None else _percentiles(shares)


def bootstrap_mean(strata: Sequence[tuple[int, Groups]]) -> Interval | None:
    """Percentile bootstrap interval of the mean of several (weighted) shares, each resampled within itself.

    ``strata`` are pairs of a number that names the random stream (the capability) and its groups.
    """
    resampled = [shares for stream, groups in strata if (shares := _resampled_shares(groups, stream)) is not None]
    if not resampled:
        return None
    total = resampled[0].copy()
    for shares in resampled[1:]:
        total += shares
    return _percentiles(total / len(resampled))


def _resampled_shares(groups: Groups, stream: int) -> Any:
    """``RESAMPLES`` weighted shares.

    Drawing n instances with replacement and counting kinds is one multinomial draw, so the cost does not depend on n.
    """
    kinds = sorted(kind for kind, count in groups.items() if count > 0)
    n = sum(groups[kind] for kind in kinds)
    if n == 0:
        return None
    import numpy

    generator: numpy.random.Generator = numpy.random.default_rng([SEED, stream])
    drawn = generator.multinomial(n, [groups[kind] / n for kind in kinds], size=RESAMPLES)
    weights = numpy.array([weight for weight, _ in kinds], dtype=float)
    gains = numpy.array([weight if passed else 0 for weight, passed in kinds], dtype=float)
    return (drawn @ gains) / (drawn @ weights)


def _percentiles(values: Any) -> Interval:
    import numpy

    low, high = numpy.percentile(values, [2.5, 97.5])
    return _rounded(float(low), float(high))


def _rounded(low: float, high: float) -> Interval:
    return round(low, DIGITS) + 0.0, round(high, DIGITS) + 0.0
