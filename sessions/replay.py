"""Bringing a fresh session to the state of an old one by running its steps again, and saying where that differs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import unified_diff
from itertools import islice, zip_longest

from sessions.branches import Drift
from sessions.calling import call_in_time
from sessions.trajectory import CallTool, Step
from toolenv.environment import TableView, ToolEnvironment, ToolSession
from toolenv.model import Instance, ToolResult, Value
from toolenv.values import shortened

NEVER_REPLAYED = frozenset({"timed_out", "cancelled", "environment", "not_recorded"})
"""Steps that got no answer: running them again by itself could do something twice that was never wanted once."""

COMPARED_CHARACTERS = 200_000
"""Longer texts are compared line by line, since aligning them would take too long."""

DIFFERENCE_LINES = 40
"""How many lines of a difference are kept."""


class Replay(Value, frozen=True):
    """A live session in the state after some steps; ``drifts`` and ``tables`` belong to these steps, one each."""

    session: ToolSession
    drifts: tuple[Drift, ...]
    tables: tuple[TableView | None, ...]

    @property
    def drifted(self) -> tuple[int, ...]:
        """Indexes (from 0) of the steps that came out differently."""
        return tuple(index for index, drift in enumerate(self.drifts) if drift.outcome == "drifted")


async def replay(
    environment: ToolEnvironment, instance: Instance, steps: Sequence[Step], *, deadline_s: float | None = None
) -> Replay:
    """A new session of ``environment`` with the calls of ``steps`` made again, each response compared.

    Raises ``EnvironmentFailure``, with the session closed, when a call cannot be answered.
    """
    session = await environment.open(instance)
    try:
        return await replay_into(session, steps, deadline_s=deadline_s)
    except BaseException:
        await session.close()
        raise


async def replay_into(session: ToolSession, steps: Sequence[Step], *, deadline_s: float | None = None) -> Replay:
    """The same over a session that is already open and fresh."""
    drifts: list[Drift] = []
    tables: list[TableView | None] = []
    for number, step in enumerate(steps, start=1):
        drift, table = Drift(outcome="same"), None
        if isinstance(step.decision, CallTool) and _is_replayed(step, steps[: number - 1]):
            call = step.decision.call
            arguments = call.arguments if step.executed_arguments is None else step.executed_arguments
            result, table = await call_in_time(
                session, call.name, arguments, deadline_s=deadline_s, where=f"Replay of step {number}"
            )
            drift = compared(step.result, result)
        drifts.append(drift)
        # What a drifted step made now is not what its stored response tells of.
        tables.append(table if drift.outcome == "same" else None)
    return Replay(session=session, drifts=tuple(drifts), tables=tuple(tables))


def _is_replayed(step: Step, before: Sequence[Step]) -> bool:
    assert isinstance(step.decision, CallTool)
    if step.decision.call.raw_arguments is not None or step.result is None:
        return False
    if step.result.error_kind in NEVER_REPLAYED:
        return False
    # A driver's repetition of the opening was answered with the opening's result, and is so again.
    return not (step.opening and before and before[-1].opening)


def compared(before: ToolResult | None, now: ToolResult) -> Drift:
    """Whether a step came out the same: failure and text, JSON compared as JSON (key order is not content)."""
    if before is None:
        return Drift(outcome="drifted", difference="There was no result before.")
    if before.failed != now.failed:
        return Drift(
            outcome="drifted",
            difference=f"{_outcome(before)} before, {_outcome(now)} now: {shortened(now.text, 200)}",
        )
    if before.text == now.text or _as_json(before.text) == _as_json(now.text):
        return Drift(outcome="same")
    return Drift(outcome="drifted", difference=difference(before.text, now.text))


def _outcome(result: ToolResult) -> str:
    return "failed" if result.failed else "succeeded"


def _as_json(text: str) -> object:
    """The decoded value, as canonical text so that NaN equals itself; the text where it is no JSON."""
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except (ValueError, RecursionError):
        return text


def difference(before: str, now: str) -> str:
    """The first lines in which two texts differ; a unified difference where the texts are short enough for one."""
    if len(before) + len(now) > COMPARED_CHARACTERS:
        return _first_differing_line(before, now)
    lines = unified_diff(before.splitlines(), now.splitlines(), "before", "now", lineterm="", n=1)
    shown = list(islice(lines, DIFFERENCE_LINES + 1))
    if len(shown) > DIFFERENCE_LINES:
        shown[-1] = "..."
    return "\n".join(shown) or "They differ in line endings only."


def _first_differing_line(before: str, now: str) -> str:
    for number, (old, new) in enumerate(zip_longest(before.splitlines(), now.splitlines()), start=1):
        if old != new:
            shown = ["(no line)" if line is None else shortened(line, 200) for line in (old, new)]
            return f"Line {number}:\n-{shown[0]}\n+{shown[1]}"
    return "They differ in line endings only."
