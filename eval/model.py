"""The nouns of a verdict; their JSON form is that of the report (``vakra-tui/report@1``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from toolenv.model import Value
from toolenv.values import shortened

Outcome = Literal["pass", "fail", "skipped", "undecided"]
StageName = Literal["policy", "tool_sequence", "final_response"]
Gate = Literal["policy", "tool_sequence", "consistent", "grounded"]
DecidedBy = Literal["program", "offline", "judge", "recorded", "human"]
Status = Literal["scored", "missing", "unscored", "extra"]
UnscoredReason = Literal["environment", "judge", "not recorded", "ground truth failed", "no ground truth"]
SieveClass = Literal["tool_selection", "argument_names", "argument_values", "answer", "none", "undecided"]

LONGEST_REASON: Final = 2000
"""Characters of a sentence in a verdict: reasons quote data, and data may be of any size."""

Evidence = Mapping[str, Any]
"""What a reason points at: keys such as ``hop`` (1-based), ``step`` (1-based), ``missing``, ``argument``, ``value``."""


def _bound(value: Value, name: str) -> None:
    """Cut a sentence of a value that is being made, visibly, at ``LONGEST_REASON``."""
    text: str = getattr(value, name)
    if len(text) > LONGEST_REASON:
        msgspec.structs.force_setattr(value, name, shortened(text, LONGEST_REASON))


class Ruling(Value, frozen=True):
    """One ruling of one gate: who said what, and why."""

    outcome: Outcome
    decided_by: DecidedBy | None = None
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()

    def __post_init__(self) -> None:
        _bound(self, "reason")


class StageResult(Value, frozen=True):
    """Outcome of one stage of the waterfall. ``rulings`` is set for ``final_response`` alone."""

    stage: StageName
    outcome: Outcome
    decided_by: DecidedBy | None
    reason: str
    evidence: tuple[Evidence, ...] = ()
    rulings: Mapping[str, Ruling | None] | None = None

    def __post_init__(self) -> None:
        _bound(self, "reason")


class Verdict(Value, frozen=True):
    """What the waterfall says about one instance of a run.

    ``detail`` is the sentence behind ``reason`` (which call failed, which file is missing). ``repair`` is what a search
    found for one that failed, where one was asked for (``eval.repair.summary``).
    """

    uuid: str
    capability: int
    domain: str
    status: Status
    passed: bool | None
    failed_stage: StageName | None
    sieve: SieveClass | None
    stages: tuple[StageResult, ...] = ()
    reason: UnscoredReason | None = None
    detail: str = ""
    marks: tuple[str, ...] = ()
    repair: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        _bound(self, "detail")
