"""The one status that every instance an agent worked on ends with."""

from __future__ import annotations

from typing import Literal, get_args

from sessions.trajectory import Answer, GiveUp, Trajectory

AgentStatus = Literal[
    "answered",
    "gave up",
    "tool call written as text",
    "truncated",
    "no answer (budget spent on reasoning)",
    "empty reply",
    "filtered",
    "context exceeded",
    "turn limit",
    "time limit",
    "token limit",
    "cost limit",
    "endpoint",
    "budget",
    "agent",
    "environment",
    "unfinished",
]
"""How it ended. ``endpoint``, ``budget``, ``agent`` and ``environment`` are failures around the agent, and nothing
that it did; all others are its own doing."""

FAILURES: frozenset[str] = frozenset({"endpoint", "budget", "agent", "environment"})

_KNOWN = frozenset(get_args(AgentStatus))


def ended(status: AgentStatus, sentence: str = "") -> GiveUp:
    """The decision that ends a trajectory with a status; the status can be read off it again."""
    return GiveUp(reason=f"{status}: {sentence}" if sentence else status)


def status_of(trajectory: Trajectory) -> AgentStatus:
    """The status that a trajectory shows by its last step; ``unfinished`` where it has no end."""
    last = trajectory.steps[-1].decision if trajectory.steps else None
    if isinstance(last, Answer):
        return "answered"
    if not isinstance(last, GiveUp):
        return "unfinished"
    label = last.reason.split(":", 1)[0]
    return label if label in _KNOWN else "gave up"  # type: ignore[return-value]
