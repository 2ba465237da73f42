"""The driver of a person at the keyboard."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from sessions.trajectory import Actor, Decision, Trajectory
from toolenv.model import ToolSpec


class HumanDriver:
    """Decides what a person decides; ``decide`` hands a decision in, ``next`` waits for one."""

    actor: Actor = "human"

    def __init__(self) -> None:
        self._decisions: asyncio.Queue[Decision] = asyncio.Queue()

    def decide(self, decision: Decision) -> None:
        self._decisions.put_nowait(decision)

    @property
    def waiting(self) -> int:
        """How many decisions are handed in and not yet taken."""
        return self._decisions.qsize()

    async def next(self, trajectory: Trajectory, tools: Sequence[ToolSpec]) -> Decision:
        return await self._decisions.get()
