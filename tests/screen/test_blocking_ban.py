"""No screen, widget or the application itself calls what waits for a disk, a network, a process or another thread.

Functions that are handed to the engine thread or to a worker thread are left out: they are there to wait.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "vakra_tui"
FILES = sorted(
    [*PACKAGE.glob("screens/**/*.py"), *PACKAGE.glob("widgets/**/*.py"), PACKAGE / "app.py", PACKAGE / "render.py"]
)

MODULES = frozenset(
    {
        "aiosqlite",
        "fileinput",
        "ftplib",
        "glob",
        "httpx",
        "httpx2",
        "multiprocessing",
        "openai",
        "queue",
        "requests",
        "select",
        "shutil",
        "smtplib",
        "socket",
        "sqlalchemy",
        "sqlite3",
        "ssl",
        "subprocess",
        "tempfile",
        "urllib",
    }
)
"""Nothing of these may be imported or used."""

FUNCTIONS = frozenset(
    {
        "open",
        "input",
        "print",
        "time.sleep",
        "asyncio.run",
        "io.open",
        "json.load",
        "os.fsync",
        "os.listdir",
        "os.makedirs",
        "os.mkdir",
        "os.open",
        "os.popen",
        "os.read",
        "os.remove",
        "os.rename",
        "os.replace",
        "os.scandir",
        "os.spawnlp",
        "os.stat",
        "os.system",
        "os.unlink",
        "os.walk",
        "os.write",
        "os.path.exists",
        "os.path.getmtime",
        "os.path.getsize",
        "os.path.isdir",
        "os.path.isfile",
        "yaml.load",
    }
)

METHODS = frozenset(
    {
        "acquire",
        "exists",
        "hardlink_to",
        "is_dir",
        "is_file",
        "iterdir",
        "lstat",
        "mkdir",
        "open",
        "read_bytes",
        "read_text",
        "rglob",
        "rmdir",
        "run_coroutine_threadsafe",
        "run_until_complete",
        "samefile",
        "stat",
        "symlink_to",
        "touch",
        "unlink",
        "write_bytes",
        "write_text",
    }
)
"""Of paths, locks and loops; no part of the screen has methods of these names."""

HANDED_TO = frozenset({"call", "run", "to_thread", "run_in_executor", "read"})
"""``engine.call(f)``, ``engine.run(f())``, ``asyncio.to_thread(f)``, ``app.read(f)``."""


def dotted(node: ast.expr) -> str:
    """``a.b.c`` of a name or an attribute, empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    return ""


def handed_over(tree: ast.AST) -> set[str]:
    """Names of the functions that this file hands to another thread."""
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        place = dotted(node.func.value).rpartition(".")[2]
        if node.func.attr in HANDED_TO and place in ("engine", "asyncio", "app", "loop"):
            for argument in node.args:
                name = dotted(argument.func if isinstance(argument, ast.Call) else argument)
                found.add(name.rpartition(".")[2])
    return found


def awaited(tree: ast.AST) -> set[int]:
    """Ids of the calls that are awaited: they wait without holding the loop."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Await)}


def blocking(text: str) -> Iterator[tuple[int, str]]:
    """(line, what) of every blocking call or import in the source of a module."""
    tree = ast.parse(text)
    elsewhere, waited = handed_over(tree), awaited(tree)

    def walk(node: ast.AST) -> Iterator[tuple[int, str]]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in elsewhere:
            return
        if isinstance(node, ast.Import):
            yield from ((node.lineno, each.name) for each in node.names if each.name.partition(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom):
            if (node.module or "").partition(".")[0] in MODULES:
                yield node.lineno, str(node.module)
            yield from ((node.lineno, each.name) for each in node.names if f"{node.module}.{each.name}" in FUNCTIONS)
        elif isinstance(node, ast.Call) and id(node) not in waited:
            name = dotted(node.func)
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if name in FUNCTIONS or method in METHODS or _waits_for_a_result(method, node):
                yield node.lineno, name or method
        for child in ast.iter_child_nodes(node):
            yield from walk(child)

    yield from walk(tree)


def _waits_for_a_result(method: str, node: ast.Call) -> bool:
    """``future.result()`` and ``thread.join()``; the ``join`` of a text always has an argument."""
    return method == "result" or (method in ("join", "wait") and not node.args)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_that_waits_is_called(path: Path) -> None:
    found = [f"{path.name}:{line} {what}" for line, what in blocking(path.read_text(encoding="utf-8"))]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "import time\ntime.sleep(1)",
        "from time import sleep",
        "import sqlite3",
        "from urllib.request import urlopen",
        "async def f(p):\n    return p.read_text()",
        "def f(p):\n    with open(p) as s:\n        return s",
        "def f(future):\n    return future.result()",
        "def f(thread):\n    thread.join()",
        "import subprocess",
        "def g(p):\n    return p.exists()\ndef f(app, p):\n    return g(p)",
    ],
)
def test_the_ban_sees_them(text: str) -> None:
    assert list(blocking(text))


@pytest.mark.parametrize(
    "text",
    [
        "def g(p):\n    return p.read_text()\nasync def f(self, p):\n    return await self.app.engine.call(g, p)",
        "import asyncio\ndef g():\n    open('x')\nasync def f():\n    await asyncio.to_thread(g)",
        "async def f(worker):\n    await worker.wait()",
        "def f(parts):\n    return ', '.join(parts)",
    ],
)
def test_work_of_other_threads_is_left_out(text: str) -> None:
    assert not list(blocking(text))
