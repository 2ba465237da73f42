"""Watches the thread of the screen's event loop: what it must not call, and how long each callback takes.

Blocking calls are caught as such, whatever they take, so that a busy machine neither hides nor invents one. Of each
callback the processor time of the thread is kept beside the time on the clock: the first says how much it works, the
second what a person feels, on a machine that does nothing else.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import os
import subprocess
import sys
import threading
import time
from asyncio.events import Handle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from traceback import walk_stack
from typing import Any

import pytest

AUDITED = frozenset(
    {
        "open",
        "os.chmod",
        "os.listdir",
        "os.mkdir",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.scandir",
        "os.system",
        "os.truncate",
        "os.utime",
        "shutil.copyfile",
        "shutil.rmtree",
        "socket.bind",
        "socket.connect",
        "socket.getaddrinfo",
        "socket.gethostbyname",
        "sqlite3.connect",
        "subprocess.Popen",
        "tempfile.mkdtemp",
        "tempfile.mkstemp",
        "urllib.Request",
    }
)
"""Audit events of calls that wait for a disk, a network or another process."""

WAITING = (
    (time, "sleep"),
    (os, "stat"),
    (threading.Event, "wait"),
    (threading.Condition, "wait"),
    (threading.Thread, "join"),
    (subprocess.Popen, "wait"),
    (subprocess.Popen, "communicate"),
)
"""Functions of the standard library that wait and have no audit event."""

_AT_ONCE = ("_adjust_thread_count", "start")
"""Functions of the standard library that begin a thread: it answers at once."""

_FULL = 2
"""The generation of a collection that visits every object."""

_HEAP = "/vakra_tui/state/heap.py"
"""What collects garbage between two callbacks."""

_IMPORTING = ("<frozen importlib", "importlib/")
_STYLES = ".tcss"

FIRST_S = 3.0
"""After the start stalls may be longer for so long."""


@dataclass(frozen=True)
class Callback:
    """One callback of the loop: when it began (seconds after the probe), what it took, and during which command."""

    began: float
    seconds: float
    processor: float
    during: str
    what: str


@dataclass
class Probe:
    """What was seen. ``during`` is set by whoever presses keys."""

    thread: int = 0
    during: str = "start"
    started: float = 0.0
    blocking: list[str] = field(default_factory=list)
    callbacks: list[Callback] = field(default_factory=list)
    collections: list[str] = field(default_factory=list)
    """Full collections of garbage, in any thread, that struck in the middle of something."""
    imports: list[str] = field(default_factory=list)
    """Own modules that the loop's thread imported: a disk may be slow, and compiling takes long everywhere."""

    def note(self, what: str) -> None:
        """Called in any thread: what waits, if it is the loop's own thread that does."""
        if threading.get_ident() != self.thread:
            return
        frames = [
            (frame.f_code.co_filename, number, frame.f_code.co_name) for frame, number in walk_stack(sys._getframe(1))
        ]
        if any(place in name for name, _, _ in frames for place in _IMPORTING):
            return
        if any(function in _AT_ONCE and "/vakra_tui/" not in name for name, _, function in frames):
            return
        ours = [each for each in frames if "/vakra_tui/" in each[0]] or frames[1:]
        name, number, function = ours[0]
        self.blocking.append(f"{self.during}: {what} at {name}:{number} {function}")

    def collected(self, phase: str, info: dict[str, Any]) -> None:
        """Called by the collector in whatever thread: every thread stands still for a full collection."""
        if phase == "start" and info["generation"] == _FULL:
            frames = [frame for frame, _ in walk_stack(sys._getframe(1))]
            if not any(frame.f_code.co_filename.endswith(_HEAP) for frame in frames):
                self.collections.append(f"{self.during}: in {threading.current_thread().name}")

    def longest(self, *, first: bool) -> Callback | None:
        """The callback with the most processor time, within or after the first seconds."""
        found = [each for each in self.callbacks if (each.began < FIRST_S) == first]
        return max(found, key=lambda each: each.processor, default=None)


_watching: list[Probe] = []
_hooked = False


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "import" and _watching and threading.get_ident() == _watching[-1].thread:
        if str(arguments[0]).startswith("vakra_tui."):
            _watching[-1].imports.append(f"{_watching[-1].during}: {arguments[0]}")
        return
    if _watching and event in AUDITED and threading.get_ident() == _watching[-1].thread:
        if event == "open" and str(arguments[0]).endswith(_STYLES):
            return  # the screen library reads a screen's styles when it is first shown
        _watching[-1].note(f"{event}({', '.join(repr(each)[:60] for each in arguments[:1])})")


def _waits(probe: Probe, holder: Any, name: str, patch: pytest.MonkeyPatch) -> None:
    """Have a function of the standard library told when the loop's thread calls it."""
    original: Callable[..., Any] = getattr(holder, name)
    title = f"{getattr(holder, '__name__', holder)}.{name}"

    def told(*arguments: Any, **named: Any) -> Any:
        if name != "stat" or not str(arguments[0]).endswith(_STYLES):
            probe.note(title)
        return original(*arguments, **named)

    patch.setattr(holder, name, told)


@contextmanager
def watched() -> Iterator[Probe]:
    """Watch the thread of the running event loop; callbacks of the task that asks, a test's, are left out."""
    global _hooked
    probe = Probe(thread=threading.get_ident(), started=time.perf_counter())
    if not _hooked:
        sys.addaudithook(_audit)  # cannot be taken away; it does nothing while nobody watches
        _hooked = True
    with pytest.MonkeyPatch.context() as patch:
        for holder, name in WAITING:
            _waits(probe, holder, name, patch)
        _waits_for_results(probe, patch)
        _time_callbacks(probe, patch)
        _watching.append(probe)
        gc.callbacks.append(probe.collected)
        try:
            yield probe
        finally:
            gc.callbacks.remove(probe.collected)
            _watching.remove(probe)


def _waits_for_results(probe: Probe, patch: pytest.MonkeyPatch) -> None:
    result = concurrent.futures.Future.result

    def told(future: Any, timeout: float | None = None) -> Any:
        if not future.done():
            probe.note("Future.result")
        return result(future, timeout)

    patch.setattr(concurrent.futures.Future, "result", told)


def _time_callbacks(probe: Probe, patch: pytest.MonkeyPatch) -> None:
    asking = asyncio.current_task()
    run = Handle._run

    def timed(handle: Any) -> None:
        if threading.get_ident() != probe.thread:
            run(handle)
            return
        owner = getattr(handle._callback, "__self__", None)
        if owner is asking:
            run(handle)
            return
        began, before = time.perf_counter(), time.thread_time()
        run(handle)
        processor = time.thread_time() - before
        seconds = time.perf_counter() - began
        if processor > 0.005 or seconds > 0.02:
            what = str(owner if owner is not None else handle._callback)[:160]
            probe.callbacks.append(Callback(began - probe.started, seconds, processor, probe.during, what))

    patch.setattr(Handle, "_run", timed)
