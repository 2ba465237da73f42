"""What is written, as functions over a connection inside a writing transaction."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, delete, func, insert, select, text, union, update

from sessions.branches import Branch, Cursor
from sessions.store import codec, schema
from sessions.store.conflicts import BranchConflict
from sessions.store.prepare import kind_of, session_row
from sessions.store.records import NewSession, RequestRecord, SessionRef
from sessions.trajectory import CallTool, Step
from toolenv.errors import StoreError

KEY_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
KEY_LENGTH = 10
HASHES_AT_ONCE = 500
"""Hashes in one statement; SQLite bounds how many values it takes."""


def put(
    connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]], *, replace: Iterable[str] = ()
) -> None:
    """Insert rows; one whose key is there replaces the named columns, or changes nothing where none are named."""
    if not rows:
        return
    if connection.dialect.name == "sqlite":
        from sqlalchemy.dialects.sqlite import insert as upsert
    else:
        from sqlalchemy.dialects.postgresql import insert as upsert  # type: ignore[assignment]
    statement = upsert(table)
    columns = tuple(replace)
    if columns:
        keys = [column.name for column in table.primary_key.columns]
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=keys, set_={name: statement.excluded[name] for name in columns}
            ),
            [dict(row) for row in rows],
        )
    else:
        connection.execute(statement.on_conflict_do_nothing(), [dict(row) for row in rows])


def put_payloads(connection: Connection, payloads: Iterable[codec.Payload]) -> None:
    put(connection, schema.PAYLOAD, [payload._asdict() for payload in payloads])


def put_payload(connection: Connection, data: bytes) -> str:
    """Store content once; gives its hash."""
    payload = codec.payload(data)
    put_payloads(connection, [payload])
    return payload.hash


def new_key() -> str:
    """A key for a session that nobody has yet."""
    return "".join(secrets.choice(KEY_ALPHABET) for _ in range(KEY_LENGTH))


def create_session(connection: Connection, new: NewSession) -> SessionRef:
    now = time.time()
    key = new_key()
    row = {
        **session_row(new, put_payload(connection, codec.encoded(new.instance))),
        "key": key,
        "created_at": now,
        "updated_at": now,
        "steps": 0,
        "branches": 0,
    }
    number = connection.execute(insert(schema.SESSION).values(row).returning(schema.SESSION.c.id)).scalar_one()
    return SessionRef(id=number, key=key)


def put_branch(connection: Connection, session_id: int, branch: Branch) -> None:
    """A branch without its steps; writing it again changes nothing.

    Raises ``BranchConflict`` where there is another branch of that number.
    """
    row = {
        "session_id": session_id,
        "number": branch.number,
        "name": codec.clean(branch.name),
        "parent": branch.parent,
        "fork_at": branch.fork_at,
        "replayed": codec.encoded(branch.replayed) if branch.replayed else None,
        "created_at": time.time(),
    }
    put(connection, schema.BRANCH, [row])
    b = schema.BRANCH.c
    there = connection.execute(
        select(b.parent, b.fork_at).where(b.session_id == session_id, b.number == branch.number)
    ).one()
    if tuple(there) != (branch.parent, branch.fork_at):
        raise BranchConflict(
            f"Another process has opened another branch {branch.number} of this session in the session store."
        )
    count = select(func.count()).select_from(schema.BRANCH).where(schema.BRANCH.c.session_id == session_id)
    connection.execute(
        update(schema.SESSION)
        .where(schema.SESSION.c.id == session_id)
        .values(branches=count.scalar_subquery(), updated_at=time.time())
    )


def append_steps(connection: Connection, session_id: int, branch: int, start: int, steps: Sequence[Step]) -> None:
    """Steps ``start`` ... (from 0, the shared prefix counted) of a branch; those that are there already must be equal.

    Raises ``BranchConflict`` where another process went on differently, ``StoreError`` for a branch that is not there
    and for a gap.
    """
    if not steps:
        return
    b, s = schema.BRANCH.c, schema.SESSION.c
    owner = connection.execute(
        select(b.id, b.fork_at, s.kind)
        .join(schema.SESSION, s.id == b.session_id)
        .where(b.session_id == session_id, b.number == branch)
    ).first()
    if owner is None:
        raise StoreError(f"The session store has no branch {branch} of session {session_id}; open the session again.")
    known = _known_steps(connection, owner.id, start)
    if start > owner.fork_at and start - 1 not in known:
        raise StoreError(f"Step {start} of branch {branch} is not in the session store, so step {start + 1} cannot be.")
    now = time.time()
    rows: list[dict[str, Any]] = []
    texts: list[str] = []
    payloads: list[codec.Payload] = []
    for position, step in enumerate(steps, start=start):
        parts = codec.encoded_step(step)
        if position in known:
            if known[position] != (parts.body, parts.body_hash, parts.text_hash):
                raise BranchConflict(
                    f"Another process has gone on with this branch: step {position + 1} is a different one in the "
                    "session store. Fork to keep both."
                )
            continue
        payloads += parts.payloads
        texts.append(parts.search_text)
        rows.append(
            {
                "branch_id": owner.id,
                "position": position,
                "actor": step.actor,
                "kind": kind_of(step),
                "tool": codec.clean(step.decision.call.name) if isinstance(step.decision, CallTool) else "",
                "failed": step.result is not None and step.result.failed,
                "body": parts.body,
                "body_hash": parts.body_hash,
                "text_hash": parts.text_hash,
                "created_at": now,
            }
        )
    if not rows:
        return
    put_payloads(connection, payloads)
    numbers = connection.execute(
        insert(schema.STEP).returning(schema.STEP.c.id, sort_by_parameter_order=True), rows
    ).scalars()
    index_words(connection, owner.kind, list(zip(numbers, texts, strict=True)))
    connection.execute(
        update(schema.SESSION).where(s.id == session_id).values(steps=s.steps + len(rows), updated_at=now)
    )


def _known_steps(
    connection: Connection, branch_id: int, start: int
) -> dict[int, tuple[bytes | None, str | None, str | None]]:
    c = schema.STEP.c
    found = connection.execute(
        select(c.position, c.body, c.body_hash, c.text_hash).where(c.branch_id == branch_id, c.position >= start - 1)
    )
    return {
        position: (None if body is None else bytes(body), body_hash, text_hash)
        for position, body, body_hash, text_hash in found
    }


def index_words(connection: Connection, kind: str, words: Sequence[tuple[int, str]]) -> None:
    """Put the words of steps into the full-text index."""
    if connection.dialect.name == "sqlite":
        statement = text("INSERT INTO step_words (rowid, kind, words) VALUES (:step, :kind, :words)")
        connection.execute(statement, [{"step": step, "kind": kind, "words": said} for step, said in words])
        return
    rows = [
        {"step": step, "part": part, "kind": kind, "words": chunk}
        for step, said in words
        for part, chunk in enumerate(chunks(said))
    ]
    connection.execute(
        text(
            "INSERT INTO step_words (step_id, part, kind, words)"
            " VALUES (:step, :part, :kind, to_tsvector('simple', :words))"
        ),
        rows,
    )


def chunks(words: str) -> list[str]:
    """A long text in parts that end between words."""
    parts: list[str] = []
    while len(words) > schema.SEARCH_CHUNK:
        end = words.rfind(" ", 1, schema.SEARCH_CHUNK)
        end = schema.SEARCH_CHUNK if end == -1 else end
        parts.append(words[:end])
        words = words[end:].lstrip()
    return [*parts, words]


def delete_session(connection: Connection, session_id: int) -> bool:
    """Remove a session with everything that belongs to it alone; False where there is none."""
    hashes = _contents(connection, session_id)
    if connection.dialect.name == "sqlite":
        _forget_words(connection, session_id)
    gone = connection.execute(delete(schema.SESSION).where(schema.SESSION.c.id == session_id)).rowcount
    for start in range(0, len(hashes), HASHES_AT_ONCE):
        _sweep(connection, hashes[start : start + HASHES_AT_ONCE])
    return bool(gone)


def _contents(connection: Connection, session_id: int) -> list[str]:
    """The hashes of everything that a session refers to."""
    step, request = schema.STEP.c, schema.REQUEST.c
    of_branch = step.branch_id.in_(select(schema.BRANCH.c.id).where(schema.BRANCH.c.session_id == session_id))
    found = union(
        select(schema.SESSION.c.instance_hash).where(schema.SESSION.c.id == session_id),
        select(step.body_hash).where(of_branch, step.body_hash.is_not(None)),
        select(step.text_hash).where(of_branch, step.text_hash.is_not(None)),
        select(request.request_hash).where(request.session_id == session_id),
        select(request.response_hash).where(request.session_id == session_id),
    )
    return list(connection.execute(found).scalars())


def _sweep(connection: Connection, hashes: Sequence[str]) -> None:
    """Remove those contents that nothing refers to any more."""
    statement = delete(schema.PAYLOAD).where(schema.PAYLOAD.c.hash.in_(hashes))
    for column in (
        schema.SESSION.c.instance_hash,
        schema.STEP.c.body_hash,
        schema.STEP.c.text_hash,
        schema.REQUEST.c.request_hash,
        schema.REQUEST.c.response_hash,
    ):
        statement = statement.where(~select(column).where(column == schema.PAYLOAD.c.hash).exists())
    connection.execute(statement)


def _forget_words(connection: Connection, session_id: int) -> None:
    """A contentless index must be told the very words that it is to forget."""
    from sessions.store.reading import stored_steps

    kind = connection.execute(select(schema.SESSION.c.kind).where(schema.SESSION.c.id == session_id)).scalar()
    statement = text("INSERT INTO step_words (step_words, rowid, kind, words) VALUES ('delete', :step, :kind, :words)")
    for stored in stored_steps(connection, session_id):
        connection.execute(statement, {"step": stored.id, "kind": kind, "words": codec.searchable(stored.step)})


def put_request(connection: Connection, session_id: int, request: RequestRecord) -> None:
    """One request to a model; its bodies are stored once, without keys and headers."""
    row = {
        "session_id": session_id,
        "branch": request.branch,
        "position": request.position,
        "kind": codec.clean(request.kind),
        "model": codec.clean(request.model),
        "request_hash": put_payload(connection, codec.encoded(request.request)),
        "response_hash": put_payload(connection, codec.encoded(request.response)),
        "usage": codec.encoded(request.usage),
        "error": codec.clean(request.error),
        "duration_s": request.duration_s,
        "created_at": request.created_at or time.time(),
    }
    connection.execute(insert(schema.REQUEST).values(row))


def put_results(connection: Connection, scope: str, rows: Sequence[tuple[str, bytes]]) -> None:
    """Results of items; the same item replaces."""
    now = time.time()
    put(
        connection,
        schema.RESULT,
        [{"scope": scope, "item": item, "body": body, "created_at": now} for item, body in rows],
        replace=("body", "created_at"),
    )


def put_ruling(connection: Connection, key: str, body: bytes) -> None:
    row = {"key": key, "body": body, "created_at": time.time()}
    put(connection, schema.RULING, [row], replace=("body", "created_at"))


def put_place(connection: Connection, session_id: int, cursor: Cursor | None, promoted: int | None) -> None:
    """Where a person is looking, and which branch is to be exported."""
    values = {
        "cursor_branch": cursor.branch if cursor is not None else None,
        "cursor_at": cursor.at if cursor is not None else None,
        "promoted": promoted,
    }
    connection.execute(update(schema.SESSION).where(schema.SESSION.c.id == session_id).values(values))


def touched_row(dataset: str, uuid: str, session_id: int | None) -> dict[str, Any]:
    return {
        "dataset": codec.clean(dataset),
        "uuid": codec.clean(uuid),
        "last_at": time.time(),
        "session_id": session_id,
    }
