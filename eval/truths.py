"""Ground truths, each executed once for a dataset and an environment and kept while it is likely to be used."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sessions.dataflow import GroundTruthAnalysis
from sessions.trajectory import ExecutedTrajectory
from toolenv.model import ToolSpec

KEPT = 128
"""Ground truths kept; runs are scored side by side, so a small window is enough and memory stays flat."""


@dataclass(frozen=True)
class Truth:
    """An executed ground truth and its analysis, both independent of any run.

    ``tools`` are those that its session offers at the end, for capability 1 the tools of the instance's universe.
    """

    executed: ExecutedTrajectory
    analysis: GroundTruthAnalysis
    tools: tuple[ToolSpec, ...]


class GroundTruths:
    """A bounded map from an instance to its executed ground truth.

    Callers that ask for the same instance at the same time wait for one execution; it ends where all of them were
    cancelled. A failed execution is not kept.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._known: OrderedDict[str, asyncio.Task[Truth]] = OrderedDict()
        self._waiting: Counter[asyncio.Task[Truth]] = Counter()
        self.executions = 0

    async def get(self, key: str, execute: Callable[[], Awaitable[Truth]]) -> Truth:
        """The ground truth of ``key``, by ``execute`` where it is not known. Raises what ``execute`` raises."""
        task = self._known.get(key)
        if task is None:
            self.executions += 1
            task = asyncio.ensure_future(_awaited(execute))
            self._known[key] = task
            task.add_done_callback(lambda done: self._forget_failed(key, done))
            self._shrink()
        else:
            self._known.move_to_end(key)
        self._waiting[task] += 1
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if self._waiting[task] == 1 and not task.done():
                task.cancel()
                if self._known.get(key) is task:
                    del self._known[key]
            raise
        finally:
            self._waiting[task] -= 1
            if not self._waiting[task]:
                del self._waiting[task]

    def _forget_failed(self, key: str, task: asyncio.Task[Truth]) -> None:
        if (task.cancelled() or task.exception() is not None) and self._known.get(key) is task:
            del self._known[key]

    def _shrink(self) -> None:
        while len(self._known) > self._kept:
            oldest = next((key for key, task in self._known.items() if task.done()), None)
            if oldest is None:
                return
            del self._known[oldest]

    async def close(self) -> None:
        """Cancel what is still being executed."""
        pending = [task for task in self._known.values() if not task.done()]
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        self._known.clear()


async def _awaited(execute: Callable[[], Awaitable[Truth]]) -> Truth:
    return await execute()
