"""The seam to whoever decides the next step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sessions.trajectory import Actor, Decision, Trajectory
from toolenv.model import ToolSpec


class Driver(Protocol):
    """Decides the next step: a person, an agent, a recording or the ground truth."""

    @property
    def actor(self) -> Actor: ...

    async def next(self, trajectory: Trajectory, tools: Sequence[ToolSpec]) -> Decision: ...
