"""Stores in files, and other processes that use them."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from counting import make_instance

from sessions.store import NewSession, Store
from sessions.trajectory import Answer, Message, Step

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
STEP = Step(actor="human", decision=Answer(text="42"))


def child(code: str, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(ROOT)]), "HOME": "/nonexistent"}
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.PIPE,
        text=True,
        env=environment,
    )


def unversioned(path: Path) -> Path:
    """A store as format 0 wrote it."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE sessions(id INTEGER PRIMARY KEY, title TEXT)")
        connection.execute("CREATE TABLE messages(id INTEGER PRIMARY KEY, session_id INTEGER, body TEXT)")
        connection.execute("INSERT INTO sessions VALUES(1, 'first run'), (2, NULL)")
        connection.execute("INSERT INTO messages VALUES(1, 1, 'hello'), (2, 1, 'again')")
    return path


def begun(path: Path, steps: int = 1) -> tuple[Store, int, str]:
    store = Store.open(str(path))
    session = store.create_session(NewSession(instance=make_instance(), title="mine"))
    store.append(session.id, 0, 0, [Step(actor="human", decision=Message(role="user", text="x"))] * steps)
    return store, session.id, session.key


@contextlib.contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN EXCLUSIVE")
    try:
        yield connection
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.close()
