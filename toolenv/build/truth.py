"""Ground truth by execution: a chain or a hop is run natively and its answer compared with that of the gold SQL."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from toolenv.build.chains import Chain, Ref
from toolenv.build.source import NotBuildable
from toolenv.environment import ToolSession
from toolenv.model import Json, ToolCall, ToolResult, Value
from toolenv.values import ValueIndex, atoms, decode, equal, key

Rows = Sequence[tuple[Json, ...]]

GOLD_BUT_HIDDEN = "the chain gives the gold answer, but its tools show three rows only"
"""How the reason of ``refuse_hidden`` begins."""

MOST_ROWS = 100_000
"""Rows that an answer may have."""


class Executed(Value, frozen=True):
    """Calls as they were made and the text that each gave."""

    calls: tuple[ToolCall, ...]
    responses: tuple[str, ...]


def gold_rows(connection: sqlite3.Connection, sql: str, most: int = MOST_ROWS) -> Rows:
    """The rows of a gold SQL. Raises ``NotBuildable`` when it fails, answers nothing, or has more rows than
    ``most``.
    """
    try:
        rows = connection.execute(sql).fetchmany(most + 1)
    except sqlite3.OperationalError as error:
        reason = "takes too long" if str(error) == "interrupted" else f"fails: {error}"
        raise NotBuildable(f"the gold SQL {reason}") from error
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise NotBuildable(f"the gold SQL fails: {error}") from error
    if any(isinstance(value, bytes) for row in rows for value in row):
        raise NotBuildable("the gold SQL answers binary data")
    if len(rows) > most:
        raise NotBuildable(f"the gold SQL answers more than {most} rows")
    if not rows or all(value is None for row in rows for value in row):
        raise NotBuildable("the gold SQL answers nothing")
    return rows


def answer_of(rows: Rows) -> Json:
    """Rows as the dataset writes an answer: a list of values, of lists where there are several columns."""
    return [row[0] for row in rows] if len(rows[0]) == 1 else [list(row) for row in rows]


def same_rows(left: Rows, right: Rows) -> bool:
    """Whether two results hold the same rows, in whatever order (value equality of ``toolenv.values``)."""
    if len(left) != len(right):
        return False
    ordered = zip(sorted(left, key=_sort_key), sorted(right, key=_sort_key), strict=True)
    return all(len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True)) for a, b in ordered)


async def run_chain(session: ToolSession, chain: Chain, gold: Rows) -> Executed:
    """Open the chain's universe, run its steps, and check the last response against the gold rows.

    Raises ``NotBuildable`` when a call fails or the answer is another one.
    """
    calls: list[ToolCall] = []
    results: list[ToolResult] = []

    async def make(name: str, arguments: Mapping[str, Json]) -> ToolResult:
        result = await session.call(name, arguments)
        if result.failed:
            raise NotBuildable(f"call {len(calls) + 1} ({name}) fails: {result.text[:200]}")
        calls.append(ToolCall(name=name, arguments=arguments))
        results.append(result)
        return result

    await make("get_data", {"tool_universe_id": chain.universe.id})
    for step in chain.steps:
        await make(step.name, {name: _resolved(value, results) for name, value in step.arguments.items()})
    found = await _rows_given(session, results[-chain.columns :])
    if not same_rows(found, gold):
        raise NotBuildable(f"the chain's answer {_short(found)} is not the gold SQL's {_short(gold)}")
    return Executed(calls=tuple(calls), responses=tuple(r.text for r in results))


def refuse_hidden(executed: Executed, gold: Rows) -> None:
    """Raise ``NotBuildable`` when the responses do not show every value of the answer: a peek shows three rows only.

    The opening's response gives no facts (waterfall contract, "Opening").
    """
    shown = {key(atom) for text in executed.responses[1:] for atom in atoms(decode(text))}
    index = ValueIndex(shown)
    hidden = sum(not index.has(value) for row in gold for value in row)
    if hidden:
        raise NotBuildable(
            f"{GOLD_BUT_HIDDEN}: {hidden} of the answer's {len(gold) * len(gold[0])} values are not shown"
        )


async def run_endpoint(session: ToolSession, name: str, arguments: Mapping[str, Json], gold: Rows) -> str:
    """Call one endpoint and check its answer against the gold rows; the response text. Raises ``NotBuildable``."""
    result = await session.call(name, arguments)
    if result.failed:
        raise NotBuildable(f"endpoint {name} fails: {result.text[:200]}")
    if not same_rows(envelope_rows(json.loads(result.text)), gold):
        raise NotBuildable(f"endpoint {name} answers {result.text[:200]}, the gold SQL {_short(gold)}")
    return result.text


async def run_retriever(session: ToolSession, arguments: Mapping[str, Json], tool: str, doc_id: str) -> Json:
    """Ask the retriever and check that the passage is among the results; the passages, as a dataset stores them.

    Raises ``NotBuildable`` when the call fails or the passage is not found.
    """
    result = await session.call(tool, arguments)
    if result.failed:
        raise NotBuildable(f"{tool} fails: {result.text[:200]}")
    passages = [{"doc_id": found["id"], "text": found["text"]} for found in json.loads(result.text)["results"]]
    if doc_id not in [p["doc_id"] for p in passages]:
        raise NotBuildable(f"{tool} does not find passage {doc_id} for {arguments['question']!r}")
    return passages


def envelope_rows(body: Json) -> Rows:
    """The rows inside an endpoint's envelope."""
    content: Any = next(iter(body.values()))
    if not isinstance(content, list):
        return [(content,)]
    return [_row(item) for item in content]


def _row(item: Any) -> tuple[Json, ...]:
    if isinstance(item, dict):
        return tuple(item.values())
    return tuple(item) if isinstance(item, list) else (item,)


def _resolved(value: Any, results: Sequence[ToolResult]) -> Json:
    if not isinstance(value, Ref):
        return value
    result = results[value.step + 1]
    if value.what == "handle":
        if result.handle is None:
            raise NotBuildable(f"step {value.step + 1} gives no handle")
        return result.handle
    return json.loads(result.text)


async def _rows_given(session: ToolSession, last: Sequence[ToolResult]) -> Rows:
    handle = last[-1].handle
    if handle is not None:
        table = await session.table(handle)
        if table is None:
            raise NotBuildable("the last table cannot be shown")
        return table.rows(0, table.num_records)
    if len(last) == 1 and _is_peek(last[0].text):
        raise NotBuildable("the last response is a table without a handle")
    columns = [json.loads(result.text) for result in last]
    if not isinstance(columns[0], list):
        return [(columns[0],)]
    return list(zip(*columns, strict=True))


def _is_peek(text: str) -> bool:
    return text.startswith("{")


def _sort_key(row: tuple[Json, ...]) -> str:
    return repr([key(_rounded(value)) for value in row])


def _rounded(value: Json) -> Json:
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _short(rows: Rows) -> str:
    return repr([list(row) for row in rows[:5]])[:200]
