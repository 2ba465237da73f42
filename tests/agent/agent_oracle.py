"""A model that knows the reference paths and sees nothing but request bodies; for a server of the tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agent_endpoint import Body, calls, results_of, text, tools_of

from sessions.agent.names import alias
from sessions.agent.prompt import OPENED
from sessions.drivers.ground_truth import GroundTruthDriver
from toolenv.model import Instance, ToolCall


class Oracle:
    """Finds the instance by the question and the policy in the body, and says its next call.

    It answers ``"missing tool"`` where a call that it needs is not offered, and never makes one that is not.
    """

    def __init__(self, instances: Iterable[Instance]) -> None:
        self.missing: list[str] = []
        self._known = {self._key(i.query, i.policy): i for i in instances if i.ground_truth is not None}

    def __call__(self, body: Body) -> Any:
        messages = body["messages"]
        instance = self._found(messages)
        if instance is None:
            return text("I do not know this question.")
        driver = GroundTruthDriver(instance)
        path: list[ToolCall] = list(driver.calls)
        if instance.capability == 1 and path and path[0].name == "get_data":
            path = path[1:]
        done = len(results_of(body))
        if done >= len(path):
            return text(driver.answer or "Sorry, I cannot answer your query!")
        name = alias(path[done].name)
        if name not in tools_of(body):
            self.missing.append(f"{instance.uuid} {path[done].name}")
            return text("missing tool")
        return calls((name, dict(path[done].arguments), f"call_{done}"))

    def _found(self, messages: list[Body]) -> Instance | None:
        question = [m["content"] for m in messages if m["role"] == "user"][-1].split(f"\n\n{OPENED}")[0]
        system = messages[0]["content"]
        fitting = [i for (query, policy), i in self._known.items() if query == question and policy in system]
        return max(fitting, key=lambda instance: len(instance.policy), default=None)

    @staticmethod
    def _key(query: str, policy: str) -> tuple[str, str]:
        return query, policy
