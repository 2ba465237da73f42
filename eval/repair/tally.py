"""What repair search found over a whole run: the ``repair`` of a report's head."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

ANSWER = "answer"
"""The group of trajectories that their answer broke, among steps and tools."""


class RepairTally:
    """Counts the ``repair`` of lines, which may come in any order.

    ``steps`` groups by the position of the broken step (the answer apart), ``tools`` by the tool that it called or
    should have called; each group tells how often and by which kind of replacement.
    """

    def __init__(self) -> None:
        self._outcomes: Counter[str] = Counter()
        self._steps: dict[str, Counter[str]] = {}
        self._tools: dict[str, Counter[str]] = {}
        self._executions = 0

    def add(self, repair: Mapping[str, Any]) -> None:
        outcome = str(repair.get("outcome"))
        self._outcomes[outcome] += 1
        self._executions += int(repair.get("executions") or 0)
        step = repair.get("step")
        if step is None:
            return
        kind = str((repair.get("earliest") or {}).get("kind") or outcome)
        tool = repair.get("tool")
        self._steps.setdefault(str(step) if tool else ANSWER, Counter())[kind] += 1
        self._tools.setdefault(str(tool) if tool else ANSWER, Counter())[kind] += 1

    def form(self) -> dict[str, Any]:
        """The report's form; empty where nothing was searched."""
        if not self._outcomes:
            return {}
        return {
            "searched": sum(self._outcomes.values()),
            "outcomes": dict(sorted(self._outcomes.items())),
            "steps": _groups(self._steps),
            "tools": _groups(self._tools),
            "executions": self._executions,
        }


def _groups(groups: Mapping[str, Counter[str]]) -> dict[str, dict[str, Any]]:
    """Groups in order: steps by number, names by letter."""
    ordered = sorted(
        groups.items(), key=lambda group: (not group[0].isdigit(), len(group[0]) * group[0].isdigit(), group[0])
    )
    return {name: {"n": sum(kinds.values()), "kinds": dict(sorted(kinds.items()))} for name, kinds in ordered}
