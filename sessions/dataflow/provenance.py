"""Argument provenance: where each value of a call was first seen."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sessions.dataflow.calls import OPENING_TOOL
from sessions.dataflow.facts import ResponseFacts, response_facts
from sessions.dataflow.searched import SearchedText
from sessions.trajectory import CallTool, Step, Trajectory
from toolenv.model import Instance, Json, ToolCall, ToolSpec
from toolenv.policy import source_of
from toolenv.schema import arguments_of
from toolenv.values import Atom, ValueIndex, atoms, key, keys_equal, normal_text, occurs, shown_value

_LONG = 5
"""Letters above which a word tells what a text is about."""

Seen = Literal["query", "context", "policy", "response", "handle", "schema", "nowhere"]

Exempt = Literal["opening", "other_universe", "null", "switch", "default", "enum"]
"""Why nobody has to have seen a value."""

_EXEMPT_WORDS: Mapping[Exempt, str] = {
    "opening": "the instance's own tool universe",
    "other_universe": "not the tool universe of this instance",
    "null": "no value: nothing had to be seen for it",
    "switch": "a switch: true or false, as the tool's schema says",
    "default": "the default in the tool's schema",
    "enum": "one of the choices in the tool's schema",
}


@dataclass(frozen=True, slots=True)
class ArgumentOrigin:
    """Where one argument value was first seen.

    ``step`` is the number of the call for ``response`` and ``handle`` (0: the opening), ``turn`` the id of the
    context turn for ``context``. ``schema`` are values that nobody has to see, ``exempt`` says why: defaults, members
    of an enumeration, switches, what opens the instance. ``nowhere`` is an ungrounded value.
    """

    argument: str
    value: Atom
    seen: Seen
    step: int | None = None
    turn: int | None = None
    exempt: Exempt | None = None

    @property
    def text(self) -> str:
        match self.seen:
            case "query":
                return "from the query"
            case "context":
                return f"from turn {self.turn} of the dialogue"
            case "policy":
                return "from the policy"
            case "response":
                return "from the opening" if self.step == 0 else f"from the response of step {self.step}"
            case "handle":
                return "the table that the opening made" if self.step == 0 else f"the table that step {self.step} made"
            case "schema":
                return _EXEMPT_WORDS[self.exempt or "enum"]
            case _:
                return "seen nowhere before"


@dataclass(frozen=True, slots=True)
class _Past:
    """One earlier call: its number and the facts of its response."""

    number: int
    facts: ResponseFacts
    values: ValueIndex
    text: SearchedText


class _Known:
    """The answered calls of a trajectory's steps, and what any of them holds.

    A value that none holds is found out without asking each: a long session asks for thousands.
    """

    def __init__(self) -> None:
        self.steps: tuple[Step, ...] = ()
        self.calls: list[_Past] = []
        self.values = ValueIndex()
        self.structure: set[str] = set()
        self.with_passages: list[_Past] = []
        self.makers: dict[str, int] = {}
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
        result = step.result
        if result is None or not _answered(step):
            return
        facts = response_facts(result.text, source_of(step.decision.call.name))
        keys = (*facts.printed, *facts.lengths)
        made = _Past(
            number=0 if step.opening else self._number,
            facts=facts,
            values=ValueIndex(keys),
            text=SearchedText(result.text),
        )
        self.calls.append(made)
        for each in keys:
            self.values.add(each)
        self.structure |= facts.structure
        if facts.passages:
            self.with_passages.append(made)
        if result.handle is not None:
            self.makers[result.handle] = made.number

    def first_with(self, atom: Atom) -> _Past | None:
        """The first call whose response holds a value."""
        if key(atom) in self.values or (isinstance(atom, str) and atom in self.structure):
            return next((made for made in self.calls if _in_response(atom, made)), None)
        if not isinstance(atom, str):
            return next((made for made in self.with_passages if _in_response(atom, made)), None)
        if len(normal_text(atom)) <= 1:
            return None
        return next((made for made in self.calls if made.text.holds(atom)), None)


class _Latest(threading.local):
    """What this thread asked about last: a session asks again with one step more."""

    known: _Known | None = None


_latest = _Latest()


def _known(steps: tuple[Step, ...]) -> _Known:
    known = _latest.known
    if known is None or known.steps != steps[: len(known.steps)]:
        known = _Known()
    known.extend(steps[len(known.steps) :])
    _latest.known = known
    return known


def origins(trajectory: Trajectory, call: ToolCall, tools: Sequence[ToolSpec] = ()) -> tuple[ArgumentOrigin, ...]:
    """The origin of each argument value of ``call``, proposed at the end of ``trajectory``.

    One entry a scalar; a retriever's question (or any text of several words) that is not found as a whole is taken as
    the agent's own words: it has an origin when its names and numbers have one.
    """
    return tuple(_origins(trajectory.instance, _known(trajectory.steps), call, tools))


def origins_by_step(trajectory: Trajectory, tools: Sequence[ToolSpec] = ()) -> dict[int, tuple[ArgumentOrigin, ...]]:
    """Position of a call step -> the origins of its argument values."""
    known = _Known()
    found: dict[int, tuple[ArgumentOrigin, ...]] = {}
    for index, step in enumerate(trajectory.steps):
        if isinstance(step.decision, CallTool):
            found[index] = tuple(_origins(trajectory.instance, known, step.decision.call, tools))
        known.extend((step,))
    return found


def ungrounded(trajectory: Trajectory, call: ToolCall, tools: Sequence[ToolSpec] = ()) -> tuple[str, ...]:
    """``name = value`` for each argument value of a proposed call that was seen nowhere."""
    return tuple(
        f"{origin.argument} = {shown_value(origin.value)}"
        for origin in origins(trajectory, call, tools)
        if origin.seen == "nowhere"
    )


def _answered(step: Step) -> bool:
    return step.result is not None and not (step.result.failed or step.result.is_error)


def _origins(instance: Instance, past: _Known, call: ToolCall, tools: Sequence[ToolSpec]) -> Iterator[ArgumentOrigin]:
    spec = next((tool for tool in tools if tool.name == call.name), None)
    for name, value in call.arguments.items():
        named = _named_by_schema(spec, name)
        for atom in atoms(value):
            why = _opened(instance, atom) if call.name == OPENING_TOOL else _exempt(atom, named)
            if why is not None:
                yield ArgumentOrigin(argument=name, value=atom, seen="schema", exempt=why)
            else:
                yield _origin(instance, past, name, atom)


def _opened(instance: Instance, atom: Atom) -> Exempt:
    """Whether what opens an instance is its own universe; the uuid stands for it where the records name none."""
    return "opening" if atom in (instance.universe_id, instance.uuid) else "other_universe"


def _exempt(atom: Atom, named: Mapping[Exempt, tuple[Json, ...]]) -> Exempt | None:
    """Why nobody has to have seen a value; None where somebody has."""
    if atom is None:
        return "null"
    found = next((why for why, values in named.items() if any(_same_value(atom, each) for each in values)), None)
    return found or ("switch" if isinstance(atom, bool) else None)


def _origin(instance: Instance, past: _Known, name: str, atom: Atom) -> ArgumentOrigin:
    """The first place where a value was seen, in the order in which an agent came to see it."""
    maker = past.makers.get(atom) if isinstance(atom, str) else None
    if maker is not None:
        return ArgumentOrigin(argument=name, value=atom, seen="handle", step=maker)
    for number, turn in enumerate(instance.turns[:-1], start=1):
        if _in_text(atom, turn.query) or any(_matches(atom, part) for part in atoms(turn.answer)):
            return ArgumentOrigin(argument=name, value=atom, seen="context", turn=number)
    if _in_text(atom, instance.query):
        return ArgumentOrigin(argument=name, value=atom, seen="query")
    if instance.policy and _in_text(atom, instance.policy):
        return ArgumentOrigin(argument=name, value=atom, seen="policy")
    made = past.first_with(atom)
    if made is not None:
        return ArgumentOrigin(argument=name, value=atom, seen="response", step=made.number)
    if isinstance(atom, str) and len(atom.split()) > 2:
        part = _telling_part(instance, past, name, atom)
        if part is not None:
            return ArgumentOrigin(argument=name, value=atom, seen=part.seen, step=part.step, turn=part.turn)
    return ArgumentOrigin(argument=name, value=atom, seen="nowhere")


def _telling_part(instance: Instance, past: _Known, name: str, text: str) -> ArgumentOrigin | None:
    """Where a text in the agent's own words comes from: the latest origin of its names and numbers.

    None where one of them was seen nowhere, or where it has none and no long word of it was seen either.
    """
    words = [word.strip(".,;:?!\"'()[]") for word in text.split()]
    names = [word for word in words[1:] if word[:1].isupper() or any(c.isdigit() for c in word)]
    found = [_origin(instance, past, name, word) for word in names or [w for w in words if len(w) > _LONG]]
    known = [origin for origin in found if origin.seen != "nowhere"]
    if not known or (names and len(known) < len(found)):
        return None
    return max(known, key=lambda origin: -1 if origin.step is None else origin.step)


def _in_text(atom: Atom, text: str) -> bool:
    if isinstance(atom, str) and len(atom.strip()) == 1 and not atom.strip().isalnum():
        return atom.strip() in text
    return occurs(atom, text)


def _matches(atom: Atom, part: Atom) -> bool:
    return keys_equal(key(atom), key(part)) or (isinstance(part, str) and _in_text(atom, part))


def _in_response(atom: Atom, made: _Past) -> bool:
    if key(atom) in made.values or (isinstance(atom, str) and atom in made.facts.structure):
        return True
    if not isinstance(atom, str):
        return any(passage.holds(atom) for passage in made.facts.searched)
    return len(normal_text(atom)) > 1 and made.text.holds(atom)


def _named_by_schema(spec: ToolSpec | None, name: str) -> Mapping[Exempt, tuple[Json, ...]]:
    """The values of an argument that the schema itself names."""
    if spec is None:
        return {}
    defaults = arguments_of(spec).defaults
    named: list[Json] = []
    properties = spec.input_schema.get("properties")
    part = properties.get(name) if isinstance(properties, Mapping) else None
    if isinstance(part, Mapping):
        named.extend(part["enum"] if isinstance(part.get("enum"), list) else ())
        reference = part.get("$ref")
        definitions = spec.input_schema.get("$defs")
        if isinstance(reference, str) and isinstance(definitions, Mapping):
            target = definitions.get(reference.rpartition("/")[2])
            if isinstance(target, Mapping) and isinstance(target.get("enum"), list):
                named.extend(target["enum"])
    return {"default": (defaults[name],) if name in defaults else (), "enum": tuple(named)}


def _same_value(atom: Atom, known: Json) -> bool:
    return not isinstance(known, dict | list) and keys_equal(key(atom), key(known))
