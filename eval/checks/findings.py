"""What a check of a dataset can find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal

from toolenv.model import Value

Kind = Literal[
    "unusable record",
    "cannot be executed",
    "ground truth fails",
    "oracle does not pass",
    "oracle is undecided",
    "tool is not exposed",
    "answer is not reachable",
    "answer is in the question",
    "sources overlap",
    "same question twice",
    "order decides the answer",
    "no ground truth",
    "nearly the same question",
    "answer is longer than what is shown",
]

ERROR_KINDS: tuple[Kind, ...] = (
    "unusable record",
    "cannot be executed",
    "ground truth fails",
    "oracle does not pass",
    "tool is not exposed",
    "answer is not reachable",
    "answer is in the question",
    "sources overlap",
    "same question twice",
    "order decides the answer",
)
"""Kinds that make a dataset unfit as it is; the others are for its maintainers to know (an oracle that the offline
rules cannot decide needs a judge that reads)."""


class Finding(Value, frozen=True):
    """One thing found. ``uuid`` is empty where it concerns a file; ``detail`` is a sentence."""

    kind: Kind
    uuid: str
    capability: int | None
    domain: str
    detail: str

    @property
    def is_error(self) -> bool:
        return self.kind in ERROR_KINDS


class CheckReport(Value, frozen=True):
    """All findings, in the order of the dataset's files. ``executed`` ground truths were run, ``passed`` hold."""

    instances: int
    executed: int
    passed: int
    findings: tuple[Finding, ...]

    @property
    def counts(self) -> Mapping[str, int]:
        """Findings by kind."""
        return dict(Counter(finding.kind for finding in self.findings))

    @property
    def holds(self) -> bool:
        """Whether nothing was found that makes the dataset unfit."""
        return not any(finding.is_error for finding in self.findings)
