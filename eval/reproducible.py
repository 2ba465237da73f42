"""Whether a replay said what the live run saw.

A tool whose answer depends on the clock, on chance or on a state that the replay does not set up makes a replay that
proves nothing. The responses in a prediction file are never trusted for a verdict; where they differ from what the same
calls answered again, that is said, with the fields in which they differ.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec

from eval.model import Verdict
from sessions.trajectory import CallTool, ExecutedTrajectory
from toolenv.decoding import decoded
from toolenv.failures import failure_of
from toolenv.model import Json, ToolResult, Value

NOT_REPRODUCIBLE = "not reproducible"
"""The mark of a verdict on a trajectory whose replay differs from its own recorded responses."""

WHOLE = "the whole response"
MOST_NAMED = 12
_DEEPEST = 6


class Difference(Value, frozen=True):
    """A call (1-based among those compared) whose replay differs; ``fields`` names where."""

    call: int
    fields: tuple[str, ...]


def differences(recorded: Sequence[Json], replayed: Sequence[ToolResult | None]) -> tuple[Difference, ...]:
    """The calls whose recorded response is another than the replayed one.

    Calls without either are not compared; of two failures the sentences are not, for they are the environment's own.
    """
    found = []
    for number, (before, now) in enumerate(zip(recorded, replayed, strict=False), start=1):
        if before is None or now is None or (now.failed and _failed(before)):
            continue
        fields = differing_fields(before, now.text)
        if fields:
            found.append(Difference(call=number, fields=fields))
    return tuple(found)


def differing_fields(recorded: Json, replayed: str) -> tuple[str, ...]:
    """Where a recorded response (text, or a value where the file holds one) and a replayed text differ.

    Fields are named by their path (``rows``, ``team.score``), ``rows (order)`` where only the order of a list differs.
    Names of handles and the order of keys are no difference.
    """
    if recorded == replayed:
        return ()
    before, now = _decoded(recorded), _decoded(replayed)
    names: list[str] = []
    _compare(before, now, "", names, 0)
    return tuple(names[:MOST_NAMED])


def sentence(found: Sequence[Difference]) -> str:
    """The differences in words."""
    named = "; ".join(f"call {one.call}: {', '.join(one.fields)}" for one in found)
    return f"live and replayed responses differ ({named})"


def marked(verdict: Verdict, recorded: Sequence[Json] | None, executed: ExecutedTrajectory) -> Verdict:
    """The verdict with the mark, and the differences in its tool-sequence stage, where the replay differs.

    ``recorded`` are the responses in the prediction file, one a call of the prediction; None where it has none.
    """
    results = [
        step.result
        for step in executed.trajectory.steps
        if isinstance(step.decision, CallTool) and step.actor != "stepper"
    ]
    return with_differences(verdict, differences(recorded or (), results))


def with_differences(verdict: Verdict, found: Sequence[Difference]) -> Verdict:
    if not found or NOT_REPRODUCIBLE in verdict.marks:
        return verdict
    evidence = {NOT_REPRODUCIBLE: [{"call": one.call, "fields": list(one.fields)} for one in found]}
    stages = tuple(
        msgspec.structs.replace(
            stage, reason=f"{stage.reason}; {sentence(found)}", evidence=(*stage.evidence, evidence)
        )
        if stage.stage == "tool_sequence"
        else stage
        for stage in verdict.stages
    )
    return msgspec.structs.replace(verdict, stages=stages, marks=(*verdict.marks, NOT_REPRODUCIBLE))


def _compare(before: Json, now: Json, path: str, names: list[str], depth: int) -> None:
    if _same(before, now):
        return
    if depth < _DEEPEST and isinstance(before, dict) and isinstance(now, dict):
        for key in sorted({*before, *now}, key=str):
            inner = f"{path}.{key}" if path else str(key)
            if inner == "handle":
                continue
            if key in before and key in now:
                _compare(before[key], now[key], inner, names, depth + 1)
            else:
                names.append(inner)
        return
    if isinstance(before, list) and isinstance(now, list):
        if sorted(map(_printed, before)) == sorted(map(_printed, now)):
            names.append(f"{path or WHOLE} (order)")
            return
        if depth < _DEEPEST and len(before) == len(now):
            inner_names: list[str] = []
            for left, right in zip(before, now, strict=True):
                _compare(left, right, path, inner_names, depth + 1)
            names.extend(dict.fromkeys(inner_names))
            return
    names.append(path or WHOLE)


def _same(before: Json, now: Json) -> bool:
    """Equal as printed, so that the not-a-number of a peek equals itself."""
    return bool(before == now) or _printed(before) == _printed(now)


def _printed(value: Json) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _failed(recorded: Json) -> bool:
    return isinstance(recorded, str) and failure_of(recorded, False) is not None


def _decoded(value: Json) -> Json:
    if not isinstance(value, str):
        return value
    try:
        return decoded(value)
    except ValueError:
        return value
