"""What is read, as functions over a connection; the number of statements never depends on what a session holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, Select, exists, func, or_, select, tuple_

from sessions.branches import Branch, Cursor, Drift, Tree
from sessions.store import codec, schema
from sessions.store.records import (
    Mark,
    Note,
    Page,
    SessionCounts,
    SessionKind,
    SessionSummary,
    StoredSession,
    StoredVerdict,
)
from sessions.trajectory import Step
from toolenv.errors import StoreError
from toolenv.model import Instance, Value

AnyRow = Row[*tuple[Any, ...]]
AnySelect = Select[*tuple[Any, ...]]

S = schema.SESSION.c
BODY = schema.PAYLOAD.alias("body_payload")
TEXT = schema.PAYLOAD.alias("text_payload")

_OF_SESSION = schema.BRANCH.c.session_id == S.id
_OWN = (
    schema.STEP.c.branch_id == schema.BRANCH.c.id,
    _OF_SESSION,
    schema.STEP.c.actor.in_(("human", "agent", "ground_truth")),
)
"""Steps of a session that no recording made and that do not open it."""

_R = schema.HUMAN_RULING.c
_RULED = (_R.dataset == S.dataset, _R.run == S.run_fingerprint, _R.uuid == S.uuid)
_FLAGGED = (schema.FLAG.c.dataset == S.dataset, schema.FLAG.c.uuid == S.uuid)

_DONE: Mapping[str, tuple[ColumnElement[bool], ...]] = {
    "own_steps": _OWN,
    "notes": (schema.NOTE.c.session_id == S.id,),
    "marks": (schema.MARK.c.session_id == S.id,),
    "rulings": _RULED,
    "flags": _FLAGGED,
}
"""What a person can have done, besides forking: field of a summary -> which rows count."""

WORKED = or_(S.branches > 1, *(exists().where(*rows).correlate(schema.SESSION) for rows in _DONE.values()))
"""Whether something was done in a session; ``SessionSummary.worked`` says the same of a line that was read."""

SUMMARY = (
    S.id,
    S.key,
    S.kind,
    S.title,
    S.dataset,
    S.dataset_path,
    S.capability,
    S.domain,
    S.uuid,
    S.query,
    S.run,
    S.run_fingerprint,
    S.environment,
    S.created_at,
    S.updated_at,
    S.steps,
    S.branches,
    S.passed,
    *(
        select(func.count()).where(*rows).correlate(schema.SESSION).scalar_subquery().label(name)
        for name, rows in _DONE.items()
    ),
)


class StoredStep(Value, frozen=True):
    """A step with its place."""

    id: int
    branch: int
    position: int
    step: Step


def summary(row: AnyRow) -> SessionSummary:
    values = {column.name: row._mapping[column.name] for column in SUMMARY}
    return codec.record(values, SessionSummary, "A session")


def list_statement(
    kind: SessionKind,
    limit: int,
    before: tuple[float, int] | None = None,
    uuid: str | None = None,
    *,
    worked: bool = False,
) -> AnySelect:
    """One page of the list, by index; ``worked`` leaves out sessions that were merely looked at."""
    statement = select(*SUMMARY).where(S.kind == kind)
    if worked:
        statement = statement.where(WORKED)
    if uuid is not None:
        statement = statement.where(S.uuid == uuid)
    if before is not None:
        statement = statement.where(tuple_(S.updated_at, S.id) < tuple_(*before))
    return statement.order_by(S.updated_at.desc(), S.id.desc()).limit(limit + 1)


def counts(connection: Connection, kind: SessionKind) -> SessionCounts:
    """How many sessions of a kind there are, and in how many something was done."""
    number = select(func.count()).select_from(schema.SESSION).where(S.kind == kind)
    return SessionCounts(
        total=connection.execute(number).scalar_one(), worked=connection.execute(number.where(WORKED)).scalar_one()
    )


def page(
    connection: Connection,
    kind: SessionKind,
    limit: int,
    before: tuple[float, int] | None,
    uuid: str | None,
    *,
    worked: bool = False,
) -> Page:
    rows = connection.execute(list_statement(kind, limit, before, uuid, worked=worked)).all()
    items = tuple(summary(row) for row in rows[:limit])
    more = len(rows) > limit
    return Page(items=items, next=(items[-1].updated_at, items[-1].id) if more else None)


def session_id_of(connection: Connection, key: str) -> int:
    """The session whose key is ``key`` or begins with it. Raises ``StoreError`` where it is none or several."""
    if not key.isascii() or not key.isalnum():
        raise StoreError(f"There is no session {key!r}; list them with 'vakra-tui sessions'.")
    found = connection.execute(
        select(S.id, S.key).where(S.key >= key, S.key < key + "\x7f").order_by(S.key).limit(2)
    ).all()
    if not found:
        raise StoreError(f"There is no session {key!r}; list them with 'vakra-tui sessions'.")
    if len(found) > 1 and found[0].key != key:
        raise StoreError(f"Several sessions begin with {key!r} ({found[0].key}, {found[1].key} ...); write more of it.")
    return int(found[0].id)


def steps_statement() -> AnySelect:
    """Steps with their contents, for a condition to be added."""
    return (
        select(
            schema.STEP.c.id.label("step_id"),
            schema.BRANCH.c.number.label("branch_number"),
            schema.STEP.c.position,
            schema.STEP.c.actor,
            schema.STEP.c.kind.label("step_kind"),
            schema.STEP.c.tool,
            schema.STEP.c.body,
            BODY.c.data.label("body_data"),
            TEXT.c.data.label("text_data"),
        )
        .join(schema.BRANCH, schema.BRANCH.c.id == schema.STEP.c.branch_id)
        .join(BODY, BODY.c.hash == schema.STEP.c.body_hash, isouter=True)
        .join(TEXT, TEXT.c.hash == schema.STEP.c.text_hash, isouter=True)
    )


def step_of(row: AnyRow) -> Step:
    """The step of one row of ``steps_statement``. Raises ``StoreError`` for one that cannot be read."""
    values = row._mapping
    where = f"Step {values['position'] + 1} of branch {values['branch_number']}"
    body = values["body"]
    if body is None:
        if values["body_data"] is None:
            raise StoreError(f"{where} has no content in the session store; the store is damaged.")
        body = codec.unpacked(values["body_data"], where)
    text = codec.unpacked(values["text_data"], where) if values["text_data"] is not None else None
    return codec.decoded_step(body, text, where)


def stored_steps(connection: Connection, session_id: int) -> list[StoredStep]:
    """All steps of a session, by branch and position."""
    statement = (
        steps_statement()
        .where(schema.BRANCH.c.session_id == session_id)
        .order_by(schema.BRANCH.c.number, schema.STEP.c.position)
    )
    return [
        StoredStep(
            id=row._mapping["step_id"],
            branch=row._mapping["branch_number"],
            position=row._mapping["position"],
            step=step_of(row),
        )
        for row in connection.execute(statement)
    ]


def load(connection: Connection, session_id: int) -> StoredSession:
    """One session, whole. Raises ``StoreError`` where there is none."""
    row = connection.execute(
        select(*SUMMARY, S.promoted, S.cursor_branch, S.cursor_at, schema.PAYLOAD.c.data.label("instance_data"))
        .join(schema.PAYLOAD, schema.PAYLOAD.c.hash == S.instance_hash)
        .where(S.id == session_id)
    ).first()
    if row is None:
        raise StoreError(f"There is no session {session_id} in the store any more.")
    values = row._mapping
    where = f"The instance of session {values['key']}"
    instance = codec.decoded(codec.unpacked(values["instance_data"], where), Instance, where)
    tree = Tree(instance=instance, branches=_branches(connection, session_id), promoted=values["promoted"])
    if not _is_sound(tree):
        raise StoreError(f"The branches of session {values['key']} do not fit together; the store is damaged.")
    cursor = None
    if values["cursor_branch"] is not None and values["cursor_at"] is not None:
        place = {"branch": values["cursor_branch"], "at": values["cursor_at"]}
        cursor = codec.record(place, Cursor, f"The place in session {values['key']}")
    return StoredSession(
        summary=summary(row),
        tree=tree,
        notes=notes(connection, session_id),
        marks=marks(connection, session_id),
        verdicts=verdicts(connection, session_id),
        cursor=cursor,
    )


def _is_sound(tree: Tree) -> bool:
    """Whether every branch leads back to the first one, and the one to be exported is there."""
    for place, branch in enumerate(tree.branches):
        if branch.number != place or (branch.parent is not None and not 0 <= branch.parent < place):
            return False
    return bool(tree.branches) and (tree.promoted is None or tree.promoted in range(len(tree.branches)))


def _branches(connection: Connection, session_id: int) -> tuple[Branch, ...]:
    b = schema.BRANCH.c
    rows = connection.execute(
        select(b.number, b.name, b.parent, b.fork_at, b.replayed).where(b.session_id == session_id).order_by(b.number)
    ).all()
    steps: dict[int, list[Step]] = {}
    for stored in stored_steps(connection, session_id):
        steps.setdefault(stored.branch, []).append(stored.step)
    return tuple(
        msgspec.structs.replace(
            codec.record({**row._mapping, "replayed": ()}, Branch, "A branch"),
            steps=tuple(steps.get(row.number, ())),
            replayed=codec.decoded(row.replayed, tuple[Drift, ...], "A branch") if row.replayed is not None else (),
        )
        for row in rows
    )


def notes(connection: Connection, session_id: int) -> tuple[Note, ...]:
    c = schema.NOTE.c
    rows = connection.execute(
        select(c.id, c.text, c.created_at, c.branch, c.position).where(c.session_id == session_id).order_by(c.id)
    )
    return tuple(codec.record(row._mapping, Note, "A note") for row in rows)


def marks(connection: Connection, session_id: int) -> tuple[Mark, ...]:
    c = schema.MARK.c
    rows = connection.execute(select(c.name, c.branch, c.at).where(c.session_id == session_id).order_by(c.name))
    places = (({"branch": row.branch, "at": row.at}, row.name) for row in rows)
    return tuple(codec.record({"name": name, "place": place}, Mark, "A mark") for place, name in places)


def verdicts(connection: Connection, session_id: int) -> tuple[StoredVerdict, ...]:
    c = schema.VERDICT.c
    rows = connection.execute(
        select(c.branch, c.steps, c.profile, c.judge, c.passed, c.body, c.created_at)
        .where(c.session_id == session_id)
        .order_by(c.id)
    )
    return tuple(
        codec.record(
            {**row._mapping, "body": codec.decoded(codec.as_bytes(row.body), Any, "A verdict")},
            StoredVerdict,
            "A verdict",
        )
        for row in rows
    )
