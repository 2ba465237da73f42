"""Ending a build at once: an interrupt that falls into a callback of SQLite is swallowed there, so it is kept too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event

_ASKED: ContextVar[Event | None] = ContextVar("stop asked", default=None)


@contextmanager
def stopping_on(asked: Event) -> Iterator[None]:
    """Let what is built inside end when ``asked`` is set."""
    token = _ASKED.set(asked)
    try:
        yield
    finally:
        _ASKED.reset(token)


def end_if_asked() -> None:
    """Raise ``KeyboardInterrupt`` when the build is to end."""
    asked = _ASKED.get()
    if asked is not None and asked.is_set():
        raise KeyboardInterrupt
