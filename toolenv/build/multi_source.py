"""Tasks that need documents: paths through both sources, dialogues, and policies that allow, change or bar a path."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from toolenv.build.connectivity import ChainHop, Connectivity, Lead, Thing, told
from toolenv.build.decontamination import AskedFact, asked_fact, leaks
from toolenv.build.entities import Entities, Entity
from toolenv.build.merging import filled, reads_well
from toolenv.build.passage_hops import PassageHop, split_sentences
from toolenv.build.policies import REFUSAL, PolicyDeck, PolicyName, PolicyText
from toolenv.build.source import DocumentHop, Hop, Passage, SqlHop, Task, TaskTurn
from toolenv.build.words import sentence
from toolenv.model import Json, Value
from toolenv.values import occurs

_MOST_NAMES = 2000
_LEADS_A_THING = 3
_FOLLOWERS_A_THING = 4
_MOST_SHARED = 2
_LONGEST_QUESTION = 45
_UNANSWERABLE_SHARE = 0.15
Source = Literal["API", "RAG"]


class _Path(Value, frozen=True):
    """A path before it has a key and a policy. ``pattern`` is for taking turns among the kinds of paths."""

    pattern: str
    turns: tuple[TaskTurn, ...]
    facts: tuple[AskedFact, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of the last turn's hops."""
        return tuple("RAG" if isinstance(hop, DocumentHop) else "API" for hop in self.turns[-1].hops)


class _SharedFact(Value, frozen=True):
    """A fact that a passage and an endpoint both tell."""

    question: str
    sql: SqlHop
    document: DocumentHop


class MultiSource(Value, frozen=True):
    """The tasks, and the passages with those marked that on purpose tell what the database tells."""

    tasks: tuple[Task, ...]
    passages: tuple[Passage, ...]


