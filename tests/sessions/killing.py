"""Kills a writing process without warning and looks at what the store holds."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from sessions.store import Store

HERE = Path(__file__).parent


def kill_once(path: Path, pace: str, after: int, delay_s: float) -> tuple[int, int]:
    """Start a writer, kill it ``delay_s`` after it has shown ``after`` steps; gives (shown, stored).

    ``pace`` is how it goes on: ``step`` by ``step``, or in one ``run``.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent.parent)])}
    command = [sys.executable, str(HERE / "killed_writer.py"), str(path), pace]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as writer:
        assert writer.stdout is not None
        shown = 0
        while shown < after:
            line = writer.stdout.readline()
            assert line.startswith("shown "), "the writer ended by itself"
            shown = int(line.split()[1])
        time.sleep(delay_s)
        writer.send_signal(signal.SIGKILL)
        for line in writer.stdout.read().splitlines():
            # The last line may have been cut by the kill; a cut line was not shown.
            if line.startswith("shown ") and line[6:].isdigit():
                shown = max(shown, int(line[6:]))
    store = Store.open(str(path))
    try:
        assert store.check() == []
        newest = store.sessions(limit=1).items[0]
        loaded = store.load(newest.key)
        steps = loaded.tree.steps(0)
        total = sum(range(len(steps)))
        assert not steps or (steps[-1].result is not None and steps[-1].result.text == f'{{"count": {total}}}')
        assert loaded.summary.steps == len(steps)
        return shown, len(steps)
    finally:
        store.close()


def kill_often(path: Path, times: int, seed: int = 0) -> list[tuple[int, int]]:
    """Kill at ``times`` random moments, all into one store. Raises ``AssertionError`` where a shown step is missing.

    One step at a time is stored and shown before the next begins; of a run several are stored in one write and shown
    after it, so that any number of them may not have been shown yet.
    """
    random_ = random.Random(seed)
    found = []
    for number in range(times):
        pace = ("step", "run")[number % 2]
        shown, stored = kill_once(path, pace, random_.randint(1, 12), random_.random() * 0.01)
        assert stored >= shown, f"{shown} steps were shown, {stored} are stored"
        assert pace == "run" or stored <= shown + 1, f"{shown} steps were shown, {stored} are stored"
        found.append((shown, stored))
    return found
