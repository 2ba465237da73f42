"""The values that go into the store and come out of it. Times are seconds since 1970, UTC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from sessions.branches import Cursor, Tree
from sessions.trajectory import Trajectory
from toolenv.model import Instance, Json, Value

SessionKind = Literal["person", "batch"]
"""Sessions of a batch are kept apart from the list that a person sees."""


class NewSession(Value, frozen=True):
    """What a session begins with.

    ``dataset`` and ``run_fingerprint`` are fingerprints (``sha256:...``); ``environment`` says where its tools run.
    """

    instance: Instance
    kind: SessionKind = "person"
    title: str = ""
    dataset: str = ""
    dataset_path: str = ""
    run: str = ""
    run_fingerprint: str = ""
    environment: str = ""


class SessionRef(Value, frozen=True):
    """``id`` is the store's own number, ``key`` what a person writes."""

    id: int
    key: str


class SessionSummary(Value, frozen=True):
    """One line of the list of sessions. ``steps`` counts those of all branches; ``passed`` is the last verdict's.

    ``own_steps`` are those that no recording made: a person's, an agent's, the ground truth's. ``rulings`` are those of
    a person on gates of the run's prediction, ``flags`` those on the instance.
    """

    id: int
    key: str
    kind: SessionKind
    title: str
    dataset: str
    dataset_path: str
    capability: int
    domain: str
    uuid: str
    query: str
    run: str
    run_fingerprint: str
    environment: str
    created_at: float
    updated_at: float
    steps: int
    branches: int
    passed: bool | None = None
    own_steps: int = 0
    notes: int = 0
    marks: int = 0
    rulings: int = 0
    flags: int = 0

    @property
    def worked(self) -> bool:
        """Whether something was done in it; a session whose recording was merely looked at has nothing of its own."""
        return self.branches > 1 or bool(self.own_steps or self.notes or self.marks or self.rulings or self.flags)


class SessionCounts(Value, frozen=True):
    """How many sessions of a kind there are, and in how many of them something was done."""

    total: int
    worked: int


class Page(Value, frozen=True):
    """Some lines of the list, newest first; ``next`` asks for the page after it, None at the end."""

    items: tuple[SessionSummary, ...]
    next: tuple[float, int] | None = None


class Note(Value, frozen=True):
    """What a person wrote about a session, or about one step (``position`` from 0) of a branch."""

    id: int
    text: str
    created_at: float
    branch: int | None = None
    position: int | None = None


class Mark(Value, frozen=True):
    """A named place in a session."""

    name: str
    place: Cursor


class Flag(Value, frozen=True):
    """What a person says about an instance itself (``ground truth wrong``, ``ambiguous`` ...), for export."""

    dataset: str
    uuid: str
    kind: str
    text: str = ""
    created_at: float = 0.0


class Touched(Value, frozen=True):
    """An instance that a person opened, with the session that was opened last."""

    dataset: str
    uuid: str
    last_at: float
    session_id: int | None = None


class RunRecord(Value, frozen=True):
    """A run that was opened or made. ``detail`` is free: model, counts, options without keys."""

    fingerprint: str
    name: str
    dataset: str = ""
    path: str = ""
    detail: Mapping[str, Json] = {}
    created_at: float = 0.0


class RequestRecord(Value, frozen=True):
    """One request to a model: what was asked, what came back, what it cost.

    ``kind`` is ``agent``, ``judge`` or ``embedding``; ``position`` is the step (from 0) that it led to.
    """

    kind: str
    model: str
    request: Json
    response: Json = None
    usage: Mapping[str, Json] = {}
    duration_s: float = 0.0
    branch: int | None = None
    position: int | None = None
    error: str = ""
    created_at: float = 0.0


class StoredVerdict(Value, frozen=True):
    """A verdict about the first ``steps`` steps of a branch; ``body`` is the verdict's JSON."""

    branch: int
    steps: int
    profile: str
    judge: str
    passed: bool | None
    body: Json
    created_at: float = 0.0


class StoredSession(Value, frozen=True):
    """One session, whole."""

    summary: SessionSummary
    tree: Tree
    notes: tuple[Note, ...] = ()
    marks: tuple[Mark, ...] = ()
    verdicts: tuple[StoredVerdict, ...] = ()
    cursor: Cursor | None = None


class Hit(Value, frozen=True):
    """One step that a search found. ``excerpt`` is the text around the first match; ``id`` asks for those after it."""

    id: int
    session: SessionSummary
    branch: int
    position: int
    actor: str
    kind: str
    tool: str
    excerpt: str


class ExecutedRecord(Value, frozen=True):
    """One executed side of an instance, to be kept as a batch session; ``requests`` led to its steps."""

    instance: Instance
    trajectory: Trajectory
    side: Literal["prediction", "ground_truth"] = "prediction"
    dataset: str = ""
    run: str = ""
    run_fingerprint: str = ""
    environment: str = ""
    requests: tuple[RequestRecord, ...] = ()
    dataset_path: str = ""


class PreparedStep(Value, frozen=True):
    """A step as the row that it becomes, and its words for the search."""

    actor: str
    kind: str
    tool: str
    failed: bool
    body: bytes | None
    body_hash: str | None
    text_hash: str | None
    words: str


class PreparedSession(Value, frozen=True):
    """An executed side as the rows that it becomes; ``payloads`` are (hash, size, compressed content).

    ``passed`` is its verdict's, None where it has none or is undecided.
    """

    identity: str
    row: dict[str, str | int]
    payloads: tuple[tuple[str, int, bytes], ...]
    steps: tuple[PreparedStep, ...]
    requests: tuple[RequestRecord, ...] = ()
    passed: bool | None = None
