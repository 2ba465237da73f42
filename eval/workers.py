"""Scoring in several processes, for batches that the CPU limits.

Each worker process builds its own scorer from a payload and answers requests over a pipe. It writes to no store and no
report: rulings that a judge asked for are looked up and kept through the parent. A worker whose parent is gone ends by
itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import multiprocessing
import signal
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

import msgspec

from eval.collecting import rare_collections
from eval.judges.cache import MemoryRulingCache, RulingCache
from eval.profile import Item, Unit
from eval.scored import Scored, decode, encode
from sessions.store.records import PreparedSession
from toolenv import errors

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

    from eval.engine import Scorer

Factory = Callable[[bytes, RulingCache], tuple["Scorer", Sequence[Sequence[Item]]]]
"""Builds a scorer and the items of every run from a payload; a function at the top of a module."""

ENDING_SECONDS = 1.0
"""How long a worker may take to end by itself before it is killed."""


class _Message(msgspec.Struct, array_like=True, tag=True):
    """What goes over a pipe; ``number`` pairs a question with its answer."""

    number: int


class _Score(_Message):
    run: int
    positions: list[int]


class _Scores(_Message):
    lines: list[bytes]
    notes: list[str]
    executed: list[PreparedSession]


class _Failed(_Message):
    error: str
    message: str


class _Lookup(_Message):
    key: str


class _Found(_Message):
    payload: bytes | None


class _Keep(_Message):
    key: str
    payload: bytes


class _Kept(_Message):
    pass


_Any = _Score | _Scores | _Failed | _Lookup | _Found | _Keep | _Kept


class WorkerFailure(errors.VakraError):
    """A worker process ended without an answer."""


class _Line:
    """One end of a pipe: sends at once, receives in a thread, hands what came to the loop.

    ``on_message`` gets what answers no question of this end; ``on_end`` is called when the other end is gone.
    """

    def __init__(self, pipe: Connection, on_message: Callable[[Any], None], on_end: Callable[[], None]) -> None:
        self._pipe = pipe
        self._loop = asyncio.get_running_loop()
        self._on_message = on_message
        self._on_end = on_end
        self._numbers = itertools.count(1)
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._error: Exception | None = None
        threading.Thread(target=self._receive, daemon=True).start()

    def send(self, message: _Any) -> None:
        with contextlib.suppress(OSError):  # the other end is gone, which the receiving thread notices
            self._pipe.send_bytes(msgspec.msgpack.encode(message))

    async def ask(self, question: Callable[[int], _Any]) -> Any:
        if self._error is not None:
            raise self._error
        number = next(self._numbers)
        future = self._asked[number] = self._loop.create_future()
        try:
            self.send(question(number))
            return await future
        finally:
            del self._asked[number]

    def fail(self, error: Exception) -> None:
        """Let every question fail, those that are waiting and those that are still to come."""
        self._error = error
        for future in self._asked.values():
            if not future.done():
                future.set_exception(error)

    def close(self) -> None:
        self._pipe.close()

    def _receive(self) -> None:
        decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(_Any)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            try:
                while True:
                    self._loop.call_soon_threadsafe(self._came, decoder.decode(self._pipe.recv_bytes()))
            except (EOFError, OSError, TypeError):  # TypeError: closed under the reading thread
                self._loop.call_soon_threadsafe(self._on_end)

    def _came(self, message: Any) -> None:
        if isinstance(message, _Score | _Lookup | _Keep):
            self._on_message(message)
        elif (future := self._asked.get(message.number)) is not None and not future.done():
            future.set_result(message)


class WorkerPool:
    """A ``Scorer`` that spreads units over ``count`` processes.

    Units of the same place go to the same worker, whatever their run, so that its ground truth is executed once.
    ``cache`` keeps the rulings of all workers.
    """

    def __init__(self, factory: Factory, payload: bytes, count: int, cache: RulingCache | None = None) -> None:
        self._cache: RulingCache = cache if cache is not None else MemoryRulingCache()
        self._closing = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._lines: list[_Line] = []
        self._processes: list[SpawnProcess] = []
        self._notes: dict[str, None] = {}
        self._executed: dict[tuple[int, int], list[PreparedSession]] = {}
        context = multiprocessing.get_context("spawn")
        for index in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, factory, payload), daemon=True)
            process.start()
            theirs.close()
            self._processes.append(process)
            self._lines.append(
                _Line(ours, functools.partial(self._serve_cache, index), functools.partial(self._lost, index))
            )

    async def score(self, run: int, unit: Unit) -> Sequence[Scored]:
        positions = [item.position for item in unit.items]
        line = self._lines[positions[0] % len(self._lines)]
        reply = await line.ask(lambda number: _Score(number, run, positions))
        if isinstance(reply, _Failed):
            raise getattr(errors, reply.error, errors.VakraError)(reply.message)
        self._notes.update(dict.fromkeys(reply.notes))
        self._executed[run, positions[0]] = reply.executed
        return [decode(payload) for payload in reply.lines]

    def executed(self, run: int, unit: Unit) -> Sequence[PreparedSession]:
        return self._executed.pop((run, unit.items[0].position), ())

    def notes(self) -> tuple[str, ...]:
        return tuple(self._notes)

    def _serve_cache(self, worker: int, message: _Lookup | _Keep) -> None:
        task = asyncio.ensure_future(self._answer_cache(self._lines[worker], message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer_cache(self, line: _Line, message: _Lookup | _Keep) -> None:
        if isinstance(message, _Lookup):
            line.send(_Found(message.number, await self._cache.ruling(message.key)))
        else:
            await self._cache.put_ruling(message.key, message.payload)
            line.send(_Kept(message.number))

    def _lost(self, worker: int) -> None:
        if not self._closing:
            self._processes[worker].join(ENDING_SECONDS)
            code = self._processes[worker].exitcode
            error = WorkerFailure(f"worker process {worker + 1} ended unexpectedly (exit code {code}); use --resume")
            self._lines[worker].fail(error)

    async def close(self) -> None:
        self._closing = True
        for line in self._lines:
            line.close()
        for process in self._processes:
            await asyncio.to_thread(process.join, ENDING_SECONDS)
            if process.is_alive():
                process.kill()


class _ParentCache:
    """The ruling cache of a worker: the parent's."""

    def __init__(self) -> None:
        self.line: _Line | None = None

    async def ruling(self, key: str) -> bytes | None:
        assert self.line is not None
        found: _Found = await self.line.ask(lambda number: _Lookup(number, key))
        return found.payload

    async def put_ruling(self, key: str, payload: bytes) -> None:
        assert self.line is not None
        await self.line.ask(lambda number: _Keep(number, key, payload))


