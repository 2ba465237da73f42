"""Which earlier responses hold a value, the most plausible source first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice

from sessions.dataflow.facts import ResponseFacts, response_facts
from sessions.dataflow.flows import by_chance
from sessions.dataflow.searched import SearchedText
from sessions.trajectory import CallTool, Step
from toolenv.policy import source_of
from toolenv.values import Atom, Key, ValueIndex, atoms, key, normal_text

LOOKED_AT = 64
"""Of the responses that hold a value so many of the latest are weighed against each other."""

SEARCHED_ON = 200
"""Once a text was found in a response, so many further ones are searched for it."""

FEW = 12
"""Values up to which a response is so small that a short one does not stand in it by chance."""


@dataclass(frozen=True, slots=True)
class Past:
    """One earlier call: its number (0: the opening), the facts of its response, the keys of what it was given."""

    number: int
    facts: ResponseFacts
    text: SearchedText
    given: frozenset[Key]

    @property
    def size(self) -> int:
        """How many values the response shows."""
        return len(self.facts.printed)


class _Places:
    """Key -> positions of the calls that hold it, ascending. Most values stand in one response alone."""

    def __init__(self) -> None:
        self._of: dict[Key, int | list[int]] = {}

    def add(self, item: Key, position: int) -> None:
        known = self._of.get(item)
        if known is None:
            self._of[item] = position
        elif isinstance(known, list):
            if known[-1] != position:
                known.append(position)
        elif known != position:
            self._of[item] = [known, position]

    def latest(self, item: Key) -> list[int]:
        """The last positions, the latest first."""
        known = self._of.get(item, [])
        return [known] if isinstance(known, int) else known[: -LOOKED_AT - 1 : -1]


class Known:
    """The answered calls of a trajectory's steps, and what any of them holds.

    Values are found without asking each call: a long session asks for thousands.
    """

    def __init__(self) -> None:
        self.steps: tuple[Step, ...] = ()
        self.calls: list[Past] = []
        self.makers: dict[str, int] = {}
        self._values = ValueIndex()
        self._fresh = _Places()
        self._repeated = _Places()
        self._named = _Places()
        self._names: set[str] = set()
        self._with_passages: list[Past] = []
        self._number = 0

    def extend(self, steps: Sequence[Step]) -> None:
        """Take further steps."""
        for step in steps:
            self._take(step)
        self.steps = (*self.steps, *steps)

    def _take(self, step: Step) -> None:
        if not isinstance(step.decision, CallTool):
            return
        self._number += not step.opening
        call, result = step.decision.call, step.result
        if result is None or result.failed or result.is_error:
            return
        made = Past(
            number=0 if step.opening else self._number,
            facts=response_facts(result.text, source_of(call.name)),
            text=SearchedText(result.text),
            given=frozenset(map(key, atoms(dict(call.arguments)))),
        )
        position = len(self.calls)
        self.calls.append(made)
        for each in (*made.facts.printed, *made.facts.lengths):
            self._values.add(each)
            (self._repeated if each in made.given else self._fresh).add(each, position)
        for name in made.facts.structure:
            self._named.add(name, position)
        self._names |= made.facts.structure
        if made.facts.passages:
            self._with_passages.append(made)
        if result.handle is not None:
            self.makers[result.handle] = made.number

    def holders(self, atom: Atom, near: Collection[int] = ()) -> list[Past]:
        """The calls whose responses hold a value, the most plausible source first.

        A response that shows it as a value comes before one that names a column so, and that before a text in which
        it stands. Of several the latest counts, except that a short value stands in a large response by chance, and
        that a call which was given a value only repeats it. ``near`` are numbers of the calls that made the tables
        which the call works on.
        """
        found = self._values.match(key(atom)) if key(atom) in self._values else None
        if found is not None:
            fresh = self._ranked(atom, self._fresh.latest(found), near)
            return fresh or self._ranked(atom, self._repeated.latest(found), near)
        if isinstance(atom, str) and atom in self._names:
            named = [self.calls[position] for position in self._named.latest(atom)]
            return sorted(named, key=lambda made: made.number not in near)
        if isinstance(atom, str) and len(normal_text(atom)) <= 1:
            return []
        return self._written(atom)

    def _ranked(self, atom: Atom, positions: Sequence[int], near: Collection[int]) -> list[Past]:
        chance = by_chance(atom)

        def rank(made: Past) -> tuple[int, bool]:
            return made.size if chance and made.size > FEW else 0, made.number not in near

        return sorted((self.calls[position] for position in positions), key=rank)

    def _written(self, atom: Atom) -> list[Past]:
        """Those in whose text a value stands: numbers in passages alone."""
        wanted = key(atom)
        searched = self.calls if isinstance(atom, str) else self._with_passages
        later = reversed(searched)
        found = [first for first in (next((made for made in later if _stands(atom, made)), None),) if first is not None]
        if found:
            found += [made for made in islice(later, SEARCHED_ON) if _stands(atom, made)]
        return sorted(found, key=lambda made: wanted in made.given)


def _stands(atom: Atom, made: Past) -> bool:
    if isinstance(atom, str):
        return made.text.holds(atom)
    return any(passage.holds(atom) for passage in made.facts.searched)
