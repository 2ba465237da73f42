"""Writing down what an environment answers, in the form that a recorded environment reads.

Answers go to a spool file as they come, so that memory does not grow with the run and an interrupted one loses nothing;
``close`` (or ``flush``) merges the spool and what the folder already holds into one sorted file a domain, which appears
whole or not at all. The files do not depend on the order in which calls were made.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from toolenv.environment import TableView, ToolEnvironment, ToolSession
from toolenv.errors import EnvironmentFailure
from toolenv.model import CAPABILITY_DIRS, Instance, Json, ToolResult, ToolSpec
from toolenv.recorded.chains import Chain, call_key, replaced, universe_asked_for, with_handles
from toolenv.recorded.environment import with_handle
from toolenv.recorded.merging import merge
from toolenv.recorded.tables import TableWriter, merge_tables, tables_path

_SPOOL: Final = ".spool"
_SMALL: Final = 20_000
"""Cells of a table that are written without leaving the event loop."""


class Recorder:
    """A ``ToolEnvironment`` that answers as another does and keeps every answer below ``directory``."""

    def __init__(self, environment: ToolEnvironment, directory: Path | str) -> None:
        self._environment = environment
        self.directory = Path(directory)
        self._spools: dict[tuple[int, str], _Spool] = {}

    @property
    def kind(self) -> str:
        return self._environment.kind

    @property
    def name(self) -> str:
        return self._environment.name

    @property
    def problems(self) -> Sequence[str]:
        """Those of the environment behind, where it knows any."""
        found: Sequence[str] = getattr(self._environment, "problems", ())
        return found

    def fingerprint(self) -> str | None:
        return self._environment.fingerprint()

    def serves(self, capability: int, domain: str) -> bool:
        return self._environment.serves(capability, domain)

    async def open(self, instance: Instance) -> RecordingSession:
        session = await self._environment.open(instance)
        place = (instance.capability, instance.domain)
        spool = self._spools.get(place)
        if spool is None:
            path = self.directory / CAPABILITY_DIRS[instance.capability] / f"{instance.domain}.jsonl"
            spool = self._spools[place] = _Spool(path)
        universe = (instance.universe_id or instance.uuid) if instance.capability == 1 else None
        recording = RecordingSession(session, spool, universe)
        await recording.list_tools()
        return recording

    def flush(self) -> None:
        """Write all files. Raises EnvironmentFailure when one cannot be written."""
        for spool in self._spools.values():
            spool.merge()

    async def close(self) -> None:
        """Write all files and close the environment behind."""
        try:
            self.flush()
        finally:
            await self._environment.close()


class RecordingSession:
    """A ``ToolSession`` that keeps what it passes on."""

    def __init__(self, session: ToolSession, spool: _Spool, universe: str | None) -> None:
        self._session = session
        self._spool = spool
        self._universe = universe
        self._chains: dict[str, Chain] = {}

    @property
    def forks_by_copy(self) -> bool:
        return bool(getattr(self._session, "forks_by_copy", False))

    @property
    def behind(self) -> ToolSession:
        """The session whose answers are kept."""
        return self._session

    async def list_tools(self) -> Sequence[ToolSpec]:
        tools = await self._session.list_tools()
        self._spool.keep_tools(self._universe, tools)
        return tools

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        result = await self._session.call(name, arguments)
        if self._universe is None:
            if name != "get_data":
                self._spool.keep(None, name, arguments, result, None)
            return result
        table = await self._kept_table(result.handle)
        universe = self._universe
        written: Mapping[str, Json] = with_handles(arguments, self._chains)
        if name == "get_data":
            wanted = universe_asked_for(arguments, universe)
            if wanted is not None:
                universe, written = wanted, {"tool_universe_id": wanted}
        self._spool.keep(universe, name, written, result, table)
        if not result.failed:
            if universe != self._universe:
                self._universe = universe
                self._chains.clear()
                await self.list_tools()
            if result.handle is not None:
                self._chains[result.handle] = Chain(name, written)
        return result

    async def _kept_table(self, handle: str | None) -> str | None:
        """The digest under which the table behind a new handle is kept."""
        view = await self._session.table(handle) if handle is not None else None
        if view is None:
            return None
        known = self._spool.tables.known(view)
        if known is not None:
            return known
        try:
            if view.num_records * len(view.columns) > _SMALL:
                return await asyncio.to_thread(self._spool.tables.keep, view)
            return self._spool.tables.keep(view)
        except OSError as error:
            raise EnvironmentFailure(f"{self._spool.target} cannot be written: {error.strerror or error}.") from error

    async def table(self, handle: str) -> TableView | None:
        return await self._session.table(handle)

    async def fork(self) -> RecordingSession:
        copy = RecordingSession(await self._session.fork(), self._spool, self._universe)
        copy._chains = self._chains.copy()
        return copy

    async def close(self) -> None:
        await self._session.close()

    def on_tools_changed(self, listener: Callable[[], None]) -> None:
        self._session.on_tools_changed(listener)


class _Spool:
    """The answers of one domain as they come; one left behind by an interrupted run is taken up again."""

    def __init__(self, path: Path) -> None:
        self.target = path
        self._path = path.with_name(f".{path.name}{_SPOOL}")
        self._known: set[tuple[str | None, str, str, bool]] = set()
        self._tools: set[tuple[str | None, str]] = set()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _mend(self._path)
            table_spool = path.with_name(f".{path.stem}.tables{_SPOOL}")
            _mend(table_spool)
            self._table_spool = table_spool
            self.tables = TableWriter(table_spool, tables_path(path))
        except OSError as error:
            raise EnvironmentFailure(f"{path} cannot be written: {error.strerror or error}.") from error

    def keep_tools(self, universe: str | None, tools: Sequence[ToolSpec]) -> None:
        listed = [
            {"name": tool.name, "inputSchema": dict(tool.input_schema), "description": tool.description}
            for tool in tools
        ]
        text = json.dumps(listed, sort_keys=True)
        if (universe, text) not in self._tools:
            self._tools.add((universe, text))
            self._append({"universe": universe, "tools": listed})

    def keep(
        self, universe: str | None, name: str, written: Mapping[str, Json], result: ToolResult, table: str | None
    ) -> None:
        text = result.text if result.handle is None else with_handle(result.text)
        mark = (universe, call_key(name, written), sha256(text.encode("utf-8", "replace")).hexdigest(), result.is_error)
        if mark in self._known:
            return
        self._known.add(mark)
        line: dict[str, Json] = {} if universe is None else {"universe": universe}
        line["name"] = name
        line["arguments"] = replaced(dict(written), Chain.written)
        line["response_text"] = text
        line["is_error"] = result.is_error
        if table is not None:
            line["table"] = table
        if result.notes:
            line["notes"] = list(result.notes)
        self._append(line)

    def _append(self, line: Mapping[str, Json]) -> None:
        try:
            with self._path.open("ab") as stream:
                stream.write(json.dumps(line).encode() + b"\n")
        except OSError as error:
            raise EnvironmentFailure(f"{self._path} cannot be written: {error.strerror or error}.") from error

    def merge(self) -> None:
        try:
            merge_tables(tables_path(self.target), self._table_spool)
            merge(self.target, self._path)
        except OSError as error:
            raise EnvironmentFailure(f"{self.target} cannot be written: {error.strerror or error}.") from error


def _mend(path: Path) -> None:
    """Cut off a line that an interrupted run left half written, so that the next one starts fresh."""
    if not path.exists():
        return
    with path.open("r+b") as stream:
        size = stream.seek(0, os.SEEK_END)
        while size > 0:
            start = max(0, size - 65536)
            stream.seek(start)
            newline = stream.read(size - start).rfind(b"\n")
            if newline >= 0:
                size = start + newline + 1
                break
            size = start
        stream.truncate(size)
