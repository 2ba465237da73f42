"""Many HTTP clients of one tool server: whose session is opened when, and whose may be closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import mcp_types as types
import pytest

from toolenv.model import Instance, Json, ToolResult, ToolSpec
from toolenv.serve import server as serving
from toolenv.serve.server import SESSION_HEADER, ToolServer


class Counted:
    """A session that answers with its number, a call of ``wait`` once it is let, and says if it was closed before."""

    def __init__(self, number: int, waiting: asyncio.Queue[int], answered: asyncio.Event) -> None:
        self.number = number
        self.open = True
        self._waiting = waiting
        self._answered = answered

    def on_tools_changed(self, listener: Callable[[], None]) -> None:
        """Its tools stay the same."""

    async def list_tools(self) -> tuple[ToolSpec, ...]:
        return ()

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        if name == "wait":
            self._waiting.put_nowait(self.number)
            await self._answered.wait()
        return ToolResult(text=f"{self.number} {'open' if self.open else 'closed during its call'}")

    async def close(self) -> None:
        self.open = False


class Counting:
    """An environment of such sessions; opening one lets others go on."""

    kind = "native"
    name = "counting"

    def __init__(self) -> None:
        self.waiting: asyncio.Queue[int] = asyncio.Queue()
        self.answered = asyncio.Event()
        self.sessions: list[Counted] = []

    async def open(self, instance: Instance) -> Counted:
        await asyncio.sleep(0)
        self.sessions.append(Counted(len(self.sessions), self.waiting, self.answered))
        return self.sessions[-1]

    @property
    def still_open(self) -> list[int]:
        return [session.number for session in self.sessions if session.open]


def server_of(environment: Counting) -> ToolServer:
    return ToolServer(environment, 2, "shop", http=True, version="0")  # type: ignore[arg-type]  # what is asked is there


async def called(server: ToolServer, client: str, tool: str = "now") -> str:
    context: Any = SimpleNamespace(request=SimpleNamespace(headers={SESSION_HEADER: client}))
    result = await server._call_tool(context, types.CallToolRequestParams(name=tool, arguments={}))
    return result.content[0].text  # type: ignore[union-attr]  # answers are texts


async def test_requests_of_one_client_that_come_together_open_one_session() -> None:
    environment = Counting()
    server = server_of(environment)
    answers = await asyncio.gather(*(called(server, "a") for _ in range(3)))
    assert len(set(answers)) == 1
    assert (len(environment.sessions), len(environment.still_open)) == (3, 1)
    await server.close()
    assert environment.still_open == []


async def test_the_client_that_was_heard_longest_ago_is_closed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "OPEN_SESSIONS", 2)
    environment = Counting()
    server = server_of(environment)
    for client in ("a", "b", "a", "c"):
        await called(server, client)
    assert environment.still_open == [0, 2]
    assert await called(server, "b") == "3 open"


async def test_no_client_is_closed_while_it_waits_for_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "OPEN_SESSIONS", 2)
    environment = Counting()
    server = server_of(environment)
    waiting = [asyncio.create_task(called(server, client, "wait")) for client in ("a", "b", "c")]
    for _ in waiting:
        await environment.waiting.get()
    await called(server, "d")
    await called(server, "e")
    environment.answered.set()
    assert all(answer.endswith(" open") for answer in await asyncio.gather(*waiting))
    assert len(environment.still_open) == 2
    assert await called(server, "c") in [f"{number} open" for number in environment.still_open]
