"""Opening a database: how SQLite and PostgreSQL are set up, and how a transaction waits for its turn."""

from __future__ import annotations

import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError
from sqlalchemy.pool import StaticPool

from sessions.events import Commit
from sessions.redaction import register_secret
from sessions.store.conflicts import BranchConflict
from sessions.store.errors import StoreUnusable, is_busy, sentence_for
from toolenv.errors import StoreError

T = TypeVar("T")

DRIVER_WAIT_S = 0.2
"""How long SQLite itself waits for a lock before this module looks at the clock again."""

RETRY_S = 0.05

CLOSED = "The session store is closed."

IMPATIENT_S = 1.0
"""How long a store is waited for that stayed busy the last time."""


def default_path() -> Path:
    """The store in the user's data directory."""
    from platformdirs import user_data_path

    return user_data_path("vakra-tui") / "sessions.sqlite"


def read_url(url: str | None) -> URL:
    """The URL of a store; a plain path is a SQLite file, None the user's own. Raises ``StoreError``."""
    if url is None:
        return URL.create("sqlite", database=str(default_path()))
    if "://" not in url:
        return URL.create("sqlite", database=str(_absolute(url)))
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise StoreError("The address of the session store cannot be read; see --db.") from error
    kind = parsed.drivername.split("+")[0]
    if kind == "sqlite":
        inside = parsed.database in (None, "", ":memory:")
        return URL.create("sqlite", database=None if inside else str(_absolute(str(parsed.database))))
    if kind in ("postgresql", "postgres"):
        if parsed.password is not None:
            register_secret(str(parsed.password))
        return parsed.set(drivername="postgresql+psycopg")
    raise StoreError(f"Sessions can be stored in SQLite or PostgreSQL, not in {kind!r}; see --db.")


def _absolute(path: str) -> Path:
    try:
        return Path(path).expanduser().absolute()
    except (OSError, RuntimeError) as error:
        raise StoreError(f"The session store {path} cannot be found: {error}.") from error


def file_of(url: URL) -> Path | None:
    """The file of a SQLite store; None in memory and for a server."""
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        return None
    return Path(str(url.database))


def make_engine(url: URL, *, commit: Commit, wait_s: float, read_only: bool) -> Engine:
    """An engine whose transactions say themselves whether they read or write."""
    if url.get_backend_name() == "sqlite":
        engine = _sqlite_engine(url, commit, read_only)
    else:
        engine = _postgres_engine(url, wait_s)
    return engine


