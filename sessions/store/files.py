"""Looking at a SQLite file before it is opened, so that a file that is not ours is never touched."""

from __future__ import annotations

import sqlite3
import stat
import struct
from contextlib import closing
from pathlib import Path
from typing import Literal

from sessions.store.errors import StoreUnusable
from sessions.store.schema import APPLICATION_ID, FORMAT
from toolenv.errors import StoreError

MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 100

_UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
"""What a damaged file raises; ``sqlite3`` fails over its own message where that quotes bytes that are no UTF-8."""

UNVERSIONED = {"sessions": {"id", "title"}, "messages": {"id", "session_id", "body"}}
"""The tables and columns of format 0, which wrote no version into its file."""


def inspect(path: Path) -> Literal["new"] | int:
    """``new`` where a store can begin, else the format of the store that is there.

    Raises ``StoreUnusable`` for a file of another program, of a later format, or a damaged one; ``StoreError`` where it
    cannot be read. Reads only.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            raise StoreError(f"The session store {path} is no regular file; name another with --db.")
        size = status.st_size
        with path.open("rb") as file:
            header = file.read(HEADER_BYTES)
    except FileNotFoundError:
        return "new"
    except OSError as error:
        raise StoreError(f"The session store {path} cannot be read ({error.strerror}).") from error
    if size == 0:
        return "new"
    if len(header) < HEADER_BYTES or not header.startswith(MAGIC):
        raise StoreUnusable(
            f"{path} is not a session store: it is no SQLite database. Move it aside or name another.", path
        )
    page_size, pages, counter, valid_for = _sizes(header)
    if counter == valid_for and size < page_size * pages and not _has_log(path):
        raise StoreUnusable(
            f"The session store {path} is damaged: {size} of its {page_size * pages} bytes are there. "
            "Move it aside to begin anew.",
            path,
        )
    return _format(path)


def _sizes(header: bytes) -> tuple[int, int, int, int]:
    page_size = struct.unpack(">H", header[16:18])[0]
    counter, pages = struct.unpack(">II", header[24:32])
    valid_for = struct.unpack(">I", header[92:96])[0]
    return (65536 if page_size == 1 else page_size), pages, counter, valid_for


def _has_log(path: Path) -> bool:
    """Whether a write-ahead log still holds pages of this file."""
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def _format(path: Path) -> Literal["new"] | int:
    try:
        # Without locks: a file that is not ours gets no company of ours beside it.
        application, version, columns = _described(path, "mode=ro" if _has_log(path) else "mode=ro&immutable=1")
    except _UNREADABLE:
        # What looks damaged may only have been written at this very moment; with locks that is waited for.
        try:
            application, version, columns = _described(path, "mode=ro")
        except _UNREADABLE as error:
            raise StoreUnusable(
                f"The session store {path} is damaged ({error}). Move it aside to begin anew.", path
            ) from error
    if application == APPLICATION_ID and version > FORMAT:
        raise later_format(str(path), version, path)
    if application in (0, APPLICATION_ID) and version == 0 and not columns:
        return "new"
    if application == APPLICATION_ID:
        return version
    if application == 0 and version == 0 and columns == UNVERSIONED:
        return 0
    if application == 0 and version > FORMAT:
        raise later_format(str(path), version, path)
    raise StoreUnusable(
        f"{path} is a SQLite database of another program, not a session store; name another file with --db.", path
    )


def _described(path: Path, mode: str) -> tuple[int, int, dict[str, set[str]]]:
    """Application number, version, and the columns of every table."""
    address = f"{path.absolute().as_uri()}?{mode}"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        application = int(connection.execute("PRAGMA application_id").fetchone()[0])
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {
            name: {row[1] for row in connection.execute("SELECT * FROM pragma_table_info(?)", (name,))}
            for name in tables
        }
    return application, version, columns


def later_format(name: str, version: int, path: Path | None) -> StoreUnusable:
    return StoreUnusable(
        f"The session store {name} has format {version}, and this vakra-tui reads formats up to {FORMAT}; "
        "it was left as it is. Use a newer vakra-tui, or name another store with --db.",
        path,
    )


def set_aside(path: Path) -> Path:
    """Move a store that cannot be used out of the way, with its log; to be called with the user's consent only.

    Gives the new path; nothing is deleted or overwritten.
    """
    target = free_name(path, "unusable")
    try:
        for suffix in ("", "-wal", "-shm"):
            part = path.with_name(path.name + suffix)
            if part.exists():
                part.rename(target.with_name(target.name + suffix))
    except OSError as error:
        raise StoreError(f"{path} cannot be moved aside ({error.strerror}).") from error
    return target


def back_up(path: Path, version: int) -> Path:
    """A whole copy of a store beside it, before it is migrated."""
    target = free_name(path, f"format-{version}")
    try:
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(target)) as copy:
            source.backup(copy)
    except sqlite3.Error as error:
        raise StoreError(f"The session store {path} cannot be backed up before its migration ({error}).") from error
    return target


def free_name(path: Path, word: str) -> Path:
    number = 1
    while True:
        candidate = path.with_name(f"{path.name}.{word}-{number}.bak" if number > 1 else f"{path.name}.{word}.bak")
        if not candidate.exists():
            return candidate
        number += 1
