"""Work shared by several tasks until it is done or somebody stops it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

GRACE_SECONDS = 0.8
"""How long what is under way may still take when the work is stopped: its answers are paid for already."""


async def worked(
    workers: Iterable[Coroutine[Any, Any, None]], stop: asyncio.Event, stopping: Callable[[], None]
) -> bool:
    """Run the workers side by side; True when all of them ended, False when ``stop`` was set before.

    Once ``stop`` is set ``stopping`` is called, so that nothing new is begun, and what is still under way after
    ``GRACE_SECONDS`` is cancelled. The first error of a worker is raised; no task is left behind in any case.
    """
    tasks = [asyncio.create_task(worker) for worker in workers]
    stopped = asyncio.create_task(stop.wait())
    try:
        waiting = set(tasks)
        while waiting and not stopped.done():
            finished, _ = await asyncio.wait({*waiting, stopped}, return_when=asyncio.FIRST_COMPLETED)
            for worker in [task for task in tasks if task in finished]:
                waiting.discard(worker)
                worker.result()
        if waiting:
            stopping()
            await asyncio.wait(waiting, timeout=GRACE_SECONDS)
        return not waiting
    finally:
        for task in (*tasks, stopped):
            task.cancel()
        await asyncio.gather(*tasks, stopped, return_exceptions=True)
