"""Executed trajectories of a batch as sessions, many at a time.

A batch finishes hundreds of trajectories a second; the rows of all that are ready go in with a few statements.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, insert, select

from sessions.store import codec, schema, writing
from sessions.store.records import PreparedSession, PreparedStep


def put_prepared(connection: Connection, sessions: Sequence[PreparedSession]) -> None:
    """Write sessions; one that was executed before is replaced, and of equal ones the last counts."""
    chosen = list({session.identity: session for session in sessions}.values())
    if not chosen:
        return
    _forget(connection, [session.identity for session in chosen])
    payloads = {hash_: (hash_, size, data) for session in chosen for hash_, size, data in session.payloads}
    writing.put_payloads(connection, (codec.Payload(*payload) for payload in payloads.values()))
    now = time.time()
    rows = [
        {
            **session.row,
            "key": writing.new_key(),
            "identity": session.identity,
            "created_at": now,
            "updated_at": now,
            "steps": len(session.steps),
            "branches": 1,
            "passed": session.passed,
        }
        for session in chosen
    ]
    numbers = _inserted(connection, schema.SESSION, rows)
    branches = _inserted(
        connection,
        schema.BRANCH,
        [{"session_id": number, "number": 0, "name": "main", "fork_at": 0, "created_at": now} for number in numbers],
    )
    placed = [
        (branch, position, step)
        for branch, session in zip(branches, chosen, strict=True)
        for position, step in enumerate(session.steps)
    ]
    if placed:
        steps = _inserted(connection, schema.STEP, [_step_row(*place, now) for place in placed])
        words = [(step, place[2].words) for step, place in zip(steps, placed, strict=True)]
        writing.index_words(connection, "batch", words)
    for number, session in zip(numbers, chosen, strict=True):
        for request in session.requests:
            writing.put_request(connection, number, request)


def _step_row(branch: int, position: int, step: PreparedStep, now: float) -> dict[str, Any]:
    row = msgspec.structs.asdict(step)
    del row["words"]
    return {**row, "branch_id": branch, "position": position, "created_at": now}


def _inserted(connection: Connection, table: Any, rows: Sequence[dict[str, Any]]) -> list[int]:
    """The numbers of new rows, in their order."""
    statement = insert(table).returning(table.c.id, sort_by_parameter_order=True)
    return list(connection.execute(statement, rows).scalars())


def _forget(connection: Connection, identities: Sequence[str]) -> None:
    c = schema.SESSION.c
    for start in range(0, len(identities), writing.HASHES_AT_ONCE):
        part = identities[start : start + writing.HASHES_AT_ONCE]
        for old in connection.execute(select(c.id).where(c.identity.in_(part))).scalars().all():
            writing.delete_session(connection, old)
