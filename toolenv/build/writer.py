"""The writer: sources in, a dataset in VAKRA's layout out, every ground truth made by executing it."""

from __future__ import annotations

import hashlib
import re
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolenv.build import layout
from toolenv.build.chains import Chain, make_chain
from toolenv.build.database_schema import DatabaseSchema, read_schema
from toolenv.build.decontamination import AskedFact, Leak, asked_fact, leaks, text_cells
from toolenv.build.endpoints import EndpointCatalogue
from toolenv.build.lookups import lookup_questions
from toolenv.build.plan import read_plan
from toolenv.build.source import DocumentHop, DomainSource, NotBuildable, Question, SqlHop, Task, TaskTurn
from toolenv.build.ties import refuse_tie
from toolenv.build.truth import Rows, answer_of, gold_rows, run_chain, run_endpoint, run_retriever
from toolenv.dashboards.definition import FORMAT, EndpointFile, dump_endpoints
from toolenv.environment import ToolEnvironment, ToolSession
from toolenv.model import Instance, Json, Turn, Value
from toolenv.values import normal_text

PASSAGES_ASKED = 3
"""How many passages a document hop of the ground truth asks the retriever for."""


class BuildReport(Value, frozen=True):
    """What was written: numbers of instances and endpoints a domain, and the passages left out because they leak."""

    instances: Mapping[str, int]
    endpoints: Mapping[str, int]
    removed: tuple[Leak, ...]


async def build_dataset(sources: Sequence[DomainSource], out: Path) -> BuildReport:
    """Write the dataset of all sources into the empty or absent directory ``out``.

    Raises ``NotBuildable`` that names domain and task when a gold SQL, a chain or a passage does not hold what it must.
    """
    from toolenv.dataset import Dataset
    from toolenv.native import NativeEnvironment

    domains = [_Domain(source) for source in sources]
    try:
        for domain in domains:
            domain.prepare(out)
        universes = [chain.universe for domain in domains for chain in domain.chains.values()]
        layout.write_configs(out, sources, universes)
        environment = NativeEnvironment(Dataset.open(out))
        try:
            for domain in domains:
                await domain.write_instances(out, environment)
        finally:
            await environment.close()
    finally:
        for domain in domains:
            domain.close()
    return BuildReport(
        instances={d.source.name: len(d.source.tasks) for d in domains},
        endpoints={d.source.name: len(d.catalogue.endpoints) for d in domains},
        removed=tuple(leak for d in domains for leak in d.removed),
    )


def instance_uuid(domain: str, key: str) -> str:
    """A uuid in VAKRA's form (two groups of twelve hexadecimal digits) that depends on domain and key alone."""
    return f"{_digest(domain)[:12]}-{_digest(f'{domain}/{key}')[:12]}"


