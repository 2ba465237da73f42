"""The harness on toy instances, and what is read off its runs; fixtures are in ``conftest.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agent_endpoint import Body

from sessions.agent import AgentRun
from sessions.trajectory import CallTool
from toolenv.openai_compat import RetryPolicy

Run = Callable[..., Any]

QUICK = RetryPolicy(
    max_attempts=4, short_attempts=2, window_s=20, server_window_s=20, first_wait_s=0.01, longest_backoff_s=0.02
)


def made(run: AgentRun) -> list[tuple[str, Any, str | None]]:
    return [
        (step.decision.call.name, dict(step.decision.call.arguments), step.decision.call.raw_arguments)
        for step in run.executed.trajectory.steps
        if isinstance(step.decision, CallTool)
    ]


def assistant_calls(body: Body) -> list[Body]:
    return [call for message in body["messages"] for call in message.get("tool_calls") or ()]
