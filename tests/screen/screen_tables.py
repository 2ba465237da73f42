"""Tables for the screen's tests, and an environment whose tools make them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import screen_toy as toy

from toolenv.environment import ColumnInfo, TableView
from toolenv.model import Instance, Json, ToolResult


class View:
    """A table in memory that counts the cells which are read."""

    fingerprint = "toy"

    def __init__(self, names: Sequence[str], rows: Sequence[tuple[Json, ...]]) -> None:
        self._names = names
        self._rows = list(rows)
        self.read = 0

    @property
    def num_records(self) -> int:
        return len(self._rows)

    @property
    def columns(self) -> Sequence[ColumnInfo]:
        return [ColumnInfo(name=name, dtype="str") for name in self._names]

    def rows(self, start: int, stop: int) -> Sequence[tuple[Json, ...]]:
        found = self._rows[start:stop]
        self.read += len(found)
        return found

    def column(self, index: int) -> Iterator[Json]:
        return (row[index] for row in self._rows)


class TabledSession(toy.ToySession):
    """Every call makes the environment's table."""

    environment: TabledEnvironment

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        await super().call(name, arguments)
        view = self.environment.view
        details = [
            {"name": column.name, "dtype": column.dtype, "first_3_values": [row[index] for row in view.rows(0, 3)]}
            for index, column in enumerate(view.columns)
        ]
        peek = {"handle": "retrieved_1", "num_records": view.num_records, "key_details": details}
        return ToolResult(text=json.dumps(peek), handle="retrieved_1")

    async def table(self, handle: str) -> TableView | None:
        return self.environment.view

    async def fork(self) -> TabledSession:
        return TabledSession(self.environment)


class TabledEnvironment(toy.ToyEnvironment):
    """Answers every call with a peek of one table."""

    def __init__(self, view: View, **more: Any) -> None:
        super().__init__(toy.ANSWERS, **more)
        self.view = view

    async def open(self, instance: Instance) -> TabledSession:
        return TabledSession(self)
