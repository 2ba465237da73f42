"""A store that was closed says so, whatever is asked of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from sessions.breakpoints import Breakpoint
from sessions.store import AsyncStore, Store
from toolenv.errors import StoreError

LONG = text("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000) SELECT sum(i) FROM n")


def address(kind: str, folder: Path) -> str:
    return "sqlite://" if kind == "memory" else f"sqlite:///{folder / 'sessions.sqlite'}"


async def test_what_is_asked_of_a_closed_store_is_refused_in_a_sentence() -> None:
    store = AsyncStore(Store.open("sqlite://"))
    assert await store.run(list) == []
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.run(list)
    await store.close()


async def test_nothing_gets_behind_the_closing() -> None:
    store = AsyncStore(Store.open("sqlite://"))
    closing = asyncio.ensure_future(store.close())
    await asyncio.sleep(0)
    with pytest.raises(StoreError, match="closed"):
        await store.run(list)
    await closing


@pytest.mark.parametrize("kind", ["memory", "file"])
@pytest.mark.parametrize("way", ["read", "write"])
def test_closing_waits_for_the_statement_that_runs(kind: str, way: str, tmp_path: Path) -> None:
    store = Store.open(address(kind, tmp_path))
    begun = threading.Event()

    def work(connection: Connection) -> int:
        begun.set()
        return int(connection.execute(LONG).scalar_one())

    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(getattr(store, way), work)
        assert begun.wait(60)
        store.close()
        assert running.done()
        assert running.result() == 400000 * 400001 // 2
    with pytest.raises(StoreError, match="closed"):
        store.runs()


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_closing_among_many_threads_ends_every_one_with_a_sentence(kind: str, tmp_path: Path) -> None:
    for number in range(8):
        folder = tmp_path / str(number)
        folder.mkdir()
        store = Store.open(address(kind, folder))
        busy = threading.Barrier(4)
        asked: list[Callable[[], object]] = [
            lambda store=store: store.put_breakpoints([Breakpoint(kind="slow", value="1")]),  # type: ignore[misc]
            store.breakpoints,
            store.sessions,
        ]

        def until_refused(ask: Callable[[], object], busy: threading.Barrier = busy) -> str:
            ask()
            busy.wait(60)
            while True:
                try:
                    ask()
                except StoreError as error:
                    return str(error)

        with ThreadPoolExecutor(3) as threads:
            ended = [threads.submit(until_refused, ask) for ask in asked]
            busy.wait(60)
            store.close()
            store.close()
            assert {each.result() for each in ended} == {"The session store is closed."}
