"""Where values go: from responses into later arguments and into the answer; the hop structure as a DAG."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Literal

from sessions.dataflow.calls import MadeCall, MadeCalls
from sessions.dataflow.facts import ResponseFacts, facts_of
from sessions.dataflow.printed import Written
from toolenv.model import Json, Source
from toolenv.values import Atom, Key, atoms, key, occurs

ANSWER = 0
"""The number of the answer as the target of a flow."""


@dataclass(frozen=True, slots=True)
class Flow:
    """A value (or a table, by its handle) of response ``source`` that is written in call ``target`` (0: the answer)."""

    source: int
    target: int
    kind: Literal["value", "handle"]
    value: Atom
    argument: str | None = None


@dataclass(frozen=True, slots=True)
class Hop:
    """One node of the hop structure: a scored call."""

    number: int
    name: str
    source: Source
    failed: bool


@dataclass(frozen=True, slots=True)
class HopGraph:
    """The hop structure of one side: hops in order of their calls and the flows between them."""

    hops: tuple[Hop, ...]
    flows: tuple[Flow, ...]

    def inputs(self, number: int) -> tuple[Flow, ...]:
        """What flows into a hop (0: into the answer)."""
        return tuple(flow for flow in self.flows if flow.target == number)

    @property
    def chain(self) -> str:
        """The sources in order, as ``API --> RAG --> API``."""
        return " --> ".join(hop.source for hop in self.hops)


def written_atoms(made: MadeCall) -> Iterator[tuple[str, Atom]]:
    """The argument values of a call that can carry a value of an earlier response, with the argument's name.

    Of a retriever call only its texts: how many passages it wants says nothing about where a value came from.
    """
    for name, value in made.arguments.items():
        for atom in atoms(value):
            if atom is None or isinstance(atom, bool) or (made.source == "RAG" and not isinstance(atom, str)):
                continue
            yield name, atom


class _Handles(Mapping[str, MadeCall]):
    """The handles that the first ``count`` of some calls made, over what all of them made.

    A long session makes thousands, and what was known before each of its calls is asked for.
    """

    def __init__(self, makers: Mapping[str, list[tuple[int, MadeCall]]], count: int) -> None:
        self._makers = makers
        self._count = count

    def __getitem__(self, handle: str) -> MadeCall:
        makers = self._makers[handle]
        place = bisect_left(makers, self._count, key=itemgetter(0))
        if not place:
            raise KeyError(handle)
        return makers[place - 1][1]

    def __iter__(self) -> Iterator[str]:
        return (handle for handle, makers in self._makers.items() if makers[0][0] < self._count)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def handles_of(calls: MadeCalls) -> Iterator[tuple[MadeCall, Mapping[str, MadeCall]]]:
    """Each call with the handles known before it and the calls that made them (the latest of one name counts)."""
    makers: dict[str, list[tuple[int, MadeCall]]] = {}
    every = (calls.opening, *calls.calls) if calls.opening is not None else calls.calls
    for count, made in enumerate(every):
        if made.result is not None and made.result.handle and not made.failed:
            makers.setdefault(made.result.handle, []).append((count, made))
    return ((made, _Handles(makers, count)) for count, made in enumerate(every))


def hop_graph(calls: MadeCalls, answer: Json, facts: Mapping[int, ResponseFacts | None] | None = None) -> HopGraph:
    """The hop structure of one side. ``facts`` are by call number where they are known already."""
    known = {made.number: facts_of(made) for made in calls.scored} if facts is None else facts
    flows: list[Flow] = []
    scored = calls.scored
    numbers = {made.number for made in scored}
    for made, handles in handles_of(calls):
        if made.number not in numbers:
            continue
        flows.extend(_handle_flows(made, handles))
        earlier = [other for other in scored if other.number < made.number]
        flows.extend(_value_flows(list(written_atoms(made)), made.number, earlier, known, handles))
    flows.extend(_value_flows([("", atom) for atom in atoms(answer)], ANSWER, scored, known, {}))
    hops = tuple(Hop(number=m.number, name=m.call.name, source=m.source, failed=m.failed) for m in scored)
    return HopGraph(hops=hops, flows=tuple(flows))


COMMON = frozenset({0, 1, 2, 3, 4, 5, 10, 100, 1000})
"""Numbers that stand in many responses by chance: limits, positions, units."""

SHORT = 2
"""Characters up to which a text, and digits up to which a whole number, may stand anywhere by chance."""


def is_telling(flow: Flow, facts: ResponseFacts | None, dialogue: Sequence[str]) -> bool:
    """Whether a flow is to be drawn: a short value tells nothing where it is common or was given in the dialogue.

    A response that prints that one value alone is where it comes from, however short. ``facts`` are the source's,
    ``dialogue`` are texts. For what is shown to people; the gates take every flow.
    """
    value = flow.value
    if flow.kind == "handle" or flow.target == ANSWER or (facts is not None and len(facts.printed) == 1):
        return True
    if value is None or isinstance(value, bool):
        return False
    return not is_common(value) and not (_short(value) and any(occurs(value, text) for text in dialogue))


def by_chance(value: Atom) -> bool:
    """Whether a value is so short or so common that it stands in a large response by chance."""
    return value is None or isinstance(value, bool) or is_common(value) or _short(value)


def is_common(value: Atom) -> bool:
    """Whether a number is one of those that stand in many responses by chance."""
    return not isinstance(value, str) and value in COMMON


def _short(value: str | float) -> bool:
    if isinstance(value, int | str):
        return len(str(value)) <= SHORT
    return value.is_integer() and abs(value) < 10**SHORT


def _handle_flows(made: MadeCall, handles: Mapping[str, MadeCall]) -> Iterator[Flow]:
    for name, atom in written_atoms(made):
        maker = handles.get(atom) if isinstance(atom, str) else None
        if maker is not None and maker.number:
            yield Flow(source=maker.number, target=made.number, kind="handle", value=atom, argument=name)


def _value_flows(
    written: Sequence[tuple[str, Atom]],
    target: int,
    earlier: Sequence[MadeCall],
    facts: Mapping[int, ResponseFacts | None],
    handles: Mapping[str, MadeCall],
) -> Iterator[Flow]:
    """One flow for each value and argument, from the first response that shows the value."""
    seen: set[tuple[str, Key]] = set()
    asked = [
        (name, atom, Written((atom,))) for name, atom in written if not (isinstance(atom, str) and atom in handles)
    ]
    for made in earlier:
        found = facts.get(made.number)
        if found is None:
            continue
        for name, atom, whole in asked:
            for wanted, shown in _carried(found, atom, whole):
                if (name, wanted) not in seen:
                    seen.add((name, wanted))
                    yield Flow(
                        source=made.number, target=target, kind="value", value=shown, argument=name if target else None
                    )


def _carried(found: ResponseFacts, atom: Atom, written: Written) -> Iterator[tuple[Key, Atom]]:
    """The values of a response that are written in ``atom``: printed values, or ``atom`` itself in a passage.

    ``written`` is ``atom`` ready to be asked.
    """
    if found.passages:
        if stands_in_passages(atom, found):
            yield key(atom), atom
        return
    whole = key(atom)
    if whole in found.printed:
        yield whole, found.printed[whole]
        return
    if isinstance(atom, str):
        yield from written.standing(found.printed)
    elif isinstance(atom, float) or isinstance(whole, float):
        near = set(found.printed.equal(whole))
        if near:
            first = next(k for k in found.printed if k in near)
            yield first, found.printed[first]


def stands_in_passages(atom: Atom, found: ResponseFacts) -> bool:
    """Whether a value stands in a retrieved passage as a whole token."""
    return any(passage.holds(atom) for passage in found.searched)
