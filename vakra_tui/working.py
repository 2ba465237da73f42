"""Methods of screens that run as workers of the screen's event loop.

The library's own decorator describes each worker by the ``repr`` of its arguments. Those are rows, responses and whole
scenes here: megabytes of text, made on the event loop and read by nobody.

A worker waits for what is worked out elsewhere, and its screen may be on its way out when that comes: the widgets in it
go first, the worker is cancelled last. What it then does not find is no fault of the program.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar, overload

import textual
from textual.app import ScreenStackError
from textual.css.query import NoMatches
from textual.dom import DOMNode
from textual.worker import Worker

P = ParamSpec("P")
T = TypeVar("T")


@overload
def work(method: Callable[P, Coroutine[Any, Any, T]], /) -> Callable[P, Worker[T]]: ...


@overload
def work(
    *, group: str = "default", exclusive: bool = False
) -> Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Worker[T]]]: ...


def work(method: Any = None, /, *, group: str = "default", exclusive: bool = False) -> Any:
    """Have a coroutine method run as a worker when it is called.

    A new one of an ``exclusive`` ``group`` cancels those of the group that run. One that misses a widget or a screen
    because its own is leaving, or the program is ending, counts as cancelled.
    """

    def decorated(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Worker[T]]:
        @functools.wraps(method)
        async def until_gone(*arguments: P.args, **named: P.kwargs) -> T:
            try:
                return await method(*arguments, **named)
            except (NoMatches, ScreenStackError) as missing:
                node = arguments[0]
                if isinstance(node, DOMNode) and leaves(node):
                    raise asyncio.CancelledError from missing
                raise

        made: Callable[P, Worker[T]] = textual.work(group=group, exclusive=exclusive, description=method.__name__)(
            until_gone
        )
        return made

    return decorated if method is None else decorated(method)


def leaves(node: DOMNode) -> bool:
    """Whether a widget or screen is being taken away, or the program ends."""
    return node._pruning or node._closing or node._closed or not node.app.is_running
