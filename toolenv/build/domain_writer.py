"""One domain's part of the writing: endpoints, chains and documents from its source, then its instances by
execution.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolenv.build import layout
from toolenv.build.chains import Chain, make_chain
from toolenv.build.database import copy_database
from toolenv.build.database_schema import DatabaseSchema, read_schema
from toolenv.build.decontamination import AskedFact, Leak, asked_fact, leaks, text_cells
from toolenv.build.endpoints import EndpointCatalogue
from toolenv.build.gold import Gold, refuse_large_universe
from toolenv.build.lookups import lookup_questions
from toolenv.build.plan_reading import read_plan
from toolenv.build.source import (
    DocumentHop,
    DomainSource,
    NotBuildable,
    Passage,
    Question,
    Rejection,
    Split,
    SqlHop,
    Task,
    TaskTurn,
)
from toolenv.build.stopping import end_if_asked
from toolenv.build.truth import Rows, answer_of, refuse_hidden, run_chain, run_endpoint, run_retriever
from toolenv.dashboards.definition import FORMAT, EndpointFile, dump_endpoints
from toolenv.environment import ToolEnvironment, ToolSession
from toolenv.model import Instance, Json, Turn, Universe
from toolenv.values import normal_text

PASSAGES_ASKED = 3
"""How many passages a document hop of the ground truth asks the retriever for."""


class DomainWriter:
    """One domain on its way into the dataset. ``written`` and ``rejections`` tell what became of its tasks."""

    def __init__(self, source: DomainSource, *, strict: bool) -> None:
        self.source = source
        self.removed: list[Leak] = []
        self.rejections: list[Rejection] = []
        self.written: list[str] = []
        self._strict = strict
        self._tasks = source.tasks
        self._chains: dict[str, Chain] = {}
        self._called: dict[int, tuple[str, Mapping[str, Json]]] = {}
        self._answers: dict[int, Rows] = {}
        self._facts: dict[str, list[AskedFact]] = {}
        self._gold = Gold(source.database)
        self._schema: DatabaseSchema = read_schema(self._gold.connection)
        self.catalogue = EndpointCatalogue(source.name, self._schema)

    def close(self) -> None:
        self._gold.close()

    def universes(self) -> list[Universe]:
        """The tool universes of the tasks that are still in."""
        return [self._chains[task.key].universe for task in self._tasks if task.key in self._chains]

    def prepare(self, out: Path) -> None:
        """Everything that needs no execution: database, endpoints, chains, documents."""
        source = self.source
        if source.distinct_queries:
            _refuse_twins(source)
        target = layout.database_path(out, source.name)
        if source.database.resolve() != target.resolve():
            copy_database(source.database, target)
        for question in source.questions:
            self.catalogue.add(question)
        for task in self._tasks:
            with self._trying(task):
                self._facts[task.key] = self._prepare_task(task)
        self._keep(self._facts)
        for question in lookup_questions(self._schema) if source.lookups else ():
            if len(self.catalogue.endpoints) >= source.lookups:
                break
            self.catalogue.add(question)
        path = layout.endpoints_path(out, source.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        content = EndpointFile(format=FORMAT, domain=source.name, endpoints=self.catalogue.told_apart())
        path.write_text(dump_endpoints(content), encoding="utf-8")
        self._keep_apart()
        for capability, split in self._places():
            # Execution reads the directory as a dataset, so its instance files must be there before they are filled.
            layout.write_json(layout.instance_path(out, capability, "input", source.name, split), [])

    def _places(self) -> list[tuple[int, Split]]:
        return sorted({(task.capability, task.split) for task in self._tasks})

    def _keep(self, keys: Container[str]) -> None:
        self._tasks = tuple(task for task in self._tasks if task.key in keys)

    @contextmanager
    def _trying(self, task: Task) -> Iterator[None]:
        """What fails inside is told with domain and task, or with ``strict`` off reported as the task's rejection."""
        try:
            yield
        except NotBuildable as error:
            self._refuse(task, error)

    def _refuse(self, task: Task, error: NotBuildable) -> None:
        if self._strict:
            raise NotBuildable(f"domain {self.source.name}, task {task.key}: {error}") from error
        self._reject(task, str(error))

    def _reject(self, task: Task, reason: str) -> None:
        self.rejections.append(
            Rejection(domain=self.source.name, stage=_stage(task), subject=task.turns[-1].query, reason=reason)
        )

    def _prepare_task(self, task: Task) -> list[AskedFact]:
        facts = []
        for hop in (h for turn in task.turns for h in turn.hops if isinstance(h, SqlHop)):
            rows = self._gold.determined(hop.sql)
            self._answers[id(hop)] = rows
            if task.capability == 1:
                uuid = instance_uuid(self.source.name, task.key)
                plan = read_plan(hop.sql, self._schema)
                chain = make_chain(plan, task.style or "slot", uuid=uuid, domain=self.source.name, query=hop.query)
                refuse_large_universe(self._gold, chain.universe)
                self._chains[task.key] = chain
            else:
                endpoint, arguments = self.catalogue.add(Question(question=hop.query, sql=hop.sql))
                self._called[id(hop)] = (endpoint.operation_id, arguments)
                if task.capability == 4:
                    facts.append(asked_fact(hop.query, arguments.values(), rows))
        return facts

    @property
    def asked(self) -> list[AskedFact]:
        """What the tasks that are still in ask of endpoints where documents are offered too."""
        return list(dict.fromkeys(fact for task in self._tasks for fact in self._facts[task.key]))

    @property
    def passages(self) -> tuple[Passage, ...]:
        """The domain's own passages without those that answer its endpoints' hops."""
        gone = {leak.doc_id for leak in self.removed if leak.collection == self.source.name}
        return tuple(p for p in self.source.passages if p.doc_id not in gone)

    def needed_documents(self) -> set[str]:
        """The documents that tasks of this domain ask for."""
        turns = [turn for task in self._tasks for turn in task.turns]
        return {hop.doc_id for turn in turns for hop in turn.hops if isinstance(hop, DocumentHop)}

    def give_up(self, leak: Leak) -> None:
        """Leave the tasks out whose hop a passage answers that another domain needs."""
        for task in self._tasks:
            if any(fact.hop == leak.hop for fact in self._facts[task.key]):
                self._refuse(
                    task, NotBuildable(f"passage {leak.doc_id} of {leak.collection} gives {leak.answer!r} too")
                )
                self._keep({t.key for t in self._tasks} - {task.key})

    def _keep_apart(self) -> None:
        """Find the passages that answer endpoints' hops, and leave the tasks out that need one of them."""
        source = self.source
        if not source.passages:
            return
        self.removed = leaks((p for p in source.passages if not p.shared), self.asked, source.name)
        gone = {leak.doc_id: leak for leak in self.removed}
        cells = text_cells(self._gold.connection)
        shared = {p.doc_id for p in source.passages if p.shared}
        kept = []
        for task in self._tasks:
            with self._trying(task):
                self._refuse_contaminated(task, gone, cells, shared)
                kept.append(task.key)
        self._keep(kept)

    def _refuse_contaminated(
        self, task: Task, gone: Mapping[str, Leak], cells: Container[str], shared: Container[str]
    ) -> None:
        """A passage that a task needs must not answer an endpoint's hop, nor the database what only it should tell."""
        for hop in (h for turn in task.turns for h in turn.hops if isinstance(h, DocumentHop)):
            leak = gone.get(hop.doc_id)
            if leak is not None:
                raise NotBuildable(f"passage {leak.doc_id} is needed, but gives {leak.answer!r} for {leak.hop!r}")
        # Only an answer that ends a task must be the document's alone: an earlier one may lead on to an endpoint.
        last = task.turns[-1].hops[-1] if task.turns[-1].hops else None
        if isinstance(last, DocumentHop) and last.doc_id not in shared and normal_text(last.answer) in cells:
            raise NotBuildable(f"{last.answer!r} is in the database too")

    async def write_instances(self, out: Path, environment: ToolEnvironment, progress: Callable[[str], None]) -> None:
        """Input and output files of every capability and split that the source has tasks for."""
        for capability, split in self._places():
            inputs, outputs = [], []
            tasks = [t for t in self._tasks if t.capability == capability and t.split == split]
            for number, task in enumerate(tasks, 1):
                end_if_asked()
                with self._trying(task):
                    given, truth = await self._records(task, environment)
                    inputs.append(given)
                    if task.ground_truth:
                        outputs.append(truth)
                    self.written.append(task.key)
                if number % 50 == 0 or number == len(tasks):
                    progress(f"{self.source.name}: capability {capability}, {split}: {number} of {len(tasks)}")
            layout.write_json(layout.instance_path(out, capability, "input", self.source.name, split), inputs)
            layout.write_json(layout.instance_path(out, capability, "output", self.source.name, split), outputs)
        self._keep(set(self.written))

    async def _records(self, task: Task, environment: ToolEnvironment) -> tuple[dict[str, Json], dict[str, Json]]:
        uuid = instance_uuid(self.source.name, task.key)
        chain = self._chains.get(task.key)
        instance = Instance(
            uuid=uuid,
            capability=task.capability,
            domain=self.source.name,
            turns=tuple(Turn(turn_id=i, query=t.query) for i, t in enumerate(task.turns)),
            universe_id=uuid if chain is not None else None,
        )
        session = await environment.open(instance)
        try:
            turns = [await self._turn(number, turn, chain, session) for number, turn in enumerate(task.turns)]
        finally:
            await session.close()
        given = layout.input_record(uuid, self.source.name, task, [turn["answer"] for turn in turns])
        truth = {"uuid": uuid, "domain": self.source.name, "output": turns, "additional_instructions": task.policy}
        return given, truth | _author_keys(task)

    async def _turn(self, number: int, turn: TaskTurn, chain: Chain | None, session: ToolSession) -> dict[str, Any]:
        calls: list[dict[str, Json]] = []
        responses: list[Json] = []
        hops: list[dict[str, Json]] = []
        answer: Json = turn.answer
        for hop in turn.hops:
            if isinstance(hop, DocumentHop):
                tool = f"query_{self.source.name}"
                arguments: Mapping[str, Json] = {"question": hop.query, "n_results": PASSAGES_ASKED}
                responses.append(await run_retriever(session, arguments, tool, hop.doc_id))
                calls.append({"name": tool, "arguments": arguments})
                given: Json = [hop.answer]
                hops.append({"source": "RAG", "query": hop.query, "answer": given, "doc_id": hop.doc_id})
            else:
                gold = self._answers[id(hop)]
                given = answer_of(gold)
                if chain is not None:
                    executed = await run_chain(session, chain, gold)
                    refuse_hidden(executed, gold)
                    calls += [{"name": c.name, "arguments": c.arguments} for c in executed.calls]
                    responses += executed.responses
                else:
                    name, arguments = self._called[id(hop)]
                    responses.append(await run_endpoint(session, name, arguments, gold))
                    calls.append({"name": name, "arguments": arguments})
                hops.append({"source": "API", "query": hop.query, "answer": given})
            if turn.answer is None:
                answer = given
        record: dict[str, Any] = {
            "turn_id": number,
            "query": turn.query,
            "answer": answer,
            "sequence": {"tool_call": calls, "tool_response": responses},
        }
        if chain is None:
            record["hops"] = hops
        if not turn.hops:
            record["unanswerable"] = True
        return record


