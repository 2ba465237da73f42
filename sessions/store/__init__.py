"""The session store: every step on disk before anyone sees it.

Importing this package is light; SQLAlchemy comes with the first use of ``Store``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sessions.store.records import (
    ExecutedRecord,
    Flag,
    Hit,
    Mark,
    NewSession,
    Note,
    Page,
    RequestRecord,
    RunRecord,
    SessionKind,
    SessionRef,
    SessionSummary,
    StoredSession,
    StoredVerdict,
    Touched,
)

if TYPE_CHECKING:
    from sessions.store.asynchronous import AsyncStore
    from sessions.store.files import set_aside
    from sessions.store.store import Store

__all__ = [
    "AsyncStore",
    "ExecutedRecord",
    "Flag",
    "Hit",
    "Mark",
    "NewSession",
    "Note",
    "Page",
    "RequestRecord",
    "RunRecord",
    "SessionKind",
    "SessionRef",
    "SessionSummary",
    "Store",
    "StoredSession",
    "StoredVerdict",
    "Touched",
    "set_aside",
]

_LATE = {"Store": "store", "AsyncStore": "asynchronous", "set_aside": "files"}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
