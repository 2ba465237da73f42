"""Runs work in a thread of its own while the main thread waits for signals.

A signal handler of Python runs between two instructions of the main thread; work that is inside one long call of a
library would keep it waiting. So the work is elsewhere, and an interrupt ends the program in time whatever it does.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

INTERRUPTED = 130

GRACE_SECONDS = 1.6
"""How long interrupted work may take to end by itself; the program promises to end within two seconds."""

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Stop:
    """Set once, from any thread; asyncio events that are attached become set in their own loops."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._set = False
        self._attached: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def is_set(self) -> bool:
        return self._set

    def event(self) -> asyncio.Event:
        """An event of the running loop that is set when this is."""
        event = asyncio.Event()
        with self._lock:
            self._attached.append((asyncio.get_running_loop(), event))
            if self._set:
                event.set()
        return event

    def set(self) -> None:
        with self._lock:
            self._set = True
            for loop, event in self._attached:
                with contextlib.suppress(RuntimeError):  # that loop is closed
                    loop.call_soon_threadsafe(event.set)


def supervised(work: Callable[[Stop], int], *, last: Callable[[], None] = lambda: None) -> int:
    """The exit code of ``work``, which runs in a thread and is told to stop on SIGINT, SIGTERM and SIGHUP.

    Work that does not end in time, or a second signal, ends the process with 130 after ``last`` (which must be quick
    and safe from another thread), whatever that raises. What ``work`` raises is raised here.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        return work(stop)
    outcome: list[int | BaseException] = []

    def run() -> None:
        try:
            outcome.append(work(stop))
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread as it is
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True, name="batch")
    signalled: list[float] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        signalled.append(time.monotonic())
        threading.Thread(target=stop.set, daemon=True).start()

    previous = {number: signal.signal(number, on_signal) for number in _SIGNALS}
    try:
        thread.start()
        while thread.is_alive():
            thread.join(0.05)
            late = bool(signalled) and time.monotonic() - signalled[0] > GRACE_SECONDS
            if thread.is_alive() and (late or len(signalled) > 1):
                try:
                    last()
                finally:
                    os._exit(INTERRUPTED)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    result = outcome[0]
    if isinstance(result, BaseException):
        raise result
    return result
