"""Random tables and chains of calls, answered natively and by pandas the way the release goes about it.

The reference turns a handle's lists into a data frame and back at every step, as contract sections 1.2 to 1.7 describe.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import sqlite3
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings

from toolenv.model import Instance, Turn, Universe, UniverseTable
from toolenv.native import NativeEnvironment, columns, filters, sorting, vectors

Lists = dict[str, list[Any]]

TEXTS = ["", "a", "A", "b", "ab", "a.b", "a_b", "a%b", "é", "É", "10", "2", "007", "nan", "None", "x\ny", "😀", " a "]
DATES = ["2001-02-03", "1999-12-31 23:59:59", "20010203", "2001-02-03T04:05:06Z", "2001", "3/4/2001", None]
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "integers": st.integers(-5, 5),
    "big": st.sampled_from([2**53, 2**53 + 1, -(2**63), 2**63 - 1, 0, 7]),
    "maybe integers": st.none() | st.integers(-3, 3),
    "floats": st.sampled_from([0.0, -0.0, 0.1, 0.2, 0.3, 1e16, 1e308, -2.5, 4.0, 1 / 3, math.inf, -math.inf]),
    "maybe floats": st.none() | st.floats(-1e6, 1e6),
    "numbers": st.none() | st.integers(-2, 2) | st.sampled_from([0.5, 1.0]),
    "texts": st.sampled_from(TEXTS),
    "maybe texts": st.none() | st.sampled_from(TEXTS),
    "dates": st.sampled_from(DATES),
    "nulls": st.none(),
    "mixed": st.none() | st.integers(-2, 2) | st.sampled_from([0.5, *TEXTS]),
}


class Reference:
    """The released tools on lists and data frames; a call gives its text, or None where it fails."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.opened: tuple[Lists, dict[str, str]] = lists_of(frame)
        self.handles: dict[str, Lists] = {}
        self.counters: Counter[str] = Counter()

    def call(self, name: str, arguments: Mapping[str, Any]) -> str | None:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                if name == "get_data":
                    return self.keep("retrieved", *self.opened)
                return self.run(name, arguments)
            except (
                TypeError,
                ValueError,
                IndexError,
                KeyError,
                AssertionError,
                AttributeError,
                OverflowError,
                re.error,
            ):
                return None

    def run(self, name: str, arguments: Mapping[str, Any]) -> str:
        if name == "concatenate_data":
            first, second = self.handles[arguments["data_label_1"]], self.handles[arguments["data_label_2"]]
            assert set(first) == set(second)
            frames = [pd.DataFrame(first), pd.DataFrame(second)]
            return self.keep("concatenated", *lists_of(pd.concat(frames, axis=0, ignore_index=True)))
        data = dict(self.handles[arguments["data_label"]])
        key = arguments.get("key_name")
        for wanted in [key] if isinstance(key, str) else key or []:
            assert wanted in data
        if name == "aggregate_data":
            return str(aggregate(data, arguments))
        if name == "retrieve_data":
            return self.keep("retrieved", retrieve(data, arguments), None)
        if name == "transform_data":
            return self.keep("transformed", transform(data, arguments), None)
        if name == "filter_data":
            return self.keep("filtered", *lists_of(filtered(data, arguments)))
        return self.keep("sorted", *lists_of(in_order(data, arguments)))

    def keep(self, prefix: str, data: Lists, dtypes: Mapping[str, str] | None) -> str:
        self.counters[prefix] += 1
        first = next(iter(data), "")
        suffix = first.split("_")[0] if "_" in first else "data"
        handle = f"{prefix}_{suffix}_{self.counters[prefix]}"
        self.handles[handle] = data
        details = []
        for column, cells in data.items():
            dtype = dtypes[column] if dtypes is not None else type(cells[0]).__name__ if cells else "unknown"
            details.append({"name": column, "dtype": dtype, "first_3_values": cells[:3]})
        return json.dumps({"handle": handle, "num_records": len(data.get(first, ())), "key_details": details})


def lists_of(frame: pd.DataFrame) -> tuple[Lists, dict[str, str]]:
    dtypes = {str(column): str(dtype) for column, dtype in frame.dtypes.items()}
    return {str(column): cells for column, cells in frame.to_dict(orient="list").items()}, dtypes


