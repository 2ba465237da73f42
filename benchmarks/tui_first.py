"""What keys feel that are pressed from the first moment the list can be read; used by ``tui.py``.

Each row of keys is pressed in a new process, which has imported no more than the command has: the screens are imported
beside the event loop meanwhile. The application runs headless on the built-in sample. Callbacks are timed here and not
by the probe of the tests, which imports a test runner and audits every call: both would be measured, too.

    python benchmarks/tui_first.py KEYS...    (one process: what was seen, as JSON)
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from asyncio.events import Handle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROWS = (
    ("the debugger at once, steps and tabs", ("enter", "s", "s", "t", "t", "right", "s", "tab", "down", "down")),
    ("help, and back", ("question_mark", "pagedown", "escape", "question_mark", "escape")),
    ("a search", ("slash", "w", "a", "t", "e", "r", "escape", "down", "down")),
    ("the palette", ("ctrl+p", "s", "c", "o", "escape")),
    ("the scores", ("S", "down", "escape")),
    ("sessions, then the debugger", ("L", "escape", "enter", "s", "question_mark")),
    ("the cursor", ("down", "down", "pagedown", "end", "home", "space", "down")),
)

KEY_EVERY_S = 0.03
FIRST_S = 3.0
"""Callbacks are timed for so long; keys are pressed and modules imported well before."""


async def pressed(keys: tuple[str, ...]) -> dict[str, Any]:
    """The longest callback on the clock and in processor time, how many are above 50 and 120 ms, and when all was
    imported, in seconds after the list could be read."""
    from textual import events

    from vakra_tui.app import VakraApp
    from vakra_tui.options import Options
    from vakra_tui.wiring import Wiring

    app = VakraApp(Wiring(Options(db="sqlite://")))
    app.world.memory.keep_hint_seen()
    thread, asking = threading.get_ident(), asyncio.current_task()
    taken: list[tuple[float, float, str]] = []
    during = "start"
    run = Handle._run

    def timed(handle: Any) -> None:
        if threading.get_ident() != thread or getattr(handle._callback, "__self__", None) is asking:
            run(handle)
            return
        began, before = time.perf_counter(), time.thread_time()
        run(handle)
        taken.append((time.perf_counter() - began, time.thread_time() - before, during))

    async with app.run_test(size=(120, 36)):
        while not app.opened:  # noqa: ASYNC110 (what is measured must not be changed for it)
            await asyncio.sleep(0.002)
        Handle._run = timed  # type: ignore[method-assign, assignment]
        readable = time.perf_counter()
        for during in keys:
            app.post_message(events.Key(during, during if len(during) == 1 else None))
            await asyncio.sleep(KEY_EVERY_S)
        while not app.prepared:  # noqa: ASYNC110 (as above)
            await asyncio.sleep(0.002)
        imported = time.perf_counter() - readable
        await asyncio.sleep(max(FIRST_S - imported, 0))
        Handle._run = run  # type: ignore[method-assign]
    seconds, _, longest = max(taken)
    return {
        "seconds": seconds,
        "processor_s": max(processor for _, processor, _ in taken),
        "during": longest,
        "above 120 ms": sum(each > 0.12 for each, _, _ in taken),
        "imported_s": imported,
    }


def run(environment: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Row of keys -> what was seen."""
    found: dict[str, dict[str, Any]] = {}
    for name, keys in ROWS:
        command = [sys.executable, __file__, *keys]
        done = subprocess.run(command, env=dict(environment), check=True, capture_output=True, text=True)
        found[name] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    # The modules beside this one are no packages of the project.
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != here]
    print(json.dumps(asyncio.run(pressed(tuple(sys.argv[1:])))))
