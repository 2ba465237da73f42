"""When two processes write one branch; apart from the other errors so that naming it imports no database."""

from __future__ import annotations

from toolenv.errors import StoreError


class BranchConflict(StoreError):
    """Another process has gone on with the same branch."""
