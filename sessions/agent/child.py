"""A process of a command that decides: the line it is asked, the line it answers, its standard error and its end."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from toolenv.values import shortened

if TYPE_CHECKING:
    from toolenv.remote.log import ServerLog

LONGEST_REPLY = 8 * 1024 * 1024
"""Bytes of one answer."""

ENDING_SECONDS = 1.0
"""How long a process may take to end by itself once its input is closed."""

KILLED_SECONDS = 0.3
"""How long the end of a killed process is waited for."""

POLL_SECONDS = 0.02
CHUNK = 1 << 16
LAST_LINES = 3
LONGEST_LAST_WORDS = 300


class Child:
    """A running process. ``last_words`` tells what it printed on standard error, where that is kept."""

    def __init__(self, process: asyncio.subprocess.Process, log: ServerLog | None) -> None:
        self._process = process
        self._log = log
        self._draining = asyncio.ensure_future(_drained(process, log)) if log is not None else None

    @classmethod
    async def start(cls, words: Sequence[str], log: Path | None) -> Child:
        """Start a command. With a ``log`` its standard error goes there, and it has a terminal's session of its own, so
        that nothing of it reaches the screen; without one both are this program's. Raises ``OSError``, ``ValueError``.
        """
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=None if log is None else asyncio.subprocess.PIPE,
            start_new_session=log is not None,
            limit=LONGEST_REPLY,
        )
        if log is None:
            return cls(process, None)
        from toolenv.remote.log import ServerLog

        return cls(process, ServerLog(log))

    @property
    def runs(self) -> bool:
        return self._process.returncode is None

    @property
    def log_path(self) -> Path | None:
        """Where its standard error is kept."""
        return self._log.path if self._log is not None else None

    async def answered(self, line: bytes) -> bytes:
        """Its answer to a line; without a line's end where it ended before. Raises ``OSError``, ``ValueError``."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(line)
        await process.stdin.drain()
        return await process.stdout.readline()

    def last_words(self) -> str:
        """What it printed last, and where all of it is, as a sentence; "" where nothing was kept."""
        tail = self._log.tail() if self._log is not None else []
        if self._log is None or not tail:
            return ""
        said = shortened(" | ".join(tail[-LAST_LINES:]), LONGEST_LAST_WORDS)
        whole = f"all of it: {self._log.path}" if self._log.problem is None else self._log.problem
        return f" On standard error it said: {said} ({whole})"

    async def end(self) -> None:
        """Close its input; a process that does not end by itself is killed, with what it started where it has its own
        session. Waiting on the process itself would also wait for whatever else holds its output, so it is not done.
        """
        process = self._process
        if process.stdin is not None:
            process.stdin.close()
        try:
            await self._ended(ENDING_SECONDS)
        finally:
            self._kill()
            await self._left()

    async def _left(self) -> None:
        """Wait a moment until the event loop has heard of the end, which it could not once it is closed."""
        try:
            await self._ended(KILLED_SECONDS)
            if self._draining is not None:
                await asyncio.wait([self._draining], timeout=KILLED_SECONDS)
        finally:
            if self._draining is not None:
                self._draining.cancel()
            transport = getattr(self._process, "_transport", None)
            if transport is not None:
                transport.close()
            if self._log is not None:
                self._log.close()

    async def _ended(self, within_s: float) -> bool:
        loop = asyncio.get_running_loop()
        until = loop.time() + within_s
        while self.runs:
            if loop.time() >= until:
                return False
            await asyncio.sleep(POLL_SECONDS)
        return True

    def _kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if self._log is not None:
                os.killpg(self._process.pid, signal.SIGKILL)
            elif self.runs:
                self._process.kill()


async def _drained(process: asyncio.subprocess.Process, log: ServerLog) -> None:
    assert process.stderr is not None
    while chunk := await process.stderr.read(CHUNK):
        log.stderr(chunk)
