"""Two runs on the same instances: how often both, one or neither is right, and whether the difference is chance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from eval.intervals import Interval
from toolenv.model import Value

InstanceKey = tuple[int, str, str]
"""(capability, domain, uuid)."""

Passed = Mapping[InstanceKey, bool | None]
"""``passed`` of every counted instance of a report (undecided: None)."""

EXACT_UP_TO = 1000
"""Up to so many instances on which the runs differ the p-value is the exact binomial one, above it the chi-square's."""


class Pairs(Value, frozen=True):
    """Instances by who is right; ``only_in_first`` and ``only_in_second`` count those that the other does not have."""

    both: int
    first: int
    second: int
    neither: int
    only_in_first: int = 0
    only_in_second: int = 0

    @property
    def n(self) -> int:
        return self.both + self.first + self.second + self.neither


class Comparison(Value, frozen=True):
    """Pairs of all instances and by capability, with the two-sided p-value of McNemar's test.

    ``difference`` is the share of the second minus that of the first, ``ci95`` its interval (normal approximation for
    paired shares); both None without instances in common. ``p_value`` is None where the runs differ nowhere.
    """

    pairs: Pairs
    capabilities: Mapping[int, Pairs]
    p_value: float | None
    difference: float | None
    ci95: Interval | None
    gained: tuple[InstanceKey, ...]
    lost: tuple[InstanceKey, ...]


class Origin(Value, frozen=True):
    """Where verdicts come from: the dataset's fingerprint, the profile, and the judge (``kind``, ``model`` ...)."""

    dataset: str | None
    profile: str
    judge: Mapping[str, Any] = {}


def differences(first: Origin, second: Origin) -> list[str]:
    """What makes the verdicts of two origins hard to compare, in sentences."""
    found = []
    if first.dataset != second.dataset:
        found.append("the reports are about different datasets; only instances with the same uuid are compared")
    if first.profile != second.profile:
        found.append(f"the profiles differ: {first.profile} and {second.profile}")
    if first.judge != second.judge:
        found.append(f"the judges differ: {judge_words(first.judge)} and {judge_words(second.judge)}")
    return found


def judge_words(judge: Mapping[str, Any]) -> str:
    """A judge in a few words: its kind, and the model and the version of the prompts where it has them."""
    parts = (judge.get(name) for name in ("kind", "model", "prompt_version"))
    return " ".join(str(part) for part in parts if part)


def compare(first: Passed, second: Passed) -> Comparison:
    """Compare on the instances that both count; an undecided instance is not right.

    ``gained`` are the instances that only the second gets right, ``lost`` those that only the first does, sorted.
    """
    common = sorted(first.keys() & second.keys())
    pairs = _pairs(common, first, second, len(first) - len(common), len(second) - len(common))
    capabilities = {
        capability: _pairs([key for key in common if key[0] == capability], first, second)
        for capability in sorted({key[0] for key in common})
    }
    return Comparison(
        pairs=pairs,
        capabilities=capabilities,
        p_value=mcnemar(pairs.first, pairs.second),
        difference=(pairs.second - pairs.first) / pairs.n if pairs.n else None,
        ci95=_difference_interval(pairs),
        gained=tuple(key for key in common if second[key] and not first[key]),
        lost=tuple(key for key in common if first[key] and not second[key]),
    )


def mcnemar(first_only: int, second_only: int) -> float | None:
    """Two-sided p-value of McNemar's test for two counts of discordant pairs; None where there are none."""
    n = first_only + second_only
    if n == 0:
        return None
    if n > EXACT_UP_TO:
        statistic = max(0, abs(first_only - second_only) - 1) ** 2 / n
        return math.erfc(math.sqrt(statistic / 2))
    tail = sum(math.comb(n, k) for k in range(min(first_only, second_only) + 1))
    # Integers divide exactly rounded, so that 1000 discordant pairs neither overflow nor lose digits.
    return min(1.0, 2 * tail / (1 << n))


def _pairs(
    keys: Iterable[InstanceKey], first: Passed, second: Passed, only_in_first: int = 0, only_in_second: int = 0
) -> Pairs:
    cells = [0, 0, 0, 0]
    for key in keys:
        cells[2 * (not first[key]) + (not second[key])] += 1
    return Pairs(
        both=cells[0],
        first=cells[1],
        second=cells[2],
        neither=cells[3],
        only_in_first=only_in_first,
        only_in_second=only_in_second,
    )


def _difference_interval(pairs: Pairs) -> Interval | None:
    if not pairs.n:
        return None
    difference = (pairs.second - pairs.first) / pairs.n
    variance = (pairs.second + pairs.first - (pairs.second - pairs.first) ** 2 / pairs.n) / pairs.n**2
    spread = 1.959963984540054 * math.sqrt(max(0.0, variance))
    return max(-1.0, difference - spread), min(1.0, difference + spread)
