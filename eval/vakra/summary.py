"""How the release sums up a domain and a run (contract, section 3.7 and row E13)."""

from __future__ import annotations

from collections.abc import Sequence

from toolenv.model import Value


class DomainSummary(Value, frozen=True):
    """``num_samples`` counts every ground-truth entry, duplicates and those without uuid included; the mean, least and
    greatest score are those of the paired dialogues alone."""

    num_samples: int
    num_correct: float
    mean_dialogue_score: float
    min_dialogue_score: float
    max_dialogue_score: float


def summary_of(samples: int, scores: Sequence[float]) -> DomainSummary:
    """The summary of a domain with ``samples`` ground-truth entries; all zero where nothing is paired."""
    return DomainSummary(
        num_samples=samples,
        num_correct=sum(scores),
        mean_dialogue_score=sum(scores) / len(scores) if scores else 0.0,
        min_dialogue_score=min(scores, default=0.0),
        max_dialogue_score=max(scores, default=0.0),
    )
