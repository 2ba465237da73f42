"""Servers that act as one: their tool lists merged, each call sent to the server that has the tool."""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from toolenv.model import Json, ToolSpec
from toolenv.remote.connection import Connection

if TYPE_CHECKING:
    from toolenv.remote.session import RemoteSession
    from toolenv.remote.tap import Tap


class Bundle:
    """A set of connections, one to each configured server.

    For capability 1 it has at most one ``holder`` at a time, and ``universes`` are those that its server may be in:
    several after a switch that failed, none in a server that was never told to switch.
    """

    def __init__(self, connections: Sequence[Connection]) -> None:
        self.connections = tuple(connections)
        self.sessions: weakref.WeakSet[RemoteSession] = weakref.WeakSet()
        self.holder: RemoteSession | None = None
        self.universes: set[str] = set()
        self.used = False
        self.calls = 0
        self.last_used = time.monotonic()
        self.problems: list[str] = []
        self._tools: tuple[ToolSpec, ...] | None = None
        self._places: dict[str, Connection] = {}
        self._version = 0
        for connection in self.connections:
            connection.changed = self.forget_tools

    @property
    def alive(self) -> bool:
        return all(connection.alive for connection in self.connections)

    async def start(self) -> None:
        """Start all servers. Raises ``EnvironmentFailure``, with those that had started gone."""
        starts = [asyncio.ensure_future(connection.start()) for connection in self.connections]
        try:
            await asyncio.gather(*starts)
        except BaseException:
            for start in starts:
                start.cancel()
            await self.close()
            raise

    async def close(self) -> None:
        await asyncio.gather(*(connection.close() for connection in self.connections))

    async def tools(self) -> tuple[ToolSpec, ...]:
        """The tools of all servers; of two with one name, the first server's."""
        while self._tools is None:
            version = self._version
            lists = await asyncio.gather(*(connection.tools() for connection in self.connections))
            if version != self._version:
                continue
            merged: list[ToolSpec] = []
            places: dict[str, Connection] = {}
            for connection, tools in zip(self.connections, lists, strict=True):
                for tool in tools:
                    if places.setdefault(tool.name, connection) is not connection:
                        self._problem(f"{connection.name} offers {tool.name} too; {places[tool.name].name}'s is used.")
                        continue
                    merged.append(tool)
            self._places = places
            self._tools = tuple(merged)
        return self._tools

    async def call(
        self, name: str, arguments: Mapping[str, Json], tapped: Callable[[Tap], None] | None = None
    ) -> dict[str, Json]:
        """The raw answer of the server that has the tool; a name that none has goes to the first, which says so."""
        if len(self.connections) > 1:
            await self.tools()
        connection = self._places.get(name, self.connections[0])
        self.calls += 1
        self.used = True
        try:
            return await connection.call(name, arguments, tapped)
        finally:
            self.calls -= 1
            self.last_used = time.monotonic()

    def forget_tools(self) -> None:
        """Have the tools listed anew, and tell the sessions."""
        self._tools = None
        self._version += 1
        for session in tuple(self.sessions):
            session.tools_changed()

    def _problem(self, sentence: str) -> None:
        if sentence not in self.problems:
            self.problems.append(sentence)


Starter = Callable[[int], Bundle]
"""Makes the bundle with a number, not started yet."""
