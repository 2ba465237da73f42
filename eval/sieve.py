"""The failure sieve: the first level that broke in an instance that did not pass (contract, "Sieve")."""

from __future__ import annotations

from collections.abc import Sequence

from eval.model import SieveClass, StageName
from sessions.dataflow import Alignment, GroundTruthAnalysis, PredictionAnalysis, align
from toolenv.model import ToolSpec


def sieve_class(
    passed: bool | None,
    failed_stage: StageName | None,
    truth: GroundTruthAnalysis,
    prediction: PredictionAnalysis,
    tools: Sequence[ToolSpec],
) -> SieveClass:
    """``none`` for what passed, ``undecided`` for what nobody could decide, else the level of the first break."""
    if passed is True:
        return "none"
    if passed is None:
        return "undecided"
    if failed_stage == "policy":
        return "tool_selection"
    return break_of(align(truth.calls, prediction.calls, tools, truth.instance.domain))


def break_of(alignment: Alignment) -> SieveClass:
    """The first level at which aligned calls differ; ``answer`` where they do not."""
    if alignment.lacking:
        return "tool_selection"
    levels = {pair.level for pair in alignment.pairs}
    if "argument_names" in levels:
        return "argument_names"
    return "argument_values" if "argument_values" in levels else "answer"
