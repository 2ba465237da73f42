"""A small world of tools for the harness: teams and their wins."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolenv.environment import TableView
from toolenv.model import Instance, Json, ToolResult, ToolSpec, Turn
from toolenv.schema import refusal

WINS = ToolSpec(
    name="get_team_wins",
    description="Wins of a team in a season",
    input_schema={
        "type": "object",
        "properties": {"team": {"type": "string"}, "season": {"type": "integer"}},
        "required": ["team", "season"],
    },
)
TEAMS = ToolSpec(name="list_teams", description="All teams", input_schema={"type": "object", "properties": {}})


def instance(query: str = "How many wins?", **more: Any) -> Instance:
    fields: dict[str, Any] = {"uuid": "u1", "capability": 2, "domain": "teams", **more}
    fields.setdefault("turns", (Turn(turn_id=0, query=query),))
    return Instance(**fields)


class ToySession:
    """Answers every known tool with its name and arguments; ``made`` keeps what was really called."""

    def __init__(self, tools: Sequence[ToolSpec], answers: Mapping[str, str]) -> None:
        self.tools = list(tools)
        self.answers = answers
        self.made: list[tuple[str, Mapping[str, Json]]] = []
        self.closed = False
        self._listeners: list[Callable[[], None]] = []

    async def list_tools(self) -> Sequence[ToolSpec]:
        return tuple(self.tools)

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        spec = next((tool for tool in self.tools if tool.name == name), None)
        if spec is None:
            return ToolResult(text=f"Unknown tool: {name}", is_error=True, failed=True, error_kind="unknown_tool")
        refused = refusal(spec, arguments)
        if refused is not None:
            return ToolResult(text=refused, is_error=True, failed=True, error_kind="refused_arguments")
        self.made.append((name, dict(arguments)))
        if name == "open_universe":
            self.tools = [tool for tool in self.tools if tool.name != "old_tool"]
            self.tools.append(ToolSpec(name="query_universe", input_schema={"type": "object", "properties": {}}))
            for listener in self._listeners:
                listener()
        return ToolResult(text=self.answers.get(name, json.dumps({"called": name, **arguments})))

    async def table(self, handle: str) -> TableView | None:
        return None

    async def fork(self) -> ToySession:
        return ToySession(self.tools, self.answers)

    async def close(self) -> None:
        self.closed = True

    def on_tools_changed(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)


class ToyEnvironment:
    """Opens toy sessions; ``session`` is the last one."""

    kind = "native"
    name = "toy"

    def __init__(self, *tools: ToolSpec, answers: Mapping[str, str] | None = None) -> None:
        self.tools = tools or (WINS, TEAMS)
        self.answers = answers or {}
        self.session = ToySession(self.tools, self.answers)

    def fingerprint(self) -> str | None:
        return None

    def serves(self, capability: int, domain: str) -> bool:
        return True

    async def open(self, instance: Instance) -> ToySession:
        self.session = ToySession(self.tools, self.answers)
        return self.session

    async def close(self) -> None:
        return None
