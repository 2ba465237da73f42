"""Scores over verdicts: capability scores, leaderboard, counts, who decided, sieve, slices and agreement.

Everything is a sum over lines, so results may come in any order and none of them has to be kept. The definitions are
those of the contract ("Scores", "Sieve", "Undecided, unscored, missing"); the JSON forms those of the report.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from eval.intervals import Groups, bootstrap_mean, bootstrap_share, wilson
from eval.judges.agreement import agreement
from eval.model import Ruling
from eval.repair.tally import RepairTally
from eval.scored import GATES, SLICES, Scored, gate_rulings
from toolenv.model import CAPABILITY_DIRS

SIEVE_CLASSES = ("tool_selection", "argument_names", "argument_values", "answer", "none", "undecided")
SIEVE_LEVELS = {"tool": "tool_selection", "argument_names": "argument_names", "argument_values": "argument_values"}
"""Level of the cumulative sieve -> the class that breaks at it."""

DECIDERS = ("program", "offline", "judge", "recorded", "human", "undecided")
STATUSES = ("scored", "missing", "extra", "unscored")


class Tally:
    """What the report says about all lines together; ``add`` a line at a time, in any order.

    A line counts for the scores when its status is ``scored`` or ``missing``: a missing prediction is wrong, an
    unscored instance is not counted, an undecided one counts as not passed and widens the range.
    """

    def __init__(self) -> None:
        self.statuses: Counter[str] = Counter()
        self.unscored: Counter[str] = Counter()
        self.undecided = 0
        self._kinds: dict[int, Counter[tuple[int, bool]]] = defaultdict(Counter)
        self._undecided: dict[int, Counter[int]] = defaultdict(Counter)
        self._decided: dict[str, Counter[str]] = {gate: Counter() for gate in GATES}
        self._sieve: dict[int, Counter[str]] = defaultdict(Counter)
        self._slices: dict[str, dict[str, list[int]]] = {name: {} for name in SLICES}
        self._repairs = RepairTally()
        self._human: dict[str, list[Ruling]] = {gate: [] for gate in GATES}

    def add(self, scored: Scored) -> None:
        verdict = scored.verdict
        self.statuses[verdict.status] += 1
        if verdict.repair is not None:
            self._repairs.add(verdict.repair)
        if verdict.status == "unscored":
            self.unscored[verdict.reason or "environment"] += 1
        if verdict.status not in ("scored", "missing"):
            return
        passed = verdict.passed is True
        undecided = verdict.passed is None
        self._kinds[verdict.capability][scored.weight, passed] += 1
        if undecided:
            self.undecided += 1
            self._undecided[verdict.capability][scored.weight] += 1
        self._sieve[verdict.capability][verdict.sieve or ("undecided" if undecided else "none")] += 1
        for name, group in scored.slices.items():
            counts = self._slices[name].setdefault(group, [0, 0])
            counts[0] += 1
            counts[1] += passed
        if verdict.status == "scored":
            self._add_rulings(scored)

    def _add_rulings(self, scored: Scored) -> None:
        for gate, ruling in gate_rulings(scored.verdict).items():
            if ruling.outcome == "undecided":
                self._decided[gate]["undecided"] += 1
            elif ruling.decided_by is not None:
                self._decided[gate][ruling.decided_by] += 1
            if ruling.decided_by == "human":
                self._human[gate].append(ruling)

    @property
    def instances(self) -> int:
        """Lines that belong to an instance of the dataset."""
        return sum(self.statuses.values()) - self.statuses["extra"]

    def counts(self, duplicates: int) -> dict[str, int]:
        return {
            "instances": self.instances,
            "scored": self.statuses["scored"],
            "missing": self.statuses["missing"],
            "extra": self.statuses["extra"],
            "duplicate": duplicates,
            "unscored": self.statuses["unscored"],
            "undecided": self.undecided,
        }

    def capabilities(self) -> dict[str, dict[str, Any]]:
        """Scores by capability, in order; capabilities without a counted instance are left out."""
        scores = {}
        for capability in sorted(self._kinds):
            kinds = self._kinds[capability]
            undecided = self._undecided[capability]
            n = sum(kinds.values())
            correct = sum(count for (_, passed), count in kinds.items() if passed)
            total = sum(weight * count for (weight, _), count in kinds.items())
            gained = sum(weight * count for (weight, passed), count in kinds.items() if passed)
            open_weight = sum(weight * count for weight, count in undecided.items())
            scores[str(capability)] = {
                "score": gained / total,
                "range": [gained / total, (gained + open_weight) / total],
                "ci95": _interval(bootstrap_share(kinds, capability) if capability == 4 else wilson(correct, n)),
                "n": n,
                "correct": correct,
                "weighted_correct": gained,
                "weighted_total": total,
                "undecided": sum(undecided.values()),
            }
        return scores

    def leaderboard(self) -> dict[str, Any]:
        """The mean of the capability scores that exist; nulls where there is none."""
        capabilities = self.capabilities()
        if not capabilities:
            return {"score": None, "range": None, "ci95": None}
        strata: list[tuple[int, Groups]] = [(int(name), self._kinds[int(name)]) for name in capabilities]
        return {
            "score": _mean(entry["score"] for entry in capabilities.values()),
            "range": [_mean(entry["range"][end] for entry in capabilities.values()) for end in (0, 1)],
            "ci95": _interval(bootstrap_mean(strata)),
        }

    def left_out(self) -> list[int]:
        """Capabilities that the leaderboard's mean does not include."""
        return [capability for capability in CAPABILITY_DIRS if not self._kinds.get(capability)]

    def decided(self) -> dict[str, dict[str, int]]:
        return {gate: {decider: self._decided[gate][decider] for decider in DECIDERS} for gate in GATES}

    def sieve(self) -> dict[str, dict[str, int]]:
        return {
            str(capability): {name: self._sieve[capability][name] for name in SIEVE_CLASSES}
            for capability in sorted(self._sieve)
        }

    def sieve_cumulative(self) -> dict[str, dict[str, float]]:
        """The share still right after each level; an undecided instance has broken none but the last."""
        return {capability: cumulative(classes) for capability, classes in self.sieve().items()}

    def slices(self) -> dict[str, dict[str, dict[str, Any]]]:
        return {
            name: {
                group: {"n": n, "correct": correct, "ci95": _interval(wilson(correct, n))}
                for group, (n, correct) in sorted(groups.items())
            }
            for name, groups in self._slices.items()
        }

    def repairs(self) -> dict[str, Any]:
        """What repair search found, by outcome, step and tool; empty where none was asked for."""
        return self._repairs.form()

    def agreement(self) -> dict[str, dict[str, Any]]:
        entries = {}
        for gate in GATES:
            found = agreement(self._human[gate])
            entries[gate] = {
                "n": found.n,
                "agreement": found.agreement,
                "kappa": found.kappa,
                "confusion": dict(found.confusion),
                "not_compared": found.not_compared,
            }
        return entries


def tally(lines: Iterable[Scored]) -> Tally:
    """The tally of some lines."""
    total = Tally()
    for line in lines:
        total.add(line)
    return total


def cumulative(classes: Mapping[str, int]) -> dict[str, float]:
    """Share still right after Tool, argument names, argument values and answer, of the sieve counts of a capability."""
    n = sum(classes.values())
    left = n
    shares = {}
    for level, name in SIEVE_LEVELS.items():
        left -= classes[name]
        shares[level] = left / n
    shares["answer"] = classes["none"] / n
    return shares


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)


def _interval(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else list(interval)
