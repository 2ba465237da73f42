"""From a database and questions with SQL to the source of a domain: which tasks a dataset is to have.

What cannot become a task is reported with its reason. The order of everything depends on input and seed alone.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from toolenv.build.chains import make_chain
from toolenv.build.connectivity import HOP_WEIGHTS, Connectivity, HopChain, quotas, told
from toolenv.build.database_schema import DatabaseSchema, read_schema
from toolenv.build.endpoints import EndpointCatalogue, refuse_other_answer
from toolenv.build.entities import Entities
from toolenv.build.families import families, signature
from toolenv.build.gold import Gold
from toolenv.build.hops import HopTemplate, gold_joins, question_hops
from toolenv.build.multi_source import MultiSource, MultiSourceMaker
from toolenv.build.passage_hops import PassageHops
from toolenv.build.plan_reading import read_plan
from toolenv.build.policies import topic_for
from toolenv.build.questions import StatedFact
from toolenv.build.schema_hops import SchemaHops
from toolenv.build.schema_rankings import SchemaRankings
from toolenv.build.schema_reading import SchemaReading
from toolenv.build.source import (
    DomainSource,
    NotBuildable,
    Passage,
    Question,
    Rejection,
    Split,
    SqlHop,
    Style,
    Task,
    TaskTurn,
)
from toolenv.build.template import make_template
from toolenv.build.truth import Rows
from toolenv.build.words import Vocabulary
from toolenv.errors import DataError
from toolenv.model import Value
from toolenv.values import normal_text

CHAINS = 240
"""Multi-hop instances of a domain, unless told otherwise."""

TRAIN_SHARE = 0.2
"""Share of the templates that only the train split uses, unless told otherwise."""

MULTI_SOURCE = 60
"""Multi-source instances of a domain that has documents, unless told otherwise."""

_TRIES_A_CHAIN = 30
_LEADING_HOPS = 30


class BuildSettings(Value, frozen=True):
    """What a build may be told of a domain. ``hop_weights`` are the shares of chains of one, two ... hops; ``lookups``
    is the number of endpoints that look-ups of the schema fill up to."""

    seed: int = 0
    chains: int = CHAINS
    multi_source: int = MULTI_SOURCE
    hop_weights: tuple[float, ...] = HOP_WEIGHTS
    train_share: float = TRAIN_SHARE
    topic: str | None = None
    lookups: int = 0


class DomainInput(Value, frozen=True):
    """What a domain is made from. ``database`` is the copy that the dataset will hold; ``described`` says what columns
    are called. ``tasks`` are instances that somebody stated in full; ``offered`` are collections of other domains."""

    name: str
    database: Path
    questions: tuple[Question, ...]
    tasks: tuple[Task, ...] = ()
    passages: tuple[Passage, ...] = ()
    facts: tuple[StatedFact, ...] = ()
    distractors: Mapping[str, tuple[Passage, ...]] = {}
    offered: tuple[str, ...] = ()
    described: Mapping[str, str] = {}


class Generated(Value, frozen=True):
    """The source of a domain, with what was counted on the way.

    ``accepted`` are the questions that became endpoints, ``edges`` the pairs of hop templates that can follow each
    other.
    """

    source: DomainSource
    accepted: int
    asked: int
    stated: int
    merged_away: int
    edges: int
    hop_templates: int
    rejections: tuple[Rejection, ...]


class Generator:
    """Makes the source of one domain."""

    def __init__(self, given: DomainInput, settings: BuildSettings) -> None:
        self._given = given
        self._settings = settings
        self._rejections: list[Rejection] = []
        self._tested: frozenset[str] = frozenset()
        self._stated: dict[str, Split] = {}
        self._families: Mapping[str, str] = {}

    def make(self) -> Generated:
        """Everything of the domain. Raises ``EnvironmentFailure`` when the database cannot be read."""
        given = self._given
        gold = Gold(given.database)
        try:
            schema = read_schema(gold.connection)
            self._keep_stated(schema)
            accepted = self._endpoints(schema, gold)
            self._families = families([(normal_text(q.question), key) for q, key, _ in accepted])
            self._stated = {self._family(key): split for key, split in self._stated.items()}
            vocabulary = Vocabulary(
                [q.question for q in given.questions],
                [t.name for t in schema.tables] + [c.name for t in schema.tables for c in t.columns],
                given.described,
            )
            entities = Entities(gold.connection, schema, gold_joins(given.questions, schema))
            reading = SchemaReading(gold.connection, schema, entities, vocabulary)
            templates = _once(
                [
                    *question_hops(
                        [q for q, _, _ in accepted], schema, entities, vocabulary, gold.answers_once, given.name
                    ),
                    *SchemaHops(reading).all(),
                    *SchemaRankings(reading).all(),
                ]
            )
            self._keep_in_test(templates)
            edges = Connectivity(templates, entities, gold).edges
            tasks = [*self._chain_tasks(accepted, schema), *self._endpoint_tasks(accepted)]
            tasks += self._multi_hop(templates, entities, gold)
            passages = given.passages
            if passages and self._settings.multi_source:
                found = self._multi_source(templates, entities, vocabulary, gold)
                tasks += found.tasks
                passages = found.passages
        finally:
            gold.close()
        source = DomainSource(
            name=given.name,
            database=given.database,
            topic=topic_for(given.name, self._settings.topic),
            passages=passages,
            offered=(*given.offered, *given.distractors),
            distractors=given.distractors,
            questions=tuple(q for q, _, _ in accepted if q.becomes("tool")),
            tasks=self._with_stated(tasks),
            lookups=self._settings.lookups,
            distinct_queries=False,
        )
        return Generated(
            source=source,
            accepted=len(accepted),
            asked=len(given.questions),
            stated=len(given.tasks),
            merged_away=len(accepted) - len({key for _, key, _ in accepted}),
            edges=edges,
            hop_templates=len(templates),
            rejections=tuple(self._rejections),
        )

    def _keep_in_test(self, templates: Sequence[HopTemplate]) -> None:
        """Where few hops lead on to others, dividing them would leave neither split enough: then test has them all."""
        leading = {t.template.key for t in templates if t.phrase_asked}
        if len(leading) < _LEADING_HOPS:
            self._tested = frozenset(self._family(key) for key in leading)

    def _keep_stated(self, schema: DatabaseSchema) -> None:
        """The templates that stated tasks use belong to the split that is stated. Raises ``DataError`` for two."""
        for task in self._given.tasks:
            for hop in (h for turn in task.turns for h in turn.hops if isinstance(h, SqlHop)):
                try:
                    key = make_template(hop.sql, schema).key
                except NotBuildable:
                    # The writer tells why this task cannot be.
                    continue
                if self._stated.setdefault(key, task.split) != task.split:
                    raise DataError(
                        f"the stated task {task.key!r} is for {task.split}, but another split uses its {hop.query!r}"
                    )

    def _family(self, template_key: str) -> str:
        return self._families.get(signature(template_key), template_key)

    def _split(self, template_key: str) -> Split:
        family = self._family(template_key)
        if family in self._stated:
            return self._stated[family]
        if family in self._tested:
            return "test"
        digest = hashlib.sha256(f"{self._settings.seed}/{family}".encode()).digest()
        return "train" if int.from_bytes(digest[:8], "big") < self._settings.train_share * 2**64 else "test"

    def _reject(self, stage: str, subject: str, error: NotBuildable | str) -> None:
        self._rejections.append(
            Rejection(domain=self._given.name, stage=stage, subject=subject, reason=str(error))  # type: ignore[arg-type]
        )

    def _endpoints(self, schema: DatabaseSchema, gold: Gold) -> list[tuple[Question, str, Rows]]:
        """The questions whose SQL becomes an endpoint with the gold answer, each with its template's key and answer."""
        catalogue = EndpointCatalogue(self._given.name, schema)
        accepted = []
        seen: set[tuple[str, str]] = set()
        for question in self._given.questions:
            identity = (normal_text(question.question), question.sql)
            try:
                if identity in seen:
                    raise NotBuildable("the same question with the same SQL stands in the file before")
                seen.add(identity)
                rows = gold.rows(question.sql)
                before = len(catalogue.endpoints)
                endpoint, arguments = catalogue.add(question)
                try:
                    gold.start_clock()
                    refuse_other_answer(gold.connection, endpoint, arguments, rows)
                except NotBuildable:
                    if len(catalogue.endpoints) > before:
                        catalogue.remove(endpoint)
                    raise
                accepted.append((question, make_template(question.sql, schema).key, rows))
            except NotBuildable as error:
                self._reject("endpoint", question.question, error)
        return accepted

    def _with_stated(self, made: Sequence[Task]) -> tuple[Task, ...]:
        """All tasks, the stated ones after those that were made. Raises ``DataError`` where two have one key."""
        tasks = (*made, *self._given.tasks)
        twice = [key for key, number in Counter(task.key for task in tasks).items() if number > 1]
        if twice:
            raise DataError(f"two tasks of {self._given.name} have the key {twice[0]!r}; give each its own")
        return tasks

    def _chain_tasks(self, accepted: Sequence[tuple[Question, str, Rows]], schema: DatabaseSchema) -> list[Task]:
        """A task of each style for every question whose SQL the BI tools can carry out."""
        styles: tuple[Style, ...] = ("slot", "sel")
        tasks = []
        for style in styles:
            for number, (question, key, rows) in enumerate(accepted):
                if not question.becomes(style):
                    continue
                try:
                    _refuse_told(question, rows)
                    plan = read_plan(question.sql, schema)
                    make_chain(plan, style, uuid="", domain=self._given.name, query=question.question)
                except NotBuildable as error:
                    self._reject(f"{style} chain", question.question, error)
                    continue
                tasks.append(self._task(question.task_key(style, number), 1, question, self._split(key), style))
        return tasks

    def _endpoint_tasks(self, accepted: Sequence[tuple[Question, str, Rows]]) -> list[Task]:
        tasks = []
        for number, (question, key, rows) in enumerate(accepted):
            if not question.becomes("endpoint"):
                continue
            try:
                _refuse_told(question, rows)
            except NotBuildable as error:
                self._reject("endpoint task", question.question, error)
                continue
            tasks.append(self._task(question.task_key("endpoint", number), 2, question, self._split(key), None))
        return tasks

    def _task(self, key: str, capability: int, question: Question, split: Split, style: Style | None) -> Task:
        hop = SqlHop(query=question.question, sql=question.sql)
        turn = TaskTurn(query=question.question, hops=(hop,))
        return Task(key=key, capability=capability, turns=(turn,), style=style, split=split)

    def _multi_hop(self, templates: Sequence[HopTemplate], entities: Entities, gold: Gold) -> list[Task]:
        tasks = []
        train = 0.0 if self._tested else self._settings.train_share
        shares: Mapping[Split, float] = {"test": 1 - train, "train": train}
        for split, share in shares.items():
            own = [t for t in templates if self._split(t.template.key) == split]
            wanted = quotas(round(self._settings.chains * share), self._settings.hop_weights)
            rng = random.Random(f"{self._settings.seed}/{self._given.name}/{split}")
            found = list(Connectivity(own, entities, gold).chains(wanted, rng, _TRIES_A_CHAIN))
            lacking = sum(wanted.values()) - len(found)
            if lacking:
                self._reject("multi-hop", f"{lacking} chains of the {split} split", "the graph has no more of them")
            tasks += [self._chain_task(f"hops/{split}/{n}", chain, split) for n, chain in enumerate(found)]
        return tasks

    def _multi_source(
        self, templates: Sequence[HopTemplate], entities: Entities, vocabulary: Vocabulary, gold: Gold
    ) -> MultiSource:
        """The tasks that need documents; all in the test split, for a document serves one split only."""
        own = [t for t in templates if self._split(t.template.key) == "test"]
        maker = MultiSourceMaker(
            domain=self._given.name,
            topic=topic_for(self._given.name, self._settings.topic),
            graph=Connectivity(own, entities, gold),
            entities=entities,
            hops=list(PassageHops(entities, vocabulary).all(self._given.passages, self._given.facts)),
            passages=self._given.passages,
            rng=random.Random(f"{self._settings.seed}/{self._given.name}/documents"),
        )
        made = maker.make(self._settings.multi_source)
        lacking = self._settings.multi_source - len(made.tasks)
        if lacking > 0:
            self._reject("multi-source", f"{lacking} instances", "the documents and the graph give no more of them")
        return made

    def _chain_task(self, key: str, chain: HopChain, split: Split) -> Task:
        hops = tuple(SqlHop(query=hop.query, sql=hop.sql) for hop in chain.hops)
        return Task(key=key, capability=3, turns=(TaskTurn(query=chain.question, hops=hops),), split=split)


def _refuse_told(question: Question, rows: Rows) -> None:
    """Raise ``NotBuildable`` when a question tells its own answer, unless it offers it as one of several to choose
    from.
    """
    if len(rows) == 1 and not offers_choice(question.question):
        value = next((cell for cell in rows[0] if told(cell, question.question)), None)
        if value is not None:
            raise NotBuildable(f"the question tells its own answer: {value!r}")


def offers_choice(text: str) -> bool:
    """Whether a question names the answers to choose from."""
    words = f" {normal_text(text)} "
    return " or " in words or " between " in words or " which of " in words


def _once(templates: Sequence[HopTemplate]) -> list[HopTemplate]:
    """The first hop of each template and slot: a question's own before the one that the schema suggests."""
    found: dict[tuple[str, tuple[str, ...]], HopTemplate] = {}
    for template in templates:
        found.setdefault((template.template.key, template.slot), template)
    return list(found.values())
