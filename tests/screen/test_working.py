"""Workers of the screen are never described by the data that they work on."""

from __future__ import annotations

import ast
from pathlib import Path

from screen_opening import opened
from screen_toy import wiring
from textual.widget import Widget

from sessions.store import Store
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