def instance_uuid(domain: str, key: str) -> str:
    """A uuid in VAKRA's form (two groups of twelve hexadecimal digits) that depends on domain and key alone."""
    return f"{_digest(domain)[:12]}-{_digest(f'{domain}/{key}')[:12]}"


def _stage(task: Task) -> Any:
    if task.capability == 1:
        return f"{task.style or 'slot'} chain"
    return {2: "endpoint task", 3: "multi-hop", 4: "multi-source"}[task.capability]


def _author_keys(task: Task) -> dict[str, Json]:
    """Keys for slices and for people; nothing that decides a verdict reads them."""
    patterns = [_pattern(turn) for turn in task.turns]
    last = task.turns[-1]
    keys: dict[str, Json] = {"hop_pattern": patterns[-1], "turn_patterns": patterns}
    if task.policy_note is not None:
        note = task.policy_note
        keys["policy"] = {"kind": note.kind, "topic": note.topic, "applies": note.applies, "effect": note.effect}
        keys["blocked_source"] = task.blocked_source
    if task.style is not None:
        keys["server_type"] = "slot_filling" if task.style == "slot" else "selection"
    gold = [hop.sql for hop in last.hops if isinstance(hop, SqlHop)]
    if gold and len(gold) == len(last.hops):
        keys["gold_sql"] = gold[0] if len(gold) == 1 else gold
    return keys