def _serve(pipe: Connection, factory: Factory, payload: bytes) -> None:
    # An interrupt at the keyboard reaches every process of the terminal; the parent decides what becomes of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(_answer_all(pipe, factory, payload))


async def _answer_all(pipe: Connection, factory: Factory, payload: bytes) -> None:
    cache = _ParentCache()
    scorer, runs = factory(payload, cache)
    requests: asyncio.Queue[_Score | None] = asyncio.Queue()
    line = cache.line = _Line(pipe, requests.put_nowait, lambda: requests.put_nowait(None))
    tasks: set[asyncio.Task[None]] = set()
    failed: list[BaseException] = []

    def finished(task: asyncio.Task[None]) -> None:
        tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            failed.append(error)
            requests.put_nowait(None)

    with rare_collections():
        while (request := await requests.get()) is not None:
            task = asyncio.create_task(_answer(line, scorer, runs, request))
            tasks.add(task)
            task.add_done_callback(finished)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await scorer.close()
    if failed:
        raise failed[0]


async def _answer(line: _Line, scorer: Scorer, runs: Sequence[Sequence[Item]], request: _Score) -> None:
    items = runs[request.run]
    unit = Unit(items=tuple(items[position] for position in request.positions))
    try:
        lines = await scorer.score(request.run, unit)
    except errors.VakraError as error:
        line.send(_Failed(request.number, type(error).__name__, str(error)))
    else:
        executed = list(scorer.executed(request.run, unit))
        line.send(_Scores(request.number, [encode(scored) for scored in lines], list(scorer.notes()), executed))
