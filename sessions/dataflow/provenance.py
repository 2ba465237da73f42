"""Argument provenance: where each value of a call most plausibly comes from, and where else it was seen."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sessions.dataflow.calls import OPENING_TOOL
from sessions.dataflow.flows import by_chance, is_common
from sessions.dataflow.holders import Known
from sessions.trajectory import CallTool, Step, Trajectory
from toolenv.model import Instance, Json, ToolCall, ToolSpec
from toolenv.schema import arguments_of
from toolenv.values import Atom, atoms, key, keys_equal, occurs, shown_value

_LONG = 5
"""Letters above which a word tells what a text is about."""

MOST_OTHERS = 8
"""Further places of a value that are told."""

Seen = Literal["query", "context", "policy", "response", "handle", "schema", "nowhere"]

Exempt = Literal["opening", "other_universe", "null", "switch", "default", "enum", "small"]
"""Why nobody has to have seen a value."""

_EXEMPT_WORDS: Mapping[Exempt, str] = {
    "opening": "the instance's own tool universe",
    "other_universe": "not the tool universe of this instance",
    "null": "no value: nothing had to be seen for it",
    "switch": "a switch: true or false, as the tool's schema says",
    "default": "the default in the tool's schema",
    "enum": "one of the choices in the tool's schema",
    "small": "a small number, as limits and positions are; seen nowhere before",
}


@dataclass(frozen=True, slots=True)
class ArgumentOrigin:
    """Where one argument value comes from.

    ``step`` is the number of the call for ``response`` and ``handle`` (0: the opening), ``turn`` the id of the
    context turn for ``context``. ``schema`` are values that nobody has to see, ``exempt`` says why: defaults, members
    of an enumeration, switches, what opens the instance, small numbers that are seen nowhere. ``nowhere`` is an
    ungrounded value. ``others`` are further places that show it, the most plausible first and at most
    ``MOST_OTHERS``.
    """

    argument: str
    value: Atom
    seen: Seen
    step: int | None = None
    turn: int | None = None
    exempt: Exempt | None = None
    others: tuple[ArgumentOrigin, ...] = ()

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


class _Latest(threading.local):
    """What this thread asked about last: a session asks again with one step more."""

    known: Known | None = None


_latest = _Latest()


def _known(steps: tuple[Step, ...]) -> Known:
    known = _latest.known
    if known is None or known.steps != steps[: len(known.steps)]:
        known = Known()
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
    known = Known()
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


def _origins(instance: Instance, past: Known, call: ToolCall, tools: Sequence[ToolSpec]) -> Iterator[ArgumentOrigin]:
    spec = next((tool for tool in tools if tool.name == call.name), None)
    tables = {maker for atom in atoms(dict(call.arguments)) if (maker := _maker(past, atom)) is not None}
    for name, value in call.arguments.items():
        named = _named_by_schema(spec, name)
        for atom in atoms(value):
            why = _opened(instance, atom) if call.name == OPENING_TOOL else _exempt(atom, named)
            if why is not None:
                yield ArgumentOrigin(argument=name, value=atom, seen="schema", exempt=why)
            else:
                yield _origin(instance, past, name, atom, tables)


def _opened(instance: Instance, atom: Atom) -> Exempt:
    """Whether what opens an instance is its own universe; the uuid stands for it where the records name none."""
    return "opening" if atom in (instance.universe_id, instance.uuid) else "other_universe"


def _exempt(atom: Atom, named: Mapping[Exempt, tuple[Json, ...]]) -> Exempt | None:
    """Why nobody has to have seen a value; None where somebody has."""
    if atom is None:
        return "null"
    found = next((why for why, values in named.items() if any(_same_value(atom, each) for each in values)), None)
    return found or ("switch" if isinstance(atom, bool) else None)


def _origin(instance: Instance, past: Known, name: str, atom: Atom, near: Collection[int] = ()) -> ArgumentOrigin:
    """The most plausible source of a value and the other places that show it.

    A table's name is its maker's. What the dialogue says an agent knew before it made a call, the query first and of
    the earlier turns the latest; only a short value that one response shows alone comes from there rather. Then come
    the policy and the responses, as ``Known.holders`` ranks them.
    """
    maker = _maker(past, atom)
    if maker is not None:
        return ArgumentOrigin(argument=name, value=atom, seen="handle", step=maker)
    said = list(_said(instance, name, atom))
    holders = past.holders(atom, near)[: MOST_OTHERS + 1]
    held = [ArgumentOrigin(argument=name, value=atom, seen="response", step=made.number) for made in holders]
    alone = bool(holders) and by_chance(atom) and holders[0].size == 1
    found = [*held[:1], *said, *held[1:]] if alone else [*said, *held]
    if found:
        return replace(found[0], others=tuple(found[1 : MOST_OTHERS + 1]))
    if isinstance(atom, str) and len(atom.split()) > 2:
        part = _telling_part(instance, past, name, atom)
        if part is not None:
            return ArgumentOrigin(argument=name, value=atom, seen=part.seen, step=part.step, turn=part.turn)
    if not isinstance(atom, str) and is_common(atom):
        return ArgumentOrigin(argument=name, value=atom, seen="schema", exempt="small")
    return ArgumentOrigin(argument=name, value=atom, seen="nowhere")


def _maker(past: Known, atom: Atom) -> int | None:
    """The number of the call that made the table of this name."""
    return past.makers.get(atom) if isinstance(atom, str) else None


def _said(instance: Instance, name: str, atom: Atom) -> Iterator[ArgumentOrigin]:
    """The places of the dialogue and the policy that have a value, the most plausible first."""
    if _in_text(atom, instance.query):
        yield ArgumentOrigin(argument=name, value=atom, seen="query")
    for number, turn in reversed(list(enumerate(instance.turns[:-1], start=1))):
        if _in_text(atom, turn.query) or any(_matches(atom, part) for part in atoms(turn.answer)):
            yield ArgumentOrigin(argument=name, value=atom, seen="context", turn=number)
    if instance.policy and _in_text(atom, instance.policy):
        yield ArgumentOrigin(argument=name, value=atom, seen="policy")


def _telling_part(instance: Instance, past: Known, name: str, text: str) -> ArgumentOrigin | None:
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
