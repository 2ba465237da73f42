"""Workers of the screen are never described by the data that they work on."""

from __future__ import annotations

import ast
import asyncio
from pathlib import Path

import pytest
from screen_opening import opened
from screen_reading import until
from screen_toy import wiring
from textual.app import ComposeResult
from textual.widget import Widget
from textual.worker import WorkerCancelled, WorkerFailed, WorkerState

from sessions.store import Store
from vakra_tui.app import VakraApp
from vakra_tui.working import work

PACKAGE = Path(__file__).resolve().parents[2] / "vakra_tui"


class Untold:
    """A value that takes minutes to be written out."""

    def __repr__(self) -> str:
        raise AssertionError("nobody asked for this text")


class Worked(Widget):
    @work
    async def at_once(self, value: Untold) -> Untold:
        return value

    @work(group="values", exclusive=True)
    async def in_a_group(self, value: Untold) -> Untold:
        return value


async def test_a_worker_is_named_by_its_method_alone() -> None:
    async with opened(wiring(store=Store.open("sqlite://"))) as (app, _):
        widget = Worked()
        await app.screen.mount(widget)
        value = Untold()
        first, second = widget.at_once(value), widget.in_a_group(value)
        assert await first.wait() is value
        assert await second.wait() is value
        assert (first.description, first.group) == ("at_once", "default")
        assert (second.description, second.group) == ("in_a_group", "values")


class Holder(Widget):
    """Its worker asks for what is in it once it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = asyncio.Event()

    def compose(self) -> ComposeResult:
        yield Widget(id="inner")

    @work
    async def ask(self) -> None:
        await self.let.wait()
        self.query_one("#inner")


@pytest.mark.parametrize("way", ["removed", "program ends"])
async def test_a_worker_that_comes_back_to_what_is_leaving_is_cancelled(way: str) -> None:
    async with opened(wiring(store=Store.open("sqlite://"))) as (app, _):
        holder = Holder()
        await app.screen.mount(holder)
        worker = holder.ask()
        await asyncio.sleep(0)
        await holder.query_one("#inner").remove()
        leaving = holder.remove() if way == "removed" else None
        if leaving is None:
            app._running = False
        holder.let.set()
        with pytest.raises(WorkerCancelled):
            await worker.wait()
        app._running = True
        if leaving is not None:
            await leaving
    assert worker.state is WorkerState.CANCELLED


async def test_a_worker_that_misses_what_should_be_there_fails() -> None:
    app = VakraApp(wiring(store=Store.open("sqlite://")))  # type: ignore[arg-type]
    with pytest.raises(WorkerFailed, match="inner"):
        async with app.run_test() as pilot:
            await until(pilot, lambda: app.opened, "the list")
            holder = Holder()
            await app.screen.mount(holder)
            await holder.query_one("#inner").remove()
            holder.let.set()
            await holder.ask().wait()


def test_no_module_takes_the_decorator_of_the_library() -> None:
    taken = [
        path.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "textual"
        for name in node.names
        if name.name == "work"
    ]
    assert taken == []
