"""One agent's view of a tool universe: handles, their counters, and the calls that make them.

State is a map from handle to an immutable table, so ``fork`` copies a dict and a session never sees another's handles.
A failed switch leaves no table behind (the release keeps the old one under the new id, S1).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Protocol, TypeVar

from toolenv.model import ErrorKind, Json, ToolResult, ToolSpec, Universe
from toolenv.native import operations
from toolenv.native.aggregates import aggregated
from toolenv.native.filters import filtered
from toolenv.native.loading import Loaded, TableCache
from toolenv.native.operations import Derived, ToolError, made_by
from toolenv.native.queries import UniverseError
from toolenv.native.sorting import sorted_by, sorted_by_ranking
from toolenv.native.tables import HandleView, Table, printed_types
from toolenv.native.tools import Tool, argument, tools_of
from toolenv.schema import refusal

FAILED_PREFIX = "Input validation error: "
"""How the release begins the text of a tool that failed (contract, section 1.5, shape 4)."""

T = TypeVar("T")

_THREADS = 2

_HANDLES_AS_LISTS: Mapping[str, tuple[str, ...]] = {
    "unique": ("unique_array",),
    "truncate": ("truncate_array",),
    "calculate": ("input_1", "input_2"),
    "sort": ("ranking_array",),
}


class Universes(Protocol):
    """What a session asks of a dataset: a tool universe by its id, whatever its domain."""

    def universe(self, uuid: str) -> Universe | None: ...


class Services:
    """What all sessions of an environment share: universes, tables, and with ``offload`` the threads that do the work.

    Two threads: the work holds Python's lock most of the time, and every thread more keeps a heap of its own.
    """

    def __init__(self, universes: Universes, cache: TableCache, *, pandas2: bool, offload: bool) -> None:
        self.universes = universes
        self.cache = cache
        self.pandas2 = pandas2
        self.offload = offload
        self._threads: ThreadPoolExecutor | None = None

    async def done(self, work: Callable[..., T], *arguments: Any) -> T:
        """The result of some work, here or in a thread."""
        if not self.offload:
            return work(*arguments)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="native")
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    def close(self) -> None:
        """Forget tables and threads; sessions that are still open get theirs anew when they go on."""
        self.cache.clear()
        if self._threads is not None:
            self._threads.shutdown(wait=False)
            self._threads = None


class _Failure(Exception):
    """A call that failed, as it will be answered."""

    def __init__(self, kind: ErrorKind, text: str, *, is_error: bool, handle: str | None = None) -> None:
        super().__init__(text)
        self.kind = kind
        self.is_error = is_error
        self.handle = handle


def _tool_failed(sentence: str) -> _Failure:
    return _Failure("tool_failed", FAILED_PREFIX + sentence, is_error=False)


def _reported(sentence: str) -> _Failure:
    return _Failure("tool_failed", json.dumps({"error": sentence}), is_error=False)


class NativeSession:
    """A ``ToolSession`` of capability 1. Calls of one session must not overlap; sessions are independent."""

    forks_by_copy = True

    def __init__(self, services: Services, database: Path, universe: Universe) -> None:
        self._services = services
        self._database = database
        self._universe = universe
        self._handles: dict[str, Table] = {}
        self._counters: dict[str, int] = {}
        self._listeners: list[Callable[[], None]] = []

    async def list_tools(self) -> Sequence[ToolSpec]:
        return await self._services.done(self._specs)

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        before = self._universe
        result = await self._services.done(self._answer, name, arguments)
        if self._universe is not before and (self._universe.style == "sel" or before.style == "sel"):
            for listener in tuple(self._listeners):
                listener()
        return result

    async def table(self, handle: str) -> HandleView | None:
        table = self._handles.get(handle)
        return None if table is None else HandleView(table)

    async def fork(self) -> NativeSession:
        copy = NativeSession(self._services, self._database, self._universe)
        copy._handles = self._handles.copy()
        copy._counters = self._counters.copy()
        return copy

    async def close(self) -> None:
        self._handles.clear()
        self._listeners.clear()

    def on_tools_changed(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    # --- calls -------------------------------------------------------------------------------------------------------

    def _tools(self) -> Mapping[str, Tool]:
        columns: tuple[str, ...] = ()
        if self._universe.style == "sel":
            try:
                columns = self._services.cache.names(self._database, self._universe)
            except UniverseError:
                columns = ()
        return tools_of(self._universe.style, columns)

    def _specs(self) -> list[ToolSpec]:
        return [tool.spec for tool in self._tools().values()]

    def _answer(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        started = time.perf_counter()
        try:
            text, handle, notes = self._run(name, arguments)
        except _Failure as failure:
            return ToolResult(
                text=str(failure),
                is_error=failure.is_error,
                failed=True,
                error_kind=failure.kind,
                handle=failure.handle,
                duration_s=time.perf_counter() - started,
            )
        return ToolResult(text=text, handle=handle, notes=notes, duration_s=time.perf_counter() - started)

    def _run(self, name: str, arguments: Mapping[str, Json]) -> tuple[str, str | None, tuple[str, ...]]:
        """Text, handle and notes of a call. Raises ``_Failure``."""
        tools = self._tools()
        tool = tools.get(name)
        if tool is None:
            raise _Failure("unknown_tool", _unknown(name, self._universe.id, list(tools)), is_error=True)
        checked = self._without_handles(tool, arguments)
        problem = refusal(tool.checked, checked)
        if problem is not None:
            raise _Failure("refused_arguments", problem, is_error=True)
        if tool.operation == "get_data":
            return self._get_data(arguments.get("tool_universe_id"))
        try:
            return self._operate(tool, arguments)
        except ToolError as error:
            raise _tool_failed(str(error)) from error

    def _without_handles(self, tool: Tool, arguments: Mapping[str, Json]) -> Mapping[str, Json]:
        """The arguments with an empty list for each known handle that stands where a list is wanted (S13)."""
        places = [
            place
            for place in _HANDLES_AS_LISTS.get(tool.operation, ())
            if isinstance(arguments.get(place), str) and arguments[place] in self._handles
        ]
        return {**arguments, **{place: [] for place in places}} if places else arguments

    def _get_data(self, wanted: str | None) -> tuple[str, str | None, tuple[str, ...]]:
        if wanted is not None and wanted != self._universe.id:
            universe = self._services.universes.universe(wanted)
            if universe is None:
                raise _reported(f"Unknown universe ID {wanted!r}: the dataset's mapping has no such tool universe.")
            self._handles = {}
            self._counters = {}
            self._universe = universe
        try:
            loaded = self._load()
        except UniverseError as error:
            self._handles = {}
            self._counters = {}
            raise _reported(f"Error switching to universe: {error}.") from error
        return self._kept("retrieved", loaded.table, loaded.notes)

    def _load(self) -> Loaded:
        return self._services.cache.load(self._database, self._universe)

    def _operate(self, tool: Tool, arguments: Mapping[str, Json]) -> tuple[str, str | None, tuple[str, ...]]:
        operation = tool.operation
        if operation in ("calculate", "unique", "truncate"):
            return self._on_lists(tool, arguments)
        self._check_keys(tool, arguments)
        if operation == "concatenate":
            first, second = self._table(arguments["data_label_1"]), self._table(arguments["data_label_2"])
            return self._derive(tool, lambda: operations.stacked(first, second, self._services.pandas2))
        table = self._table(arguments["data_label"])
        if operation == "getter":
            return self._getter(table, tool.fixed["key_name"])
        if operation == "aggregate":
            limit = int(argument(arguments, tool, "limit", -1))
            kind = argument(arguments, tool, "aggregation_operation")
            value, notes = aggregated(table, kind, arguments.get("key_name"), bool(arguments.get("distinct")), limit)
            return str(value), None, notes
        return self._derive_once(tool, table, arguments)

    def _step(self, tool: Tool, table: Table, arguments: Mapping[str, Json]) -> Callable[[], Derived]:
        pandas2 = self._services.pandas2
        key: Any = arguments.get("key_name")
        if tool.operation == "filter":
            condition = argument(arguments, tool, "condition")
            value = arguments["value"]
            return lambda: filtered(table, key, condition, value, pandas2)
        if tool.operation == "sort":
            ascending = bool(argument(arguments, tool, "ascending", False))
            ranking = self._list(arguments.get("ranking_array"))
            if ranking is not None:
                return lambda: sorted_by_ranking(table, ranking, ascending, pandas2)
            if not key:
                raise ToolError("sorting needs a key_name or a ranking_array")
            return lambda: sorted_by(table, key, ascending, pandas2)
        if tool.operation == "retrieve":
            keys = [key] if isinstance(key, str) else list(key)
            distinct = bool(arguments.get("distinct")) and isinstance(key, str)
            limit = int(arguments.get("limit", -1))
            return lambda: operations.retrieved(table, keys, distinct, limit)
        kind = argument(arguments, tool, "operation_type")
        settings = _transform_settings(kind, tool, arguments)
        return lambda: operations.transformed(table, key, kind, settings)

    def _derive(self, tool: Tool, make: Callable[[], Derived]) -> tuple[str, str | None, tuple[str, ...]]:
        table = made_by(make, self._services.cache.budget)
        return self._kept(tool.prefix, table, table.notes)

    def _derive_once(
        self, tool: Tool, table: Table, arguments: Mapping[str, Json]
    ) -> tuple[str, str | None, tuple[str, ...]]:
        """``_derive`` for a step over one table; sessions of a universe that take the same step share what it makes.

        Tables never change, so a side of an instance need not work out again what the other one holds.
        """
        written = _written(arguments)
        if written is None:
            return self._derive(tool, self._step(tool, table, arguments))
        step = (self._universe.id, tool.spec.name, written)
        known = table.derived(step)
        if known is None:
            known = made_by(self._step(tool, table, arguments), self._services.cache.budget)
            table.keep_derived(step, known)
        return self._kept(tool.prefix, known, known.notes)

    def _getter(self, table: Table, column: str) -> tuple[str, str | None, tuple[str, ...]]:
        if column not in table.names:
            raise ToolError(f"the table has no column {column}; its columns are {', '.join(table.names)}")
        series = table.frame().series[table.position(column)]
        return _dumped(series.through(series.column.retrieved()).cells()), None, ()

    def _on_lists(self, tool: Tool, arguments: Mapping[str, Json]) -> tuple[str, str | None, tuple[str, ...]]:
        if tool.operation == "calculate":
            left, right = self._list(arguments["input_1"]), self._list(arguments["input_2"])
            value, notes = operations.calculated(left, right, arguments["operation"])
            try:
                return (json.dumps(value) if isinstance(value, list) else str(value)), None, notes
            except ValueError as error:  # Python writes no whole number of more than some thousand digits
                raise ToolError(f"the result cannot be written: {error}") from error
        if tool.operation == "truncate":
            given, count = arguments["truncate_array"], int(arguments["n"])
            if isinstance(given, str):
                table = self._handles[given]
                return self._derive(tool, lambda: operations.truncated(table, count))
            if not isinstance(given, list):
                raise ToolError("truncate takes a list or a handle, not an object")
            return json.dumps(given[:count]), None, ()
        given = arguments["unique_array"]
        if isinstance(given, str):
            table = self._handles[given]
            if len(table.names) != 1:
                return self._derive(tool, lambda: operations.distinct_rows(table))
            given = self._list(given)
        try:
            return json.dumps(list(dict.fromkeys(given))), None, ()
        except TypeError as error:
            raise ToolError(f"select_unique_values takes numbers and texts, not lists or objects: {error}") from error

    def _list(self, value: Json) -> Json:
        """A list given as the handle of a table with one column; anything else as it is."""
        if not isinstance(value, str):
            return value
        table = self._handles[value]
        if len(table.names) != 1:
            raise ToolError(f"{value} has {len(table.names)} columns where a list is wanted; retrieve one column first")
        series = table.frame().series[0]
        return series.through(series.column.retrieved()).cells()

    def _check_keys(self, tool: Tool, arguments: Mapping[str, Json]) -> None:
        """Column names must be the table's own, to the letter; an empty one counts as wrong (S5, shape 3 of 1.5)."""
        if "key_name" not in arguments:
            return
        table = self._handles.get(arguments.get("data_label", ""))
        if table is None:
            return
        given = arguments["key_name"]
        wrong = [key for key in ([given] if isinstance(given, str) else given) if key not in table.names]
        if wrong:
            raise _reported(f"Invalid key_name {wrong}: the table's columns are {list(table.names)}.")

    def _table(self, handle: str) -> Table:
        table = self._handles.get(handle)
        if table is None:
            known = ", ".join(list(self._handles)[-8:]) or "none yet; call get_data first"
            raise ToolError(f"there is no table {handle!r}; handles of this session: {known}")
        return table

    def _kept(self, prefix: str, table: Table, notes: tuple[str, ...]) -> tuple[str, str, tuple[str, ...]]:
        """Keep a table under a new handle and print the first look at it (contract, section 1.2)."""
        number = self._counters.get(prefix, 0) + 1
        first = table.names[0] if table.names else ""
        suffix = first.split("_", 1)[0] if "_" in first else "data"
        handle = f"{prefix}_{suffix}_{number}"
        text, dtypes = _peek(handle, table)
        self._counters[prefix] = number
        if table.dtypes is None:
            table.dtypes = dtypes
        self._handles[handle] = table
        if text is None:
            shown = [name for name, cells in zip(table.names, table.firsts(), strict=True) if _has_bytes(cells)]
            raise _Failure(
                "tool_failed",
                f"Object of type bytes is not JSON serializable: {', '.join(shown)} holds binary data that cannot be "
                f"shown as text; the table is kept as {handle} and its other columns can be used.",
                is_error=True,
                handle=handle,
            )
        return text, handle, notes


