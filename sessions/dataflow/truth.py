"""The ground-truth side, computed once per instance: its calls, its facts, what is needed of them, its hops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from sessions.dataflow import tables
from sessions.dataflow.calls import MadeCall, MadeCalls, made_calls
from sessions.dataflow.facts import ResponseFacts, facts_of
from sessions.dataflow.flows import HopGraph, handles_of, hop_graph, stands_in_passages, written_atoms
from sessions.dataflow.printed import Written
from sessions.trajectory import ExecutedTrajectory
from toolenv.model import Instance, Json
from toolenv.policy import is_refusal
from toolenv.values import Atom, Key, ValueIndex, atoms, key, shortened, shown_value

NeedKind = Literal["value", "passage", "column", "empty"]


@dataclass(frozen=True, slots=True)
class Need:
    """One needed fact of a hop.

    ``value``: a printed value. ``passage``: any passage that holds the value as a whole token. ``column``: the
    multiset of a table's column, ``shown`` its name. ``empty``: an empty result.
    """

    hop: int
    kind: NeedKind
    key: Key
    shown: Atom
    column: int = -1

    @property
    def text(self) -> str:
        """The fact in a few words, for a sentence."""
        match self.kind:
            case "column":
                return f"all values of column {shortened(str(self.shown))}"
            case "empty":
                return "an empty result"
            case "passage":
                return f"a passage with {shown_value(self.shown)}"
            case _:
                return shown_value(self.shown)


@dataclass(frozen=True, slots=True)
class TruthHop:
    """One scored call of the ground truth with its facts and those of them that are needed.

    ``unseen`` is true for a RAG hop of whose passages none holds a needed value: offline rules cannot tell then
    what to look for.
    """

    made: MadeCall
    facts: ResponseFacts | None
    needs: tuple[Need, ...]
    unseen: bool

    @property
    def number(self) -> int:
        return self.made.number


@dataclass(frozen=True)
class GroundTruthAnalysis:
    """What the gates need of a ground truth; independent of any prediction, so it is shared by all runs.

    ``refuses`` says that it declines to answer; a text that sounds like it and that a response shows is a value (a
    customer's review may not know). ``failed`` is its first call that failed, the opening included.
    ``answer_beyond_peek`` says that its answer holds values that are in its tables and were never shown.
    """

    instance: Instance
    calls: MadeCalls
    hops: tuple[TruthHop, ...]
    answer: Json
    refuses: bool
    failed: MadeCall | None
    answer_beyond_peek: bool
    coerced: bool

    @cached_property
    def graph(self) -> HopGraph:
        """The hop structure; for people, no gate reads it."""
        return hop_graph(self.calls, self.answer, {hop.number: hop.facts for hop in self.hops})

    @property
    def needs(self) -> tuple[Need, ...]:
        return tuple(need for hop in self.hops for need in hop.needs)


def analyse_truth(instance: Instance, executed: ExecutedTrajectory) -> GroundTruthAnalysis:
    """Analyse the executed ground truth of an instance. Raises ValueError for an instance without ground truth."""
    if instance.ground_truth is None:
        raise ValueError(f"instance {instance.uuid} has no ground truth")
    answer = instance.ground_truth.evaluated.answer
    calls = made_calls(executed)
    scored = calls.scored
    facts = {made.number: facts_of(made) for made in scored}
    handles = {made.number: known for made, known in handles_of(calls)}
    hops = []
    for position, made in enumerate(scored):
        found = facts[made.number]
        last = position == len(scored) - 1
        later: list[Atom] = [
            atom
            for other in scored[position + 1 :]
            for _, atom in written_atoms(other)
            if not (isinstance(atom, str) and atom in handles[other.number])
        ]
        needs = () if found is None else tuple(_needs(made.number, found, last, [*later, *atoms(answer)]))
        unseen = found is not None and bool(found.passages) and not needs
        hops.append(TruthHop(made=made, facts=found, needs=needs, unseen=unseen))
    every = (calls.opening, *scored) if calls.opening is not None and scored else scored
    return GroundTruthAnalysis(
        instance=instance,
        calls=calls,
        hops=tuple(hops),
        answer=answer,
        refuses=is_refusal(answer)
        and not any(found and key(a) in found.printed for a in atoms(answer) for found in facts.values()),
        failed=next((made for made in every if made.failed), None),
        answer_beyond_peek=_beyond_peek(answer, hops),
        coerced=any(made.step.executed_arguments is not None for made in scored),
    )


def _needs(hop: int, found: ResponseFacts, last: bool, written: list[Atom]) -> Iterator[Need]:
    """The needed facts of one response (contract, "Needed facts").

    ``written`` are the values of later arguments and of the answer, where a value of this response may have gone.
    """
    if found.passages:
        wanted: dict[Key, Atom] = {}
        for atom in written:
            if atom is not None and stands_in_passages(atom, found):
                wanted.setdefault(key(atom), atom)
        yield from (Need(hop=hop, kind="passage", key=k, shown=atom) for k, atom in wanted.items())
        return
    if last:
        if found.empty:
            yield Need(hop=hop, kind="empty", key=None, shown=None)
        elif found.table is not None:
            for index, column in enumerate(found.table.columns):
                yield Need(hop=hop, kind="column", key=None, shown=column.name, column=index)
        else:
            yield from (Need(hop=hop, kind="value", key=k, shown=shown) for k, shown in found.printed.items())
        return
    used = Written(written).standing(found.printed)
    yield from (Need(hop=hop, kind="value", key=k, shown=shown) for k, shown in used)


def _beyond_peek(answer: Json, hops: list[TruthHop]) -> bool:
    """Whether the answer holds a value that no response shows and that is in the last response's table."""
    facts = [hop.facts for hop in hops if hop.facts is not None]
    table = facts[-1].table if facts else None
    if table is None:
        return False
    shown = ValueIndex(k for found in facts for k in found.printed)
    hidden = {k for k in map(key, atoms(answer)) if k not in shown}
    return bool(tables.held(table, hidden))
