"""A small pure tool environment: a counter, and tables of numbers behind handles. State is a dict; a fork copies it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from toolenv.environment import ColumnInfo
from toolenv.errors import EnvironmentFailure, NotRecorded
from toolenv.model import Instance, Json, ToolResult, ToolSpec, Turn
from toolenv.schema import refusal

INTEGER = {"type": "integer"}


def spec(name: str, **properties: Json) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": sorted(properties), "additionalProperties": False}
    return ToolSpec(name=name, input_schema=schema, description=f"{name} of the counter")


TOOLS = (
    spec("add", amount=INTEGER),
    spec("read"),
    spec("make_table", size=INTEGER),
    spec("total", handle={"type": "string"}),
    spec("fail"),
    spec("hang"),
    spec("outage"),
    spec("unrecorded"),
)


def make_instance(
    capability: int = 2, *, policy: str = "", query: str = "What is the count?", uuid: str = "u-1"
) -> Instance:
    return Instance(
        uuid=uuid,
        capability=capability,
        domain="counting",
        turns=(Turn(turn_id=0, query=query),),
        policy=policy,
        universe_id="universe-1" if capability == 1 else None,
    )


class Numbers:
    """The table 0 .. size - 1."""

    def __init__(self, size: int) -> None:
        self.size = size

    @property
    def fingerprint(self) -> str:
        return f"numbers:{self.size}"

    @property
    def num_records(self) -> int:
        return self.size

    @property
    def columns(self) -> Sequence[ColumnInfo]:
        return (ColumnInfo(name="n", dtype="int64"),)

    def rows(self, start: int, stop: int) -> Sequence[tuple[Json, ...]]:
        return [(n,) for n in range(start, min(stop, self.size))]

    def column(self, index: int) -> Iterator[Json]:
        return iter(range(self.size))


class CountingSession:
    def __init__(self, count: int = 0, tables: Mapping[str, Numbers] | None = None, *, copies: bool = True) -> None:
        self.count = count
        self.tables = dict(tables or {})
        self.opened: str | None = None
        self.forks_by_copy = copies
        self.closed = False
        self.calls: list[tuple[str, Mapping[str, Json]]] = []
        self.running = asyncio.Event()
        self.drift = 0

    async def list_tools(self) -> Sequence[ToolSpec]:
        return TOOLS

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        self.calls.append((name, arguments))
        if name == "get_data":
            self.opened = str(arguments["tool_universe_id"])
            return self._table(3)
        tool = next((each for each in TOOLS if each.name == name), None)
        reason = refusal(tool, arguments) if tool is not None else None
        if reason is not None:
            text = f"Input validation error: {reason}"
            return ToolResult(text=text, is_error=True, failed=True, error_kind="refused_arguments")
        if name == "add":
            self.count += arguments["amount"]
            return ToolResult(text=json.dumps({"count": self.count}))
        if name == "read":
            return ToolResult(text=json.dumps({"count": self.count + self.drift}))
        if name == "make_table":
            return self._table(arguments["size"])
        if name == "total":
            table = self.tables.get(arguments["handle"])
            if table is None:
                return ToolResult(text="no such handle", is_error=True, failed=True, error_kind="tool_failed")
            return ToolResult(text=str(sum(range(table.size))))
        if name == "hang":
            self.running.set()
            await asyncio.Event().wait()
        if name == "outage":
            raise EnvironmentFailure("The counter is out of order; restart it.")
        if name == "unrecorded":
            raise NotRecorded("The recording of the counter has no answer to unrecorded().")
        if name == "fail":
            return ToolResult(text="failed", is_error=True, failed=True, error_kind="tool_failed")
        return ToolResult(text=f"Unknown tool: {name}", is_error=True, failed=True, error_kind="unknown_tool")

    def _table(self, size: int) -> ToolResult:
        handle = f"table_{len(self.tables) + 1}"
        self.tables[handle] = Numbers(size)
        return ToolResult(text=json.dumps({"handle": handle, "num_records": size}), handle=handle)

    async def table(self, handle: str) -> Numbers | None:
        return self.tables.get(handle)

    async def fork(self) -> CountingSession:
        twin = CountingSession(self.count, self.tables, copies=self.forks_by_copy)
        twin.opened = self.opened
        twin.drift = self.drift
        return twin

    async def close(self) -> None:
        self.closed = True

    def on_tools_changed(self, listener: Callable[[], None]) -> None:
        pass


class CountingEnvironment:
    kind = "native"
    name = "counting"

    def __init__(self, *, copies: bool = True) -> None:
        self.copies = copies
        self.sessions: list[CountingSession] = []
        self.drift = 0

    def fingerprint(self) -> str | None:
        return "sha256:counting"

    def serves(self, capability: int, domain: str) -> bool:
        return True

    async def open(self, instance: Instance) -> CountingSession:
        session = CountingSession(copies=self.copies)
        session.drift = self.drift
        self.sessions.append(session)
        return session

    async def close(self) -> None:
        for session in self.sessions:
            await session.close()