def retrieve(data: Lists, arguments: Mapping[str, Any]) -> Lists:
    key, limit = arguments["key_name"], arguments.get("limit", -1)
    if isinstance(key, str):
        if arguments.get("distinct"):
            data = {key: list(dict.fromkeys(data[key]))}
        key = [key]
    chosen = {name: data[name][:limit] if limit >= 0 else data[name] for name in key}
    return {
        name: [None if isinstance(c, float) and math.isnan(c) else c for c in cells] for name, cells in chosen.items()
    }


def aggregate(data: Lists, arguments: Mapping[str, Any]) -> float | int:
    operation, limit = arguments["aggregation_operation"], arguments.get("limit", -1)
    if "key_name" in arguments:
        cells = data[arguments["key_name"]]
        assert cells
    else:
        assert operation == "count"
        assert data
        cells = next(iter(data.values()))
    if arguments.get("distinct"):
        cells = list(dict.fromkeys(cells))
    if limit >= 0:
        cells = cells[:limit]
    whole: dict[str, Callable[[list[Any]], int]] = {
        "count": len,
        "argmin": lambda values: values.index(min(values)),
        "argmax": lambda values: values.index(max(values)),
    }
    if operation in whole:
        return whole[operation](cells)
    return float(getattr(np, f"nan{operation}")(cells))


def transform(data: Lists, arguments: Mapping[str, Any]) -> Lists:
    key, operation, settings = arguments["key_name"], arguments["operation_type"], arguments.get("operation_args")
    if operation == "abs":
        data[key] = [abs(cell) for cell in data[key]]
    elif operation == "substring":
        given = settings or {}
        data[key] = [cell[given.get("start_index", 0) : given.get("end_index", -1)] for cell in data[key]]
    else:
        pattern = "%Y" if settings is None else settings["pattern"]
        data[key] = [date_part(cell, pattern) for cell in data[key]]
    return data


def date_part(cell: Any, pattern: str) -> Any:
    try:
        moment = datetime.fromisoformat(cell)
    except (TypeError, ValueError):
        return cell
    return {"%Y": moment.year, "%m": moment.month, "%d": moment.day}.get(pattern)


def filtered(data: Lists, arguments: Mapping[str, Any]) -> pd.DataFrame:
    key, value, condition = arguments["key_name"], arguments["value"], arguments["condition"]
    if type(data[key][0]) is str and type(value) is int:
        value = str(value)
    frame = pd.DataFrame(data)
    column = frame[key]
    if isinstance(value, str) and column.dtype == float:
        value = float(value)
    elif isinstance(value, str | float) and column.dtype == int:
        value = int(value)
    if condition == "contains":
        return frame[column.str.contains(value, case=False, na=False)]
    if condition == "like":
        escaped = re.escape(value.replace("%", ".*").replace("_", "."))
        pattern = re.compile("^" + escaped.replace(r"\.\*", ".*").replace(r"\.", ".") + "$")
        blank = column.map(lambda cell: isinstance(cell, float) and math.isnan(cell))
        return frame[[not empty and bool(pattern.match(cell)) for empty, cell in zip(blank, column, strict=True)]]
    if value is None and condition in ("equal_to", "not_equal_to"):
        return frame[column.isna() if condition == "equal_to" else column.notna()]
    name = {"equal_to": "eq", "not_equal_to": "ne", "greater_than": "gt", "less_than": "lt"}.get(
        condition, condition[0]
    )
    name = {"g": "ge", "l": "le"}.get(name, name)
    mask = getattr(column, name)(value)
    return frame[mask if name in ("eq", "ne") else column.notna() & mask]


def in_order(data: Lists, arguments: Mapping[str, Any]) -> pd.DataFrame:
    assert data[arguments["key_name"]]
    ascending = arguments.get("ascending", False)
    return pd.DataFrame(data).sort_values(by=arguments["key_name"], ascending=ascending, kind="stable")


