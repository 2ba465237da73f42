"""What keeps an agent from deciding, none of it a decision of the agent's."""

from __future__ import annotations

from typing import Literal

from toolenv.errors import EnvironmentFailure

FailureKind = Literal["endpoint", "budget", "agent"]


class AgentFailure(EnvironmentFailure):
    """No decision came: an endpoint that cannot be reached or refuses, a plugged-in agent that breaks.

    ``kind`` is the status with which the instance ends.
    """

    def __init__(self, message: str, *, kind: FailureKind) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
