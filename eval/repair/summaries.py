"""What a search found as JSON: the ``repair`` of a report's line."""

from __future__ import annotations

from typing import Any

from eval.repair.model import Repair, RepairResult, Replacement
from toolenv.model import ToolCall


def summary(found: RepairResult) -> dict[str, Any]:
    """The report's form of a result; keys that say nothing are left out."""
    form: dict[str, Any] = {
        "outcome": found.outcome,
        "sentence": found.sentence,
        "step": found.step,
        "tool": found.tool or None,
    }
    if found.earliest is not None:
        form["earliest"] = _repair(found.earliest)
    if found.smallest is not None and found.smallest is not found.earliest:
        form["smallest"] = _repair(found.smallest)
    if found.prefix is not None:
        form["prefix"] = found.prefix
    form["executions"] = found.spent.executions
    form["reused"] = found.spent.reused
    form["tried"] = found.spent.tried
    if found.spent.not_recorded:
        form["not_recorded"] = found.spent.not_recorded
    return form


def _repair(repair: Repair) -> dict[str, Any] | None:
    return None if repair.replacement is None else _replacement(repair.replacement)


def _replacement(one: Replacement) -> dict[str, Any]:
    form: dict[str, Any] = {"kind": one.kind, "step": one.step, "hop": one.hop or None, "size": one.size}
    if one.before is not None:
        form["before"] = _call(one.before)
    if one.after is not None:
        form["after"] = _call(one.after)
    if one.arguments:
        form["arguments"] = list(one.arguments)
    if one.answer is not None:
        form["answer"] = one.answer
        form["re_answered"] = one.re_answered
    return form


def _call(call: ToolCall) -> dict[str, Any]:
    return {"name": call.name, "arguments": dict(call.arguments)}
