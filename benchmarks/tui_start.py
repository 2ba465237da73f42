"""Start-up times and memory of the command in a terminal of its own; used by ``tui.py``."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import statistics
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROWS, COLUMNS = 36, 120
PATIENCE_S = 60.0
PROGRAM = Path(sys.executable).with_name("vakra-tui")
LABEL = "one label is readable"
BARE = f"""
from textual.app import App
from textual.widgets import Label

class Bare(App[None]):
    def compose(self):
        yield Label({LABEL!r})

Bare().run()
"""
READABLE = 20
"""Characters of a query that must stand together on the screen for it to count as readable."""

_ESCAPES = re.compile(
    rb"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor, modes
    rb"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles
    rb"|\x1b[=>78]"
)


class Terminal:
    """A program in a pseudo-terminal; it is killed at the end of the ``with`` block."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.started = time.perf_counter()
        self.process, self._screen = pty.fork()
        if self.process == 0:
            os.execve(command[0], list(command), dict(environment))
        fcntl.ioctl(self._screen, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._written = b""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *raised: object) -> None:
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self._screen)

    def seconds_until(self, texts: Sequence[bytes]) -> float:
        """Seconds from the start of the process to the first of ``texts`` on the screen."""
        while time.perf_counter() - self.started < PATIENCE_S:
            if not select.select([self._screen], [], [], 1.0)[0]:
                continue
            try:
                self._written += os.read(self._screen, 1 << 16)
            except OSError:
                break
            plain = _ESCAPES.sub(b"", self._written)
            if any(text in plain for text in texts):
                return time.perf_counter() - self.started
        shown = _ESCAPES.sub(b"", self._written)[-2000:].decode(errors="replace")
        raise SystemExit(f"none of the wanted texts was shown; the terminal holds:\n{shown}")

    def forget(self) -> None:
        """Leave what was written so far out of what is looked for."""
        self._written = b""

    def type(self, keys: bytes) -> None:
        os.write(self._screen, keys)

    def processor_seconds(self) -> float:
        """Processor time of all threads so far."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident(self) -> int:
        """Bytes that are resident now."""
        text = Path(f"/proc/{self.process}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", text)
        assert found is not None
        return int(found[1]) * 1024


def environment(folder: Path) -> dict[str, str]:
    """This environment with folders of its own for what the command keeps."""
    own = {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("CACHE", "CONFIG", "DATA", "STATE")}
    return {**os.environ, **own, "TERM": "xterm-256color", "COLORTERM": "truecolor"}


def built_sample(folder: Path) -> Path:
    """The built-in sample, built in ``folder``'s cache: the state in which starts are measured."""
    code = "from vakra_tui.sample.cache import built_sample; print(built_sample())"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(folder), check=True, capture_output=True, text=True
    )
    return Path(done.stdout.strip())


def multiplied(sample: Path, out: Path, count: int) -> tuple[list[str], list[bytes]]:
    """Write the sample's instances again and again, with uuids of their own, to ``count`` or a few more.

    Gives the command's arguments (the dataset and a run with a prediction for each) and the beginnings of the queries.
    """
    originals = sum(len(json.loads(path.read_bytes())) for path in sample.glob("dataset/test/*/output/*.json"))
    copies = -(-count // originals)
    data = (sample / "dataset" / "test", out / "data" / "test")
    for source, target in (data, (sample / "runs" / "flawed", out / "run")):
        for path in sorted(source.rglob("*.json")):
            records = json.loads(path.read_bytes())
            keep = max(round(len(records) * count / originals / copies), 1)
            made = [
                json.loads(json.dumps(record).replace(record["uuid"], f"{record['uuid']}-{copy}"))
                for copy in range(copies)
                for record in records[:keep]
            ]
            place = target / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(json.dumps(made, indent=1))
    for name in ("configs", "databases", "endpoints", "documents"):
        (out / "data" / name).symlink_to(sample / "dataset" / name)
    return [str(out / "data"), "--run", str(out / "run")], queries(out / "data" / "test")


def queries(split: Path) -> list[bytes]:
    """The beginnings of all queries of a split."""
    found = set()
    for path in split.glob("*/input/*.json"):
        for record in json.loads(path.read_bytes()):
            for turn in record["dialogue"]["turns"]:
                found.add(turn["query"][:READABLE].encode())
    return sorted(found)


def measured(folder: Path, *, repeat: int, count: int) -> dict[str, Any]:
    """Medians of starts, taken in turn, and the memory of a small and a large list when all queries are read."""
    sample = built_sample(folder)
    large, large_queries = multiplied(sample, folder / "large", count)
    small, _ = multiplied(sample, folder / "small", 50)
    bare = folder / "bare.py"
    bare.write_text(BARE)
    known = queries(sample / "dataset" / "test")
    starts = {
        "a bare application of one label": ([sys.executable, str(bare)], [LABEL.encode()]),
        "the sample": ([str(PROGRAM)], known),
        f"{count:,} instances and a run": ([str(PROGRAM), *large], large_queries),
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in starts}
    for _ in range(repeat + 1):
        for name, (command, texts) in starts.items():
            with Terminal([*command, *_store(name, folder)], environment(folder)) as terminal:
                taken[name].append((terminal.seconds_until(texts), terminal.processor_seconds()))
    warm = {name: pairs[1:] for name, pairs in taken.items()}
    base, *others = warm
    result: dict[str, Any] = {name: summary(pairs) for name, pairs in warm.items()}
    for name in others:
        for index, ratio in enumerate(("ratio", "processor_ratio")):
            both = zip(warm[name], warm[base], strict=True)
            result[name][ratio] = statistics.median(one[index] / bare_one[index] for one, bare_one in both)
    few = memory([str(PROGRAM), *small], folder)
    many = memory([str(PROGRAM), *large], folder)
    result["memory"] = {"50 instances": few, f"{count:,} instances": many, "ratio": many / few}
    return result


def summary(pairs: Sequence[tuple[float, float]]) -> dict[str, float]:
    seconds = [wall for wall, _ in pairs]
    return {
        "median_s": statistics.median(seconds),
        "fastest_s": min(seconds),
        "processor_s": statistics.median(processor for _, processor in pairs),
    }


def _store(name: str, folder: Path) -> list[str]:
    return [] if name.startswith("a bare") else ["--db", f"sqlite:///{folder / 'start.sqlite'}"]


def memory(command: Sequence[str], folder: Path) -> int:
    """Resident bytes when every query was read, then the end of the list and one in the middle were looked at."""
    with Terminal([*command, "--db", f"sqlite:///{folder / 'memory.sqlite'}"], environment(folder)) as terminal:
        terminal.seconds_until([b"instances"])
        time.sleep(4)
        terminal.type(b"\x1b[F\x1b[5~\x1b[5~")
        time.sleep(1)
        return terminal.resident()
