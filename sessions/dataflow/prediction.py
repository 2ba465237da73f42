"""The predicted side: all facts that its responses establish, and where each was first seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from sessions.dataflow import tables
from sessions.dataflow.calls import MadeCalls, made_calls
from sessions.dataflow.computed import computes_from_nowhere
from sessions.dataflow.facts import ResponseFacts, facts_of
from sessions.dataflow.flows import HopGraph, hop_graph
from sessions.dataflow.printed import Printed
from sessions.trajectory import Answer, ExecutedTrajectory
from toolenv.environment import TableView
from toolenv.values import Key, ValueIndex, normal_text


@dataclass(frozen=True)
class PredictionAnalysis:
    """The facts of a predicted turn.

    ``facts`` are by call number, successful scored calls only. ``baseless`` are calls that computed something from
    numbers seen nowhere: they establish nothing about the data.
    """

    executed: ExecutedTrajectory
    calls: MadeCalls
    facts: Mapping[int, ResponseFacts]
    baseless: frozenset[int]

    @property
    def answer(self) -> str:
        return self.executed.trajectory.answer or ""

    @property
    def answered_by_reference(self) -> bool:
        """Whether the ground truth at the wheel gave the answer: its author saw every row, unlike an agent."""
        steps = self.executed.trajectory.steps
        return bool(steps) and steps[-1].actor == "ground_truth" and isinstance(steps[-1].decision, Answer)

    @property
    def succeeded(self) -> bool:
        return any(not made.failed for made in self.calls.scored)

    @cached_property
    def _first(self) -> dict[Key, int]:
        first: dict[Key, int] = {}
        for number, found in self.facts.items():
            for k in found.printed:
                first.setdefault(k, number)
        return first

    @cached_property
    def values(self) -> ValueIndex:
        """Every printed value."""
        return ValueIndex(self._first)

    @cached_property
    def _lengths(self) -> dict[int, int]:
        first: dict[int, int] = {}
        for number, found in self.facts.items():
            for length in found.lengths:
                first.setdefault(length, number)
        return first

    @cached_property
    def passages(self) -> tuple[tuple[int, str], ...]:
        """(call number, text) of every retrieved passage."""
        return tuple((number, passage) for number, found in self.facts.items() for passage in found.passages)

    @cached_property
    def _passage_keys(self) -> dict[str, int]:
        first: dict[str, int] = {}
        for number, passage in self.passages:
            first.setdefault(normal_text(passage), number)
        return first

    @cached_property
    def tables(self) -> tuple[tuple[int, TableView], ...]:
        """(call number, table) of every table behind a handle."""
        return tuple((number, found.table) for number, found in self.facts.items() if found.table is not None)

    @cached_property
    def graph(self) -> HopGraph:
        """The hop structure of the prediction."""
        return hop_graph(self.calls, self.answer, self.facts)

    # Each ``find`` gives the number of the first call whose response establishes the fact, or None.

    def find_value(self, k: Key) -> int | None:
        if k in self._first:
            return self._first[k]
        if k not in self.values:
            return None
        return self._first[self.values.match(k)]

    def find_all_values(self, printed: Printed) -> int | None:
        """The call by which every one of some values is there; 0 for none of them."""
        first = self._first
        with suppress(KeyError):
            # One step in Python for each: a call for a hundred thousand of them would keep other threads waiting.
            return max((first[k] for k in printed), default=0)
        last = 0
        for k in printed:
            found = self.find_value(k)
            if found is None:
                return None
            last = max(last, found)
        return last

    def find_length(self, length: int) -> int | None:
        """The call that shows a list of so many items."""
        return self._lengths.get(length)

    def find_empty(self) -> int | None:
        return next((number for number, found in self.facts.items() if found.empty), None)

    def find_passage(self, passage: str) -> int | None:
        """``passage`` as a normalised text."""
        return self._passage_keys.get(passage)

    def find_in_passages(self, value: str | int | float | bool | None) -> int | None:
        """The call that retrieved a passage in which a value stands as a whole token."""
        holds = (number for number, found in self.facts.items() for each in found.searched if each.holds(value))
        return next(holds, None)

    def find_column(self, table: TableView, index: int) -> int | None:
        return next((number for number, view in self.tables if tables.has_column(view, table, index)), None)

    def find_content(self, table: TableView) -> int | None:
        return next((number for number, view in self.tables if tables.same_content(view, table)), None)


def analyse_prediction(executed: ExecutedTrajectory, truth: MadeCalls | None = None) -> PredictionAnalysis:
    """Analyse an executed prediction (or any other trajectory of the instance).

    ``truth`` are the ground truth's calls, where they are known: what it computes itself is never baseless.
    """
    calls = made_calls(executed)
    reference = [] if truth is None else [(made.call.name, made.arguments) for made in truth.scored]
    strange = set(computes_from_nowhere(executed.trajectory.instance, calls))
    baseless = frozenset(
        made.number
        for made in calls.scored
        if made.number in strange and (made.call.name, made.arguments) not in reference
    )
    facts = dict(_established(calls, baseless))
    return PredictionAnalysis(executed=executed, calls=calls, facts=facts, baseless=baseless)


def _established(calls: MadeCalls, baseless: frozenset[int]) -> Iterator[tuple[int, ResponseFacts]]:
    for made in calls.scored:
        found = facts_of(made) if made.number not in baseless else None
        if found is not None:
            yield made.number, found