def _sqlite_engine(url: URL, commit: Commit, read_only: bool) -> Engine:
    path = file_of(url)
    arguments: dict[str, Any] = {"timeout": DRIVER_WAIT_S, "check_same_thread": False, "isolation_level": None}
    if path is None:
        engine = create_engine("sqlite://", connect_args=arguments, poolclass=StaticPool)
    elif read_only:
        address = f"{path.absolute().as_uri()}?{read_only_mode(path)}"
        engine = create_engine("sqlite://", creator=lambda: sqlite3.connect(address, uri=True, **arguments))
    else:
        engine = create_engine("sqlite://", creator=lambda: sqlite3.connect(path, **arguments))
    # Each step is durable against a power cut; a batch against the end of its process (it can be resumed).
    synchronous = "FULL" if commit == "step" else "NORMAL"

    @event.listens_for(engine, "connect")
    def connected(connection: Any, _: object) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute(f"PRAGMA synchronous = {synchronous}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def read_only_mode(path: Path) -> str:
    """How SQLite must be asked: a folder that cannot be written has no room for the index of a log."""
    log = path.with_name(path.name + "-wal")
    return "mode=ro" if log.exists() and log.stat().st_size > 0 else "mode=ro&immutable=1"


def _postgres_engine(url: URL, wait_s: float) -> Engine:
    given = url.query.get("options", "")
    options = f"{given if isinstance(given, str) else ' '.join(given)} -c lock_timeout={int(wait_s * 1000)}"
    try:
        return create_engine(
            url.difference_update_query(["options"]),
            connect_args={"connect_timeout": 10, "options": options.strip()},
            pool_pre_ping=True,
        )
    except ImportError as error:
        raise StoreError("A PostgreSQL store needs the driver psycopg: install vakra-tui[postgres].") from error


class Transactions:
    """Runs work in transactions of one engine: readers at once, one writer at a time, each waiting for its turn.

    ``on_wait`` is told, with the seconds waited so far, while another process holds the store. Where a turn did not
    come within ``wait_s``, the next ones are waited for ``IMPATIENT_S`` only, until one comes: who goes on without a
    store that stays busy is not stopped again at every step.

    ``close`` waits for the work that runs: a connection of SQLite that is closed under a running statement takes the
    whole process with it.
    """

    def __init__(
        self, engine: Engine, name: str, path: Path | None, wait_s: float, on_wait: Callable[[float], None] | None
    ) -> None:
        self.engine = engine
        self.name = name
        self.path = path
        self.wait_s = wait_s
        self.on_wait = on_wait
        self._patience = wait_s
        self._writing = threading.RLock()
        self._alone: AbstractContextManager[Any] = (
            self._writing if isinstance(engine.pool, StaticPool) else nullcontext()
        )
        self._turn = threading.Condition()
        self._running = 0
        self._closed = False
        self._file: tuple[int, int] | None = None

    def opened(self) -> None:
        """The file is there and in use: from now on it must stay the one that it is."""
        self._file = _identity(self.path)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` in one transaction, durable when this returns; it may run twice, if it had to wait."""
        with self._open(), self._writing:
            return self._patiently(work, writes=True)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` over one consistent state."""
        with self._open(), self._alone:
            return self._patiently(work, writes=False)

    def _refuse_other_file(self) -> None:
        """Raise ``StoreError`` where the file was taken away: SQLite goes on writing to what nobody can find again."""
        if self._file is not None and _identity(self.path) != self._file:
            raise StoreError(
                f"The session store {self.name} was deleted or replaced while it was open; nothing more can be kept "
                "in it. Start again to begin a fresh one."
            )

    def close(self) -> None:
        """Let what runs end, then close every connection; what is asked from now on is refused. May be called twice."""
        with self._turn:
            self._closed = True
            self._turn.wait_for(lambda: not self._running)
        self.engine.dispose()

    @contextmanager
    def _open(self) -> Iterator[None]:
        """Hold the connections open for one piece of work. Raises ``StoreError`` once the store is closed or lost."""
        self._refuse_other_file()
        with self._turn:
            if self._closed:
                raise StoreError(CLOSED)
            self._running += 1
        try:
            yield
        finally:
            with self._turn:
                self._running -= 1
                self._turn.notify_all()

    def _patiently(self, work: Callable[[Connection], T], *, writes: bool) -> T:
        started = time.monotonic()
        while True:
            try:
                with self.engine.connect() as connection:
                    connection = connection.execution_options(writes=writes)
                    with connection.begin():
                        done = work(connection)
                if writes:
                    self._patience = self.wait_s
                return done
            except UnicodeDecodeError as error:
                raise StoreUnusable(
                    f"The session store {self.name} is damaged (it holds text that is not UTF-8); "
                    "move it aside to begin anew.",
                    self.path,
                ) from error
            except DBAPIError as error:
                waited = time.monotonic() - started
                if not is_busy(error):
                    raise self._translated(error, waited) from error
                if waited >= self._patience:
                    self._patience = min(self.wait_s, IMPATIENT_S)
                    raise self._translated(error, waited) from error
            if self.on_wait is not None:
                self.on_wait(time.monotonic() - started)
            time.sleep(RETRY_S * (0.5 + random.random()))

    def _translated(self, error: DBAPIError, waited: float) -> StoreError:
        if isinstance(error, IntegrityError):
            return BranchConflict(
                f"Another process has written the same record into the session store {self.name}; open it again."
            )
        return sentence_for(error, self.name, waited, self.path)


def _identity(path: Path | None) -> tuple[int, int] | None:
    try:
        status = path.stat() if path is not None else None
    except OSError:
        return None
    return None if status is None else (status.st_dev, status.st_ino)


def use_log(transactions: Transactions) -> None:
    """Have SQLite write ahead into a log, so that readers and one writer do not stop each other."""
    started = time.monotonic()
    while True:
        connection = transactions.engine.raw_connection()
        try:
            connection.cursor().execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.Error as error:
            wrapped = DBAPIError("PRAGMA journal_mode = WAL", None, error)
            waited = time.monotonic() - started
            if not is_busy(wrapped) or waited >= transactions.wait_s:
                raise sentence_for(wrapped, transactions.name, waited, transactions.path) from error
        else:
            return
        finally:
            connection.close()
        if transactions.on_wait is not None:
            transactions.on_wait(time.monotonic() - started)
        time.sleep(RETRY_S)