class MultiSourceMaker:
    """Makes the multi-source tasks of one domain."""

    def __init__(
        self,
        *,
        domain: str,
        topic: str,
        graph: Connectivity,
        entities: Entities,
        hops: Sequence[PassageHop],
        passages: Sequence[Passage],
        rng: random.Random,
    ) -> None:
        self._domain = domain
        self._graph = graph
        self._entities = entities
        self._hops = hops
        self._passages = passages
        self._rng = rng
        self._values: dict[Entity, list[tuple[Json, ...]]] = {}
        self._policies = PolicyDeck(domain, topic)
        self._given: Counter[tuple[object, str]] = Counter()

    def make(self, count: int) -> MultiSource:
        """About ``count`` tasks: paths of every pattern in turn, every second one under a policy."""
        shared = list(self._shared_facts())[:_MOST_SHARED]
        marked = {fact.document.doc_id for fact in shared}
        tasks = [task for fact in shared for task in self._source_changed(fact)][:count]
        refused = 0
        asked: list[AskedFact] = []
        needed: set[str] = set(marked)
        for path in self._in_turn(self._paths()):
            if len(tasks) >= count:
                break
            documents = _documents(path)
            kept = [p for p in self._passages if p.doc_id in documents | needed]
            if leaks(kept, path.facts) or leaks([p for p in kept if p.doc_id in documents], asked):
                # A passage that some path needs would offer another way than the one that this path is about.
                continue
            needed |= documents
            asked += path.facts
            policy = self._policy_for(path, allow_refusal=refused < _UNANSWERABLE_SHARE * count)
            task = self._task(len(tasks), path, policy)
            refused += task.turns[-1].answer == [REFUSAL]
            tasks.append(task)
        passages = tuple(msgspec.structs.replace(p, shared=True) if p.doc_id in marked else p for p in self._passages)
        return MultiSource(tasks=tuple(tasks), passages=passages)

    def _task(self, number: int, path: _Path, policy: PolicyText | None) -> Task:
        key, turns = f"sources/{number}", path.turns
        if policy is None:
            return Task(key=key, capability=4, turns=turns)
        fits = policy.fits(path.sources)
        if not fits:
            turns = (*turns[:-1], TaskTurn(query=turns[-1].query, answer=[REFUSAL]))
        return Task(
            key=key,
            capability=4,
            turns=turns,
            policy=policy.text,
            policy_note=policy.note("none" if fits else "unanswerable"),
            blocked_source=policy.blocked,
        )

    def _policy_for(self, path: _Path, *, allow_refusal: bool) -> PolicyText | None:
        """A policy that the path keeps to, or that bars it where a refusal may be due; none every other time.

        Of those that can be it is of the sort that was given least, so that every sort occurs.
        """
        if self._rng.random() < 0.5:
            return None
        possible = []
        for policy in self._policies.each():
            if policy.fits(path.sources):
                possible.append((policy, "none"))
            elif allow_refusal and policy.blocked in path.sources:
                possible.append((policy, "unanswerable"))
        if not possible:
            return None
        policy, effect = min(possible, key=lambda one: self._given[one[0].sort, one[1]])
        self._given[policy.sort, effect] += 1
        return self._policies.take(policy)

    def _source_changed(self, fact: _SharedFact) -> Iterator[Task]:
        """The same fact by the one source, under a policy that bars the other or sends to the one first."""
        hops: dict[PolicyName, Hop] = {
            "only_rag": fact.document,
            "only_api": fact.sql,
            "first_rag": fact.document,
            "first_api": fact.sql,
        }
        for kind, hop in hops.items():
            possible = [p for p in self._policies.each() if p.kind == kind and p.applies]
            policy = min(possible, key=lambda p: self._given[p.sort, "source_changed"])
            self._given[policy.sort, "source_changed"] += 1
            policy = self._policies.take(policy)
            yield Task(
                key=f"sources/{kind}/{fact.document.doc_id}",
                capability=4,
                turns=(TaskTurn(query=fact.question, hops=(hop,)),),
                policy=policy.text,
                policy_note=policy.note("source_changed"),
                blocked_source=policy.blocked,
            )

    def _shared_facts(self) -> Iterator[_SharedFact]:
        """One fact a passage: an answer that an endpoint gives about a thing that the passage names, and tells too."""
        needed = {hop.doc_id for hop in self._hops}
        for passage in sorted(self._passages, key=lambda p: p.doc_id in needed):
            found = next(self._facts_of(passage), None)
            if found is not None:
                yield found

    def _facts_of(self, passage: Passage) -> Iterator[_SharedFact]:
        for name in self._entities.names.values():
            for values in self._named(name.entity):
                text = " ".join(str(v) for v in values)
                sentences = _about(text, passage.text)
                for hop in self._graph.followers(name.entity, values) if sentences else ():
                    if not _is_looked_up(hop) or told(hop.answer[0], hop.query):
                        continue
                    answer = str(hop.answer[0])
                    if any(answer in s and occurs(answer, s) for s in sentences):
                        document = DocumentHop(query=hop.query, answer=answer, doc_id=passage.doc_id)
                        yield _SharedFact(question=hop.query, sql=_sql(hop), document=document)

    def _named(self, entity: Entity) -> list[tuple[Json, ...]]:
        if entity not in self._values:
            self._values[entity] = self._entities.values(entity, _MOST_NAMES)
        return self._values[entity]

    def _paths(self) -> Iterator[_Path]:
        kind = self._entities.kind
        about: set[Thing] = {(kind(h.about[0]), h.about[1]) for h in self._hops if h.about is not None}
        leads = self._graph.leads(about, {entity for entity, _ in about}, _LEADS_A_THING)
        for hop in self._hops:
            if hop.gives is None:
                yield _path("RAG", [(hop.asked, [_document(hop)])], [])
            leading = leads.get((kind(hop.about[0]), hop.about[1]), []) if hop.about is not None else []
            for lead in leading:
                if reads_well(hop.merged, lead.phrase):
                    text = filled(hop.merged, lead.phrase)
                    yield _path("API-RAG", [(text, [_sql(lead.hop), _document(hop, hop.asked)])], [lead.hop])
                follow_up = filled(hop.merged, f"that {lead.hop.template.noun}")
                turns: list[tuple[str, Sequence[Hop]]] = [
                    (lead.hop.query, [_sql(lead.hop)]),
                    (follow_up, [_document(hop, hop.asked)]),
                ]
                yield _path("API, RAG", turns, [lead.hop])
            yield from self._followed(hop, leading)

    def _followed(self, hop: PassageHop, leading: Sequence[Lead]) -> Iterator[_Path]:
        if hop.gives is None:
            return
        followers = list(self._graph.followers(*hop.gives))
        self._rng.shuffle(followers)
        for follower in followers[:_FOLLOWERS_A_THING]:
            merged = follower.template.merged
            if hop.phrase is not None and reads_well(merged, hop.phrase):
                yield _path("RAG-API", [(filled(merged, hop.phrase), [_document(hop), _sql(follower)])], [follower])
            follow_up = filled(merged, f"that {hop.noun}")
            yield _path("RAG, API", [(hop.asked, [_document(hop)]), (follow_up, [_sql(follower)])], [follower])
            for lead in leading:
                both = [lead.hop, follower]
                opened = filled(hop.merged, f"that {lead.hop.template.noun}")
                turns: list[tuple[str, Sequence[Hop]]] = [
                    (lead.hop.query, [_sql(lead.hop)]),
                    (opened, [_document(hop, hop.asked)]),
                    (follow_up, [_sql(follower)]),
                ]
                yield _path("API, RAG, API", turns, both)
                phrase = hop.phrase_merged
                if phrase is None:
                    continue
                if reads_well(phrase, lead.phrase) and reads_well(merged, filled(phrase, lead.phrase)):
                    text = filled(merged, filled(phrase, lead.phrase))
                    hops: list[Hop] = [_sql(lead.hop), _document(hop, hop.asked), _sql(follower)]
                    yield _path("API-RAG-API", [(text, hops)], both)

    def _in_turn(self, paths: Iterator[_Path]) -> Iterator[_Path]:
        """Fair paths, of each pattern one after the other, every question once."""
        by_pattern: dict[str, list[_Path]] = {}
        for path in paths:
            if _is_fair(path):
                by_pattern.setdefault(path.pattern, []).append(path)
        asked: set[str] = set()
        waiting = [by_pattern[pattern] for pattern in sorted(by_pattern)]
        for listed in waiting:
            self._rng.shuffle(listed)
        while any(waiting):
            for listed in waiting:
                while listed:
                    path = listed.pop()
                    if path.turns[-1].query not in asked:
                        asked.add(path.turns[-1].query)
                        yield path
                        break


