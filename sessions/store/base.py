"""Opening and closing a store, and running work in its transactions."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

from sqlalchemy import Connection, select, text

from sessions.events import Commit
from sessions.store import schema
from sessions.store.engine import Transactions, file_of, make_engine, read_url, use_log
from sessions.store.errors import StoreReadOnly
from sessions.store.files import inspect
from sessions.store.migrations import bring_up, stored_format
from sessions.store.spill import Spill
from toolenv.errors import StoreError

T = TypeVar("T")


class BaseStore:
    """One open store. Safe to use from several threads; every method is one transaction and raises ``StoreError``.

    What a method wrote is durable when it returns: with ``commit="step"`` against a power cut, with
    ``commit="instance"`` (a batch) against the end of the process.
    """

    def __init__(self, transactions: Transactions, *, read_only: bool) -> None:
        self._transactions = transactions
        self._spill = Spill(transactions.name, transactions.path)
        self.read_only = read_only

    @classmethod
    def open(
        cls,
        url: str | None = None,
        *,
        commit: Commit = "step",
        wait_s: float = 20.0,
        on_wait: Callable[[float], None] | None = None,
        read_only: bool = False,
    ) -> Self:
        """Open, make or migrate a store.

        ``url`` is a SQLAlchemy URL or a path, None the user's own store, ``sqlite://`` one in memory. ``wait_s`` bounds
        the wait for another process; ``on_wait`` is told of it from the thread that waits. A store that cannot be
        written is opened for reading (``read_only``). Raises ``StoreUnusable`` for a file that is not ours, damaged or
        of a later format, which is left untouched; other ``StoreError`` where it cannot be opened.
        """
        parsed = read_url(url)
        path = file_of(parsed)
        name = str(path) if path is not None else parsed.render_as_string(hide_password=True)
        if path is not None and not read_only:
            read_only = _prepared(path)
        engine = make_engine(parsed, commit=commit, wait_s=wait_s, read_only=read_only)
        transactions = Transactions(engine, name, path, wait_s, on_wait)
        store = cls(transactions, read_only=read_only)
        try:
            if read_only:
                if path is not None and inspect(path) != schema.FORMAT:
                    raise StoreReadOnly(f"The session store {name} is read-only and has no content of this format.")
            else:
                if path is not None:
                    use_log(transactions)
                if transactions.read(stored_format) != schema.FORMAT:
                    transactions.write(lambda connection: bring_up(connection, name, path))
        except StoreError:
            store.close()
            raise
        transactions.opened()
        return store

    @property
    def name(self) -> str:
        """Path or URL, without a password."""
        return self._transactions.name

    @property
    def path(self) -> Path | None:
        return self._transactions.path

    def close(self) -> None:
        """Let what runs end and close; from now on every method raises ``StoreError``."""
        self._transactions.close()

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in one writing transaction."""
        if self.read_only:
            raise StoreReadOnly(f"The session store {self.name} cannot be written: it is read-only.")
        return self._transactions.write(work)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` over one consistent state."""
        return self._transactions.read(work)

    def check(self) -> list[str]:
        """What is wrong with the store, a sentence each; empty when it is sound."""

        def checked(connection: Connection) -> list[str]:
            if connection.dialect.name != "sqlite":
                connection.execute(select(schema.SESSION.c.id).limit(1))
                return []
            found = [row[0] for row in connection.execute(text("PRAGMA integrity_check"))]
            lost = connection.execute(text("PRAGMA foreign_key_check")).all()
            return [f"{self.name}: {line}" for line in found if line != "ok"] + (
                [f"{self.name}: {len(lost)} rows refer to something that is not there"] if lost else []
            )

        return self.read(checked)


def _prepared(path: Path) -> bool:
    """Look at the file before it is opened, and make its folder. True: it is there and can only be read."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"The session store {path} has no folder, and none can be made ({error.strerror}).") from error
    found = inspect(path)
    writable = os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))
    if found == "new" and not writable:
        raise StoreReadOnly(f"The session store {path} cannot be made: its folder is read-only.")
    return not writable
