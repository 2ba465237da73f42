"""Executed predictions on their way to the store, as batch sessions that a search finds and a replay runs again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from eval.profile import Item, Side, Unit
from eval.scored import Scored
from sessions.store.prepare import prepared
from sessions.store.records import ExecutedRecord, PreparedSession
from sessions.trajectory import ExecutedTrajectory

Recorded = Callable[[Item, ExecutedTrajectory], ExecutedRecord | None]
"""What is kept of an executed prediction; None where somebody else keeps it."""


class Executions:
    """The executed predictions of one run, from their execution until their unit's lines are stored.

    Ground truths are not kept: every batch executes the same ones, and they are in the dataset.
    """

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._held: dict[int, PreparedSession] = {}

    def heard(self, item: Item, side: Side, executed: ExecutedTrajectory) -> None:
        """An ``ExecutedListener``."""
        if side == "prediction":
            record = self._recorded(item, executed)
            if record is not None:
                self._held[item.position] = prepared(record)

    def judged(self, unit: Unit, lines: Sequence[Scored]) -> None:
        """What the lines of a unit say of what was executed for it: the lists of sessions show it."""
        for item, line in zip(unit.items, lines, strict=True):
            held = self._held.get(item.position)
            if held is not None:
                self._held[item.position] = msgspec.structs.replace(held, passed=line.verdict.passed)

    def taken(self, unit: Unit) -> list[PreparedSession]:
        """What was executed for a unit; gone from here afterwards."""
        return [self._held.pop(item.position) for item in unit.items if item.position in self._held]
