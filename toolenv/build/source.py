"""What a dataset is built from: one value a domain, holding its database, passages and tasks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from toolenv.errors import VakraError
from toolenv.model import Json, Value

Style = Literal["slot", "sel"]
Become = Literal["tool", "endpoint", "slot", "sel"]
"""What a question may become: an endpoint that is only offered, an endpoint task, a chain of a style."""


class NotBuildable(VakraError):
    """A question, hop or task cannot become part of a dataset; the sentence says which and why."""


Split = Literal["test", "train"]


class Rejection(Value, frozen=True):
    """Something that did not become part of a dataset. ``stage`` is what it was to become."""

    domain: str
    stage: Literal[
        "endpoint", "slot chain", "sel chain", "endpoint task", "multi-hop", "multi-source", "passage", "split"
    ]
    subject: str
    reason: str


class SqlHop(Value, frozen=True, tag="sql", tag_field="source"):
    """A hop that the dashboards answer: its own question and the gold SQL with the literals that it is asked with."""

    query: str
    sql: str


class DocumentHop(Value, frozen=True, tag="document", tag_field="source"):
    """A hop that a passage answers: the question put to the retriever, the answer, and the passage that holds it."""

    query: str
    answer: str
    doc_id: str


Hop = SqlHop | DocumentHop


class TaskTurn(Value, frozen=True):
    """One user turn. ``answer`` is given only where it is not the last hop's own answer (a refusal, a wording)."""

    query: str
    hops: tuple[Hop, ...] = ()
    answer: Json = None


class PolicyNote(Value, frozen=True):
    """What the author of a policy intends; for slices and people only (the text is what counts)."""

    kind: str
    topic: str | None
    applies: bool
    effect: Literal["none", "source_changed", "unanswerable"]


class Task(Value, frozen=True):
    """One instance to be. ``style`` is for capability 1; ``key`` is unique in the domain and decides the uuid."""

    key: str
    capability: int
    turns: tuple[TaskTurn, ...]
    style: Style | None = None
    policy: str = ""
    policy_note: PolicyNote | None = None
    blocked_source: str | None = None
    ground_truth: bool = True
    split: Split = "test"


class Question(Value, frozen=True):
    """A question with its gold SQL that becomes an endpoint, under the given name if there is one.

    ``become`` says which of all that it could become it is to be (None: all); ``key`` names its tasks.
    """

    question: str
    sql: str
    operation_id: str | None = None
    key: str | None = None
    become: tuple[Become, ...] | None = None

    def becomes(self, what: Become) -> bool:
        return self.become is None or what in self.become

    def task_key(self, what: Become, number: int) -> str:
        """The key of the task that the ``number``-th question becomes; its own where it becomes that one thing."""
        if self.key is None:
            return f"{what}/{number}"
        return self.key if self.become == (what,) else f"{what}/{self.key}"


class Passage(Value, frozen=True):
    """A document of the retriever. ``shared`` passages state on purpose what the database also holds."""

    doc_id: str
    text: str
    shared: bool = False


class DomainSource(Value, frozen=True):
    """Everything that one domain of a dataset is built from.

    ``offered`` are the collections offered with this domain's own in capability 4; ``lookups`` is how many
    endpoints derived from the schema alone are added to those of the questions and hops. With ``distinct_queries`` no
    two tasks may ask the same once values are removed. ``distractors`` are passages of other collections, by name.
    """

    name: str
    database: Path
    topic: str | None = None
    questions: tuple[Question, ...] = ()
    tasks: tuple[Task, ...] = ()
    passages: tuple[Passage, ...] = ()
    offered: tuple[str, ...] = ()
    lookups: int = 0
    distinct_queries: bool = True
    distractors: Mapping[str, tuple[Passage, ...]] = {}
