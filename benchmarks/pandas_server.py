"""The yardstick: the same tools the straightforward way, pandas data frames behind an MCP server on stdio.

    python benchmarks/pandas_server.py DATABASE UNIVERSES.json

Nothing in it is slowed down: a handle is a data frame, and a step does what the released semantics need and no more
(types inferred anew before a filter or a sort, None for a missing value in what retrieve_data hands out).
``UNIVERSES.json`` holds {id: {"sql": ..., "names": [...]}}.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

PREFIXES = {"filter_data": "filtered", "sort_data": "sorted", "retrieve_data": "retrieved", "get_data": "retrieved"}
AGGREGATES = {"min": np.nanmin, "max": np.nanmax, "sum": np.nansum, "mean": np.nanmean, "std": np.nanstd}
ORDERINGS = {"greater_than": "gt", "less_than": "lt", "greater_than_equal_to": "ge", "less_than_equal_to": "le"}


class PandasTools:
    """Tools of one database; handles are data frames."""

    def __init__(self, database: Path, universes: dict[str, dict[str, Any]]) -> None:
        self.connection = sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)
        self.universes = universes
        self.current = ""
        self.opened = pd.DataFrame()
        self.handles: dict[str, pd.DataFrame] = {}
        self.counters: Counter[str] = Counter()

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        if name == "get_data":
            return self.peek(name, self.get_data(arguments.get("tool_universe_id")))
        frame = self.handles[arguments["data_label"]]
        if name == "aggregate_data":
            return self.aggregate(frame, arguments)
        if name in ("filter_data", "sort_data"):
            frame = frame.infer_objects()
        if name == "filter_data":
            return self.peek(name, self.filter(frame, arguments))
        if name == "sort_data":
            ascending = arguments.get("ascending", False)
            return self.peek(name, frame.sort_values(by=arguments["key_name"], ascending=ascending, kind="stable"))
        keys = arguments["key_name"]
        chosen = frame[[keys] if isinstance(keys, str) else keys]
        limit = arguments.get("limit", -1)
        chosen = chosen if limit < 0 else chosen.head(limit)
        return self.peek(name, chosen.astype(object).where(chosen.notna(), None), python_types=True)

    def get_data(self, universe: str | None) -> pd.DataFrame:
        if universe is not None and universe != self.current:
            self.handles.clear()
            self.counters.clear()
            plan = self.universes[universe]
            self.opened = pd.read_sql_query(plan["sql"], self.connection)
            self.opened.columns = plan["names"]
            self.current = universe
        return self.opened

    def filter(self, frame: pd.DataFrame, arguments: dict[str, Any]) -> pd.DataFrame:
        column, value, condition = frame[arguments["key_name"]], arguments["value"], arguments["condition"]
        if condition == "equal_to":
            return frame[column == value]
        if condition == "not_equal_to":
            return frame[column != value]
        if condition == "contains":
            return frame[column.str.contains(value, case=False, na=False)]
        return frame[getattr(column, ORDERINGS[condition])(value)]

    def aggregate(self, frame: pd.DataFrame, arguments: dict[str, Any]) -> str:
        operation, key = arguments["aggregation_operation"], arguments.get("key_name")
        if operation == "count":
            return str(len(frame))
        return str(float(AGGREGATES[operation](frame[key].to_numpy())))

    def peek(self, name: str, frame: pd.DataFrame, *, python_types: bool = False) -> str:
        prefix = PREFIXES[name]
        self.counters[prefix] += 1
        first = str(frame.columns[0])
        suffix = first.split("_")[0] if "_" in first else "data"
        handle = f"{prefix}_{suffix}_{self.counters[prefix]}"
        self.handles[handle] = frame
        details = []
        for column in frame.columns:
            values = frame[column].iloc[:3].tolist()
            python_type = type(values[0]).__name__ if values else "unknown"
            dtype = python_type if python_types else str(frame[column].dtype)
            details.append({"name": column, "dtype": dtype, "first_3_values": values})
        return json.dumps({"handle": handle, "num_records": len(frame), "key_details": details})


async def serve(tools: PandasTools) -> None:
    import mcp_types as types
    from mcp.server import Server
    from mcp.server.stdio import stdio_server

    names = ("get_data", "filter_data", "sort_data", "retrieve_data", "aggregate_data")

    async def on_list(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name=name, input_schema={"type": "object"}) for name in names])

    async def on_call(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        text = tools.call(params.name, params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    server: Any = Server("pandas", version="1", on_list_tools=on_list, on_call_tool=on_call)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    plans = json.loads(Path(sys.argv[2]).read_text("utf-8"))
    asyncio.run(serve(PandasTools(Path(sys.argv[1]), plans)))