class _Domain:
    """One domain on its way into the dataset."""

    def __init__(self, source: DomainSource) -> None:
        self.source = source
        self.chains: dict[str, Chain] = {}
        self.removed: list[Leak] = []
        self._connection = sqlite3.connect(f"{source.database.resolve().as_uri()}?mode=ro", uri=True)
        self.schema: DatabaseSchema = read_schema(self._connection)
        self.catalogue = EndpointCatalogue(source.name, self.schema)
        self._called: dict[int, tuple[str, Mapping[str, Json]]] = {}
        self._gold: dict[int, Rows] = {}

    def close(self) -> None:
        self._connection.close()

    def prepare(self, out: Path) -> None:
        """Everything that needs no execution: database, endpoints, chains, documents."""
        source = self.source
        _refuse_twins(source)
        target = layout.database_path(out, source.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source.database, target)
        for question in source.questions:
            self.catalogue.add(question)
        facts: list[AskedFact] = []
        for task in source.tasks:
            with _Naming(source.name, task.key):
                facts += self._prepare_task(task)
        for question in lookup_questions(self.schema) if source.lookups else ():
            if len(self.catalogue.endpoints) >= source.lookups:
                break
            self.catalogue.add(question)
        path = layout.endpoints_path(out, source.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        content = EndpointFile(format=FORMAT, domain=source.name, endpoints=self.catalogue.endpoints)
        path.write_text(dump_endpoints(content), encoding="utf-8")
        self._write_documents(out, facts)
        for capability in {task.capability for task in source.tasks}:
            # Execution reads the directory as a dataset, so its instance files must be there before they are filled.
            layout.write_json(layout.instance_path(out, capability, "input", source.name), [])

    def _prepare_task(self, task: Task) -> list[AskedFact]:
        facts = []
        for hop in (h for turn in task.turns for h in turn.hops if isinstance(h, SqlHop)):
            rows = gold_rows(self._connection, hop.sql)
            refuse_tie(self._connection, hop.sql)
            self._gold[id(hop)] = rows
            if task.capability == 1:
                uuid = instance_uuid(self.source.name, task.key)
                plan = read_plan(hop.sql, self.schema)
                self.chains[task.key] = make_chain(
                    plan, task.style or "slot", uuid=uuid, domain=self.source.name, query=hop.query
                )
            else:
                endpoint, arguments = self.catalogue.add(Question(question=hop.query, sql=hop.sql))
                self._called[id(hop)] = (endpoint.operation_id, arguments)
                facts.append(asked_fact(hop.query, arguments.values(), rows))
        return facts

    def _write_documents(self, out: Path, facts: Sequence[AskedFact]) -> None:
        source = self.source
        if not source.passages:
            return
        self.removed = leaks((p for p in source.passages if not p.shared), facts)
        gone = {leak.doc_id for leak in self.removed}
        needed = {h.doc_id for t in source.tasks for turn in t.turns for h in turn.hops if isinstance(h, DocumentHop)}
        if gone & needed:
            leak = next(one for one in self.removed if one.doc_id in needed)
            raise NotBuildable(
                f"domain {source.name}: passage {leak.doc_id} is needed, but gives {leak.answer!r} for {leak.hop!r}"
            )
        layout.write_documents(out, source.name, [p for p in source.passages if p.doc_id not in gone])
        cells = text_cells(self._connection)
        shared = {p.doc_id for p in source.passages if p.shared}
        for task in source.tasks:
            # Only an answer that ends a task must be the document's alone: an earlier one may lead on to an endpoint.
            last = task.turns[-1].hops[-1] if task.turns[-1].hops else None
            if isinstance(last, DocumentHop) and last.doc_id not in shared and normal_text(last.answer) in cells:
                raise NotBuildable(f"domain {source.name}, task {task.key}: {last.answer!r} is in the database too")

    async def write_instances(self, out: Path, environment: ToolEnvironment) -> None:
        """Input and output files of every capability that the source has tasks for."""
        for capability in sorted({task.capability for task in self.source.tasks}):
            inputs, outputs = [], []
            for task in (t for t in self.source.tasks if t.capability == capability):
                with _Naming(self.source.name, task.key):
                    given, truth = await self._records(task, environment)
                inputs.append(given)
                if task.ground_truth:
                    outputs.append(truth)
            layout.write_json(layout.instance_path(out, capability, "input", self.source.name), inputs)
            layout.write_json(layout.instance_path(out, capability, "output", self.source.name), outputs)

    async def _records(self, task: Task, environment: ToolEnvironment) -> tuple[dict[str, Json], dict[str, Json]]:
        uuid = instance_uuid(self.source.name, task.key)
        chain = self.chains.get(task.key)
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
                gold = self._gold[id(hop)]
                given = answer_of(gold)
                if chain is not None:
                    executed = await run_chain(session, chain, gold)
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


class _Naming:
    """Puts domain and task before the sentence of a ``NotBuildable``."""

    def __init__(self, domain: str, key: str) -> None:
        self._where = f"domain {domain}, task {key}"

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, NotBuildable):
            raise NotBuildable(f"{self._where}: {error}") from error


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
