"""Scoring in several processes, for batches that the CPU limits.

Each worker process builds its own scorer from a payload and answers requests over a pipe; it writes to no store and no
report. A worker whose parent is gone ends by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import signal
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

import msgspec

from eval.profile import Item, Unit
from eval.scored import Scored, decode, encode
from toolenv import errors

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

    from eval.engine import Scorer

Factory = Callable[[bytes], tuple["Scorer", Sequence[Sequence[Item]]]]
"""Builds a scorer and the items of every run from a payload; a function at the top of a module."""

ENDING_SECONDS = 1.0
"""How long a worker may take to end by itself before it is killed."""


class _Request(msgspec.Struct, array_like=True):
    number: int
    run: int
    positions: list[int]


class _Reply(msgspec.Struct, array_like=True):
    number: int
    lines: list[msgspec.Raw] = []
    error: str = ""
    message: str = ""


class WorkerFailure(errors.VakraError):
    """A worker process ended without an answer."""


class WorkerPool:
    """A ``Scorer`` that spreads units over ``count`` processes.

    Units of the same place go to the same worker, whatever their run, so that its ground truth is executed once.
    """

    def __init__(self, factory: Factory, payload: bytes, count: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: list[dict[int, asyncio.Future[_Reply]]] = [{} for _ in range(count)]
        self._number = 0
        self._closing = False
        self._pipes: list[Connection] = []
        self._processes: list[SpawnProcess] = []
        context = multiprocessing.get_context("spawn")
        for index in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, factory, payload), daemon=True)
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)
            threading.Thread(target=self._listen, args=(index,), daemon=True).start()

    async def score(self, run: int, unit: Unit) -> Sequence[Scored]:
        self._number += 1
        number = self._number
        positions = [item.position for item in unit.items]
        worker = positions[0] % len(self._pipes)
        future: asyncio.Future[_Reply] = self._loop.create_future()
        self._waiting[worker][number] = future
        try:
            self._pipes[worker].send_bytes(msgspec.json.encode(_Request(number, run, positions)))
            reply = await future
        except OSError as error:
            raise self._ended(worker) from error
        finally:
            self._waiting[worker].pop(number, None)
        if reply.error:
            raise getattr(errors, reply.error, errors.VakraError)(reply.message)
        return [decode(line) for line in reply.lines]

    def _listen(self, worker: int) -> None:
        decoder = msgspec.json.Decoder(_Reply)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            try:
                while True:
                    reply = decoder.decode(self._pipes[worker].recv_bytes())
                    self._loop.call_soon_threadsafe(self._answered, worker, reply)
            except (EOFError, OSError):
                if not self._closing:
                    self._loop.call_soon_threadsafe(self._lost, worker)

    def _answered(self, worker: int, reply: _Reply) -> None:
        future = self._waiting[worker].get(reply.number)
        if future is not None and not future.done():
            future.set_result(reply)

    def _lost(self, worker: int) -> None:
        for future in self._waiting[worker].values():
            if not future.done():
                future.set_exception(self._ended(worker))

    def _ended(self, worker: int) -> WorkerFailure:
        return WorkerFailure(
            f"worker process {worker + 1} ended unexpectedly (exit code {self._processes[worker].exitcode}); "
            "what is finished is kept, --resume goes on from it"
        )

    async def close(self) -> None:
        self._closing = True
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            await asyncio.to_thread(process.join, ENDING_SECONDS)
            if process.is_alive():
                process.kill()


def _serve(pipe: Connection, factory: Factory, payload: bytes) -> None:
    # An interrupt at the keyboard reaches every process of the terminal; the parent decides what becomes of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    scorer, runs = factory(payload)
    asyncio.run(_answer_all(pipe, scorer, runs))


async def _answer_all(pipe: Connection, scorer: Scorer, runs: Sequence[Sequence[Item]]) -> None:
    loop = asyncio.get_running_loop()
    requests: asyncio.Queue[_Request | None] = asyncio.Queue()
    threading.Thread(target=_receive, args=(pipe, loop, requests), daemon=True).start()
    tasks: set[asyncio.Task[None]] = set()
    failed: list[BaseException] = []

    def finished(task: asyncio.Task[None]) -> None:
        tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            failed.append(error)
            requests.put_nowait(None)

    while (request := await requests.get()) is not None:
        task = loop.create_task(_answer(pipe, scorer, runs, request))
        tasks.add(task)
        task.add_done_callback(finished)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await scorer.close()
    if failed:
        raise failed[0]


def _receive(pipe: Connection, loop: asyncio.AbstractEventLoop, requests: asyncio.Queue[_Request | None]) -> None:
    decoder = msgspec.json.Decoder(_Request)
    with contextlib.suppress(RuntimeError):  # the loop is closed: this process is ending
        try:
            while True:
                loop.call_soon_threadsafe(requests.put_nowait, decoder.decode(pipe.recv_bytes()))
        except (EOFError, OSError):
            loop.call_soon_threadsafe(requests.put_nowait, None)


async def _answer(pipe: Connection, scorer: Scorer, runs: Sequence[Sequence[Item]], request: _Request) -> None:
    items = runs[request.run]
    unit = Unit(items=tuple(items[position] for position in request.positions))
    try:
        lines = await scorer.score(request.run, unit)
        reply = _Reply(request.number, [msgspec.Raw(encode(line)) for line in lines])
    except errors.VakraError as error:
        reply = _Reply(request.number, error=type(error).__name__, message=str(error))
    with contextlib.suppress(OSError):  # the parent is gone: _receive ends this process
        pipe.send_bytes(msgspec.json.encode(reply))