def _path(pattern: str, turns: Sequence[tuple[str, Sequence[Hop]]], api: Sequence[ChainHop]) -> _Path:
    return _Path(
        pattern=pattern,
        turns=tuple(TaskTurn(query=sentence(text), hops=tuple(hops)) for text, hops in turns),
        facts=tuple(
            asked_fact(
                hop.query,
                [a for n, a in hop.template.template.arguments.items() if n not in hop.template.slot] + list(hop.value),
                [hop.answer],
            )
            for hop in api
        ),
    )


def _about(name: str, text: str) -> list[str]:
    """The sentences of a passage that tell of a thing: all where it begins with its name, else those that hold it."""
    if len(name) < 3 or name not in text:
        return []
    sentences = split_sentences(text)
    if text.startswith(f"{name} "):
        return sentences
    return [s for s in sentences if name in s and occurs(name, s)]


def _is_looked_up(hop: ChainHop) -> bool:
    """Whether a hop only looks up what a thing has: one column's text, not ranked and not counted."""
    template = hop.template.template
    (value, *more) = hop.answer
    return (
        not more
        and isinstance(value, str)
        and len(value) > 3
        and template.outputs[0] is not None
        and not template.order
        and len(template.parameters) == len(hop.template.slot)
    )


def _documents(path: _Path) -> set[str]:
    return {hop.doc_id for turn in path.turns for hop in turn.hops if isinstance(hop, DocumentHop)}


def _is_fair(path: _Path) -> bool:
    """Whether the last question is readable and tells neither its answer nor what a hop of its turn gives."""
    last = path.turns[-1]
    if len(last.query.split()) > _LONGEST_QUESTION:
        return False
    given = [hop.answer for hop in last.hops if isinstance(hop, DocumentHop)]
    given += [value for fact in path.facts for value in fact.answers]
    return not any(told(value, last.query) for value in given)


def _sql(hop: ChainHop) -> SqlHop:
    return SqlHop(query=hop.query, sql=hop.sql)


def _document(hop: PassageHop, asked: str | None = None) -> DocumentHop:
    return DocumentHop(query=asked or hop.asked, answer=hop.answer, doc_id=hop.doc_id)
