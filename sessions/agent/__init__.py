"""Agents that decide steps: a ReAct harness over any OpenAI-compatible endpoint, and other people's agents."""

from __future__ import annotations

from sessions.agent.agent import Agent, open_agent
from sessions.agent.failure import AgentFailure
from sessions.agent.running import AgentRun, run_agent
from sessions.agent.settings import AgentSettings
from sessions.agent.status import AgentStatus, status_of
from sessions.agent.variation import Variation

__all__ = [
    "Agent",
    "AgentFailure",
    "AgentRun",
    "AgentSettings",
    "AgentStatus",
    "Variation",
    "open_agent",
    "run_agent",
    "status_of",
]
