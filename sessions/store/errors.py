"""What can be wrong with a store, and the sentences for it."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.exc import DBAPIError

from sessions.redaction import redact_text
from toolenv.errors import StoreError

BUSY_WORDS = ("database is locked", "database table is locked", "database schema is locked")
BUSY_STATES = frozenset({"40001", "40P01", "55P03"})
"""PostgreSQL: serialization failure, deadlock, lock not available."""


class StoreUnwritable(StoreError):
    """The store refuses a write now; what should have been written is worth keeping elsewhere."""


class StoreBusy(StoreUnwritable):
    """Another process holds the store for longer than one waits."""


class StoreReadOnly(StoreUnwritable):
    """The store can be read but not written."""


class StoreFull(StoreUnwritable):
    """There is no room for what should be written."""


class StoreUnusable(StoreError):
    """The file is not one of ours, is of a later format, or is damaged; it has not been touched.

    ``path`` is the file, where it is one; with the user's consent ``set_aside`` moves it away and a fresh store begins.
    """

    def __init__(self, sentence: str, path: Path | None = None) -> None:
        super().__init__(sentence)
        self.path = path


def is_busy(error: DBAPIError) -> bool:
    """Whether waiting and trying again can help."""
    state = getattr(error.orig, "sqlstate", None)
    if state is not None:
        return state in BUSY_STATES
    return any(word in str(error.orig) for word in BUSY_WORDS)


def sentence_for(error: DBAPIError, name: str, waited_s: float, path: Path | None) -> StoreError:
    """The error that callers see in place of the database's own."""
    text = str(error.orig).strip()
    lowered = text.lower()
    first_line = redact_text(text.splitlines()[0] if text else type(error.orig).__name__)
    if is_busy(error):
        return StoreBusy(
            f"The session store {name} is in use by another process and did not become free within {waited_s:.0f} s; "
            "try again when the other one has finished."
        )
    if "readonly" in lowered or "read-only" in lowered:
        return StoreReadOnly(f"The session store {name} cannot be written: it is read-only.")
    if "disk is full" in lowered or "no space left" in lowered or "disk full" in lowered:
        return StoreFull(f"The session store {name} cannot be written: the disk is full.")
    if any(word in lowered for word in ("malformed", "not a database", "could not decode")):
        return StoreUnusable(f"The session store {name} is damaged ({first_line}); move it aside to begin anew.", path)
    if "disk i/o error" in lowered:
        return StoreUnwritable(
            f"The session store {name} cannot be read or written: the disk reports an error ({first_line})."
        )
    if "unable to open" in lowered:
        return StoreError(f"The session store {name} cannot be opened: its folder cannot be read or written.")
    return StoreError(f"The session store {name} does not do what it is asked ({first_line}).")
