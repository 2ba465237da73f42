"""Executed sides as the rows that they become: what can be worked out without a database, a worker process included.

Nothing here imports SQLAlchemy.
"""

from __future__ import annotations

import hashlib

from sessions.store import codec
from sessions.store.records import ExecutedRecord, NewSession, PreparedSession, PreparedStep
from sessions.trajectory import CallTool, Step

SHOWN_QUERY = 300
"""Characters of an instance's query that the list of sessions carries."""


def session_row(new: NewSession, instance_hash: str) -> dict[str, str | int]:
    """The columns of a session that say what it is about."""
    return {
        "kind": new.kind,
        "title": codec.clean(new.title),
        "dataset": codec.clean(new.dataset),
        "dataset_path": codec.clean(new.dataset_path),
        "capability": new.instance.capability,
        "domain": codec.clean(new.instance.domain),
        "uuid": codec.clean(new.instance.uuid),
        "query": codec.clean(new.instance.query[:SHOWN_QUERY]) if new.instance.turns else "",
        "run": codec.clean(new.run),
        "run_fingerprint": codec.clean(new.run_fingerprint),
        "environment": codec.clean(new.environment),
        "instance_hash": instance_hash,
    }


def kind_of(step: Step) -> str:
    """The decision's tag: ``call``, ``answer``, ``give_up`` or ``message``."""
    return str(step.decision.__struct_config__.tag)


def prepared(record: ExecutedRecord) -> PreparedSession:
    """A record as the rows that it becomes, secrets taken out."""
    new = NewSession(
        instance=record.instance,
        kind="batch",
        title=record.side.replace("_", " "),
        dataset=record.dataset,
        dataset_path=record.dataset_path,
        run=record.run,
        run_fingerprint=record.run_fingerprint,
        environment=record.environment,
    )
    instance = codec.payload(codec.encoded(record.instance))
    payloads = [instance]
    steps = []
    for step in record.trajectory.steps:
        made, more = _prepared_step(step)
        steps.append(made)
        payloads += more
    return PreparedSession(
        identity=identity_of(record),
        row=session_row(new, instance.hash),
        payloads=tuple((payload.hash, payload.size, payload.data) for payload in payloads),
        steps=tuple(steps),
        requests=record.requests,
    )


def identity_of(record: ExecutedRecord) -> str:
    """What makes two records the same trajectory: the later one replaces the earlier."""
    parts = (
        record.dataset,
        record.run_fingerprint or record.run,
        record.instance.uuid,
        record.side,
        record.environment,
    )
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _prepared_step(step: Step) -> tuple[PreparedStep, tuple[codec.Payload, ...]]:
    parts = codec.encoded_step(step)
    made = PreparedStep(
        actor=step.actor,
        kind=kind_of(step),
        tool=codec.clean(step.decision.call.name) if isinstance(step.decision, CallTool) else "",
        failed=step.result is not None and step.result.failed,
        body=parts.body,
        body_hash=parts.body_hash,
        text_hash=parts.text_hash,
        words=parts.search_text,
    )
    return made, parts.payloads