def _unknown(name: str, universe: str, names: list[str]) -> str:
    near = get_close_matches(name, names, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "list the tools to see which there are."
    return f"Unknown tool: {name} is not a tool of universe {universe}; {hint}"


def _written(arguments: Mapping[str, Json]) -> str | None:
    """Arguments of a step over one table, but for its handle, told apart by type too; None for unusual ones."""
    parts = []
    for name, value in arguments.items():
        flat = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if name == "ranking_array" or not (flat or value is None or isinstance(value, str | int | float)):
            return None
        if name != "data_label":
            parts.append((name, value))
    return repr(parts)


def _transform_settings(kind: str, tool: Tool, arguments: Mapping[str, Json]) -> Mapping[str, Json]:
    if kind == "substring":
        given = arguments if "operation_type" in tool.fixed else arguments.get("operation_args") or {}
        indices = {name: given[name] for name in ("start_index", "end_index") if name in given}
        if "operation_type" in tool.fixed:
            return {name: int(index) for name, index in indices.items()}
        return indices
    if kind == "abs":
        return {}
    if "operation_type" in tool.fixed:
        return {"pattern": arguments["datetime_pattern"]}
    settings = arguments.get("operation_args")
    if settings is None:
        return {"pattern": "%Y"}
    if "pattern" not in settings:
        raise ToolError("datetime needs a pattern in operation_args: %Y, %m or %d")
    return {"pattern": settings["pattern"]}


def _has_bytes(cells: list[Any]) -> bool:
    return any(isinstance(cell, bytes) for cell in cells)


def _peek(handle: str, table: Table) -> tuple[str | None, tuple[str, ...]]:
    """The peek's text and the printed type names; None for text where a shown cell is binary."""
    firsts = table.firsts()
    dtypes = printed_types(table) if table.dtypes is None else table.dtypes
    details = [
        {"name": name, "dtype": dtype, "first_3_values": cells}
        for name, dtype, cells in zip(table.names, dtypes, firsts, strict=True)
    ]
    if any(map(_has_bytes, firsts)):
        return None, dtypes
    return json.dumps({"handle": handle, "num_records": table.count, "key_details": details}), dtypes


def _dumped(cells: list[Any]) -> str:
    if _has_bytes(cells):
        raise _Failure(
            "tool_failed",
            "Object of type bytes is not JSON serializable: the column holds binary data that cannot be shown as text.",
            is_error=True,
        )
    return json.dumps(cells)
