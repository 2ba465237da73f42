"""Calling one tool in time, and what a call without an answer becomes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from contextlib import nullcontext

import msgspec

from toolenv.environment import TableView, ToolSession
from toolenv.errors import EnvironmentFailure, NotRecorded
from toolenv.model import ErrorKind, Json, ToolCall, ToolResult

SHOWN_ARGUMENTS = 300
"""How many characters of a call's arguments a sentence about it quotes."""


class CallTimedOut(EnvironmentFailure):
    """A tool did not answer within its deadline."""


def refused(call: ToolCall) -> ToolResult | None:
    """The result of a call that is never dispatched, because its arguments are not a JSON object; else None."""
    if call.raw_arguments is None:
        return None
    text = f"Input validation error: the arguments of {call.name} are not a JSON object"
    return ToolResult(text=text, is_error=True, failed=True, error_kind="refused_arguments")


async def call_in_time(
    session: ToolSession, name: str, arguments: Mapping[str, Json], *, deadline_s: float | None, where: str
) -> tuple[ToolResult, TableView | None]:
    """Call a tool and look at the table that it made.

    ``where`` begins the sentences about it ("Step 3"). Raises ``CallTimedOut`` after ``deadline_s`` seconds, and
    ``EnvironmentFailure`` for a time-out of the environment's own.
    """
    started = time.perf_counter()
    deadline = nullcontext(None) if deadline_s is None else asyncio.timeout(deadline_s)
    try:
        async with deadline as timer:
            result = await session.call(name, arguments)
            table = await session.table(result.handle) if result.handle is not None else None
    except TimeoutError as error:
        if timer is None or not timer.expired():
            raise EnvironmentFailure(f"{where}, {name}: the environment timed out ({error}).") from error
        elapsed = time.perf_counter() - started
        raise CallTimedOut(
            f"{where}, {name}({shown(arguments)}): no answer after {elapsed:.1f} s (the limit is {deadline_s:g} s)."
        ) from error
    if result.duration_s == 0.0:
        result = msgspec.structs.replace(result, duration_s=time.perf_counter() - started)
    return result, table


def shown(arguments: Mapping[str, Json]) -> str:
    """Arguments as a sentence quotes them: ``name=value``, values as JSON."""
    written = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False, default=str)}" for name, value in arguments.items()
    )
    return written if len(written) <= SHOWN_ARGUMENTS else written[:SHOWN_ARGUMENTS] + "..."


def no_answer(text: str, kind: ErrorKind, elapsed_s: float) -> ToolResult:
    """The result that a step carries when no answer came: a sentence of ours, nothing invented."""
    return ToolResult(text=text, is_error=True, failed=True, error_kind=kind, duration_s=elapsed_s)


def failure_kind(error: EnvironmentFailure) -> ErrorKind:
    if isinstance(error, CallTimedOut):
        return "timed_out"
    return "not_recorded" if isinstance(error, NotRecorded) else "environment"
