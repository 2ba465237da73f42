"""Methods of screens that run as workers of the screen's event loop.

The library's own decorator describes each worker by the ``repr`` of its arguments. Those are rows, responses and whole
scenes here: megabytes of text, made on the event loop and read by nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar, overload

import textual
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

    A new one of an ``exclusive`` ``group`` cancels those of the group that run.
    """

    def decorated(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Worker[T]]:
        made: Callable[P, Worker[T]] = textual.work(group=group, exclusive=exclusive, description=method.__name__)(
            method
        )
        return made

    return decorated if method is None else decorated(method)