def _pattern(turn: TaskTurn) -> str:
    sources: list[str] = []
    for hop in turn.hops:
        source = "RAG" if isinstance(hop, DocumentHop) else "API"
        if not sources or sources[-1] != source:
            sources.append(source)
    return "-".join(sources) or "NONE"


def _refuse_twins(source: DomainSource) -> None:
    """No two instances of a domain may ask the same once values are removed."""
    seen: dict[str, str] = {}
    for task in source.tasks:
        shapes = {query_shape(turn.query, _values(turn)) for turn in task.turns}
        for shape in shapes:
            if shape in seen:
                raise NotBuildable(f"domain {source.name}: tasks {seen[shape]} and {task.key} ask the same: {shape}")
        seen.update(dict.fromkeys(shapes, task.key))


def query_shape(query: str, values: Sequence[str]) -> str:
    """A question with the values of its SQL and all numbers taken out."""
    shape = normal_text(query)
    for value in sorted({normal_text(v) for v in values}, key=len, reverse=True):
        if value:
            shape = shape.replace(value, "_")
    return re.sub(r"\d+([.,]\d+)*", "_", shape)


def _values(turn: TaskTurn) -> list[str]:
    found = [text for hop in turn.hops if isinstance(hop, SqlHop) for text in re.findall(r"'((?:[^']|'')*)'", hop.sql)]
    return [text.replace("''", "'") for text in found] + [h.answer for h in turn.hops if isinstance(h, DocumentHop)]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
