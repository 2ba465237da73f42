"""A store that was closed says so, whatever is asked of it."""

from __future__ import annotations

import asyncio

import pytest

from sessions.store import AsyncStore, Store
from toolenv.errors import StoreError


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