class Folder:
    """The parts of a dataset that a native environment needs, for one table ``t``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        table = UniverseTable(alias="", original_name="t", modified_name="t")
        self.opened = Universe(id="u", domain="d", style="slot", tables=(table,), conditions=())

    def database(self, domain: str) -> Path:
        return self.path

    def universe(self, uuid: str) -> Universe | None:
        return self.opened if uuid == "u" else None

    def universes(self, domain: str) -> Mapping[str, Universe]:
        return {"u": self.opened}

    def has_universes(self, domain: str) -> bool:
        return True


COLUMNS = ["k_1", "name", "c"]


@st.composite
def tables(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    kinds = [draw(st.sampled_from(sorted(CELLS))) for _ in COLUMNS]
    return draw(
        st.lists(st.tuples(*(CELLS[kind] for kind in kinds)), min_size=draw(st.sampled_from([0, 3, 6])), max_size=9)
    )


values = st.sampled_from(
    [*TEXTS, None, 0, 1, -2, 2**53, 2**53 + 1, 0.5, 4.7, 1.0, 1e30, "1.5", "%", "a%", "_", "%b", ".", "a."]
)
conditions = st.sampled_from(
    [
        "equal_to",
        "not_equal_to",
        "greater_than",
        "less_than",
        "greater_than_equal_to",
        "less_than_equal_to",
        "contains",
        "like",
    ]
)
aggregates = st.sampled_from(["min", "max", "sum", "mean", "count", "std", "argmin", "argmax"])
limits = st.sampled_from([-1, 0, 1, 2, 5])


Case = tuple[list[tuple[Any, ...]], list[tuple[str, dict[str, Any]]]]
"""Rows of a table, and calls."""


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A table and calls whose handles are numbers: how far back among the handles made so far to reach."""
    rows = draw(tables())
    chain = []
    for _ in range(draw(st.integers(1, 8))):
        key = draw(st.sampled_from(COLUMNS))
        label = draw(st.integers(0, 2))
        name = draw(st.sampled_from(["filter", "filter", "sort", "aggregate", "retrieve", "transform", "concatenate"]))
        arguments: dict[str, Any] = {"data_label": label, "key_name": key}
        if name == "filter":
            own = [row[COLUMNS.index(key)] for row in rows]
            value = draw(st.sampled_from(own)) if own and draw(st.integers(0, 3)) else draw(values)
            arguments |= {"value": value, "condition": draw(conditions)}
        elif name == "sort":
            arguments |= {"ascending": draw(st.booleans())}
        elif name == "aggregate":
            arguments |= {
                "aggregation_operation": draw(aggregates),
                "distinct": draw(st.booleans()),
                "limit": draw(limits),
            }
            if draw(st.integers(0, 5)) == 0:
                del arguments["key_name"]
        elif name == "retrieve":
            if draw(st.booleans()):
                arguments["key_name"] = draw(st.lists(st.sampled_from(COLUMNS), max_size=3, unique=True))
            arguments |= {"distinct": draw(st.booleans()), "limit": draw(limits)}
        elif name == "transform":
            settings_of = {
                "abs": [None],
                "substring": [None, {}, {"start_index": 1}, {"start_index": -2, "end_index": None}],
                "datetime": [None, {}, {"pattern": "%Y"}, {"pattern": "%m"}, {"pattern": "%d"}, {"pattern": "%H"}],
            }
            kind = draw(st.sampled_from(sorted(settings_of)))
            arguments |= {"operation_type": kind, "operation_args": draw(st.sampled_from(settings_of[kind]))}
        else:
            arguments = {"data_label_1": label, "data_label_2": draw(st.integers(0, 2))}
        chain.append((f"{name}_data", arguments))
    return rows, chain


async def compare(path: Path, chain: list[tuple[str, dict[str, Any]]]) -> None:
    with closing(sqlite3.connect(path)) as connection:
        reference = Reference(pd.read_sql_query("SELECT * FROM t", connection))
    environment = NativeEnvironment(Folder(path))  # type: ignore[arg-type]
    instance = Instance(uuid="u", capability=1, domain="d", turns=(Turn(turn_id=0, query=""),), universe_id="u")
    session = await environment.open(instance)
    handles: list[str] = []
    for name, arguments in [("get_data", {}), *chain]:
        given = {
            key: handles[-1 - value % len(handles)] if key.startswith("data_label") else value
            for key, value in arguments.items()
        }
        expected = reference.call(name, given)
        result = await session.call(name, given)
        if expected is None:
            assert result.failed, (name, given, result.text)
            assert result.error_kind == "tool_failed"
        else:
            assert result.text == expected, (name, given)
            assert not result.failed
            if result.handle is not None:
                handles.append(result.handle)
    await session.close()


def check(case: Case) -> None:
    rows, chain = case
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.sqlite"
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE t (k_1, name, c)")
            connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
            connection.commit()
        asyncio.run(compare(path, chain))


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases())
def test_random_chains_give_the_texts_of_pandas(case: Case) -> None:
    check(case)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases())
def test_so_they_do_by_the_ways_of_large_tables(case: Case) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module in (columns, filters, sorting, vectors):
            patch.setattr(module, "LARGE", 1)
        check(case)
