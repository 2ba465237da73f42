"""What repair search found over a whole run: the ``repair`` of a report's head."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

ANSWER = "answer"
"""The group of trajectories that their answer broke, among steps and tools."""


def groups_of(repair: Mapping[str, Any]) -> dict[str, str]:
    """The groups that a line's ``repair`` is counted in: its outcome, and its step and tool where one was found."""
    groups = {"outcomes": str(repair.get("outcome"))}
    step, tool = repair.get("step"), repair.get("tool")
    if step is not None:
        groups["steps"] = str(step) if tool else ANSWER
        groups["tools"] = str(tool) if tool else ANSWER
    return groups


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
        groups = groups_of(repair)
        self._outcomes[groups["outcomes"]] += 1
        self._executions += int(repair.get("executions") or 0)
        if "steps" in groups:
            kind = str((repair.get("earliest") or {}).get("kind") or groups["outcomes"])
            self._steps.setdefault(groups["steps"], Counter())[kind] += 1
            self._tools.setdefault(groups["tools"], Counter())[kind] += 1

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
