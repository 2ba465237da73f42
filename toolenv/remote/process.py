"""The stdio transport: a server process, its stdout read line by line without a limit, its stderr drained into a log.

The protocol library's own transport passes stderr to the terminal, logs a traceback for each line that is no message,
and refuses a message that holds half a surrogate pair; this one does none of that.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from toolenv.errors import EnvironmentFailure
from toolenv.remote.log import ServerLog
from toolenv.remote.tap import Wire

LINE_LIMIT: Final = 512 * 1024 * 1024
_CHUNK: Final = 1 << 16
_END_S: Final = 0.7
"""Seconds that a server has to end by itself once its stdin is closed, and again once it is asked to."""
_POLL_S: Final = 0.05


class Process:
    """A running server. ``ended`` tells how it ended, once it has."""

    def __init__(self, process: asyncio.subprocess.Process, log: ServerLog) -> None:
        self._process = process
        self.log = log

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    async def ended(self, within_s: float) -> bool:
        """Whether the process has ended, waiting for it at most so long. (Waiting on the process itself would also wait
        for a grandchild that holds its pipes.)"""
        ends_at = asyncio.get_running_loop().time() + within_s
        while self._process.returncode is None:
            if asyncio.get_running_loop().time() >= ends_at:
                return False
            await asyncio.sleep(_POLL_S)
        return True

    def how(self) -> str:
        """How the process ended, with the last lines of its stderr."""
        code = self._process.returncode
        if code is None:
            text = "closed its output"
        elif code < 0:
            text = f"was ended by signal {-code}"
        else:
            text = f"exited (code {code})"
        tail = [line for line in self.log.tail() if line.strip()]
        return f"{text}: {' | '.join(tail[-4:])}" if tail else text


@asynccontextmanager
async def server_process(
    command: Sequence[str], env: Mapping[str, str], cwd: str | None, log: ServerLog, wire: Wire
) -> AsyncIterator[tuple[Any, Any, Process]]:
    """(read stream, write stream, process) of a server that is started now and gone afterwards, with its children.

    ``wire`` is told of every message. Raises ``EnvironmentFailure`` where it cannot be started.
    """
    try:
        child = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise EnvironmentFailure(f"{command[0]} cannot be started: {reason}.") from error
    process = Process(child, log)
    wire.log = log
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.ensure_future(_read(child, incoming, log, wire)),
        asyncio.ensure_future(_write(child, outgoing, incoming, wire)),
        asyncio.ensure_future(_drain(child, log)),
        asyncio.ensure_future(_watch(process, incoming)),
    ]
    try:
        yield read, write, process
    finally:
        await asyncio.shield(asyncio.ensure_future(_end(child, process, tasks)))
        for stream in (incoming, read, write, outgoing):
            stream.close()
        log.close()


async def _read(child: asyncio.subprocess.Process, incoming: Any, log: ServerLog, wire: Wire) -> None:
    assert child.stdout is not None
    parts: list[bytes] = []
    held = 0
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async with incoming:
            while chunk := await child.stdout.read(_CHUNK):
                *lines, rest = chunk.split(b"\n")
                for line in lines:
                    message = _message(b"".join((*parts, line)), log, wire)
                    parts, held = [], 0
                    if message is not None:
                        await incoming.send(message)
                parts.append(rest)
                held += len(rest)
                if held > LINE_LIMIT:
                    log.stray_line(b"a line without end")
                    return


def _message(line: bytes, log: ServerLog, wire: Wire) -> SessionMessage | None:
    """The message of a line; None for a line that is none, which is counted and logged."""
    if not line.strip():
        return None
    try:
        decoded = json.loads(line)
        message = SessionMessage(jsonrpc_message_adapter.validate_python(decoded, by_name=False))
    except (ValueError, ValidationError, RecursionError):
        log.stray_line(line)
        return None
    wire.received(decoded, line)
    return message


async def _write(child: asyncio.subprocess.Process, outgoing: Any, incoming: Any, wire: Wire) -> None:
    assert child.stdin is not None
    try:
        async with outgoing:
            async for item in outgoing:
                message = item.message.model_dump(by_alias=True, exclude_unset=True)
                text = json.dumps(message)
                wire.sent(message, text)
                child.stdin.write(text.encode("ascii") + b"\n")
                await child.stdin.drain()
    except OSError:
        incoming.close()
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return


async def _drain(child: asyncio.subprocess.Process, log: ServerLog) -> None:
    assert child.stderr is not None
    while chunk := await child.stderr.read(_CHUNK):
        log.stderr(chunk)


async def _watch(process: Process, incoming: Any) -> None:
    """End the reading when the process is gone although something else holds its stdout open."""
    while not await process.ended(3600):
        pass
    await asyncio.sleep(_END_S)
    incoming.close()


async def _end(child: asyncio.subprocess.Process, process: Process, tasks: Sequence[asyncio.Future[None]]) -> None:
    if child.stdin is not None:
        child.stdin.close()
    if not await process.ended(_END_S):
        _signal(child.pid, signal.SIGTERM)
        if not await process.ended(_END_S):
            _signal(child.pid, signal.SIGKILL)
            await process.ended(_END_S)
    # What it started and left behind belongs to its process group.
    _signal(child.pid, signal.SIGKILL)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    transport = getattr(child, "_transport", None)
    if transport is not None:
        transport.close()


def _signal(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
