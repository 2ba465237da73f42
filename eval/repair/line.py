"""A line of calls that may be executed: the prediction's own calls with ground-truth calls among them, and the rules by
which handles and flowing values are mapped onto it.

* A handle names a table by the call that made it. It becomes the handle that this call, or the call that stands in its
  place, makes here. A call that a replacement put in takes over where the ground truth passes its table on.
* A name without a table, which the prediction expected a failed call to make, is the table that the call in its place
  makes.
* A value that an argument took from an earlier response stays while that response still shows it. Where it does not any
  more, the argument takes what the ground truth passes along the same way; else what stands in the same place of the
  new response; else the new response's only value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.repair.sides import Ref, Side, SideCall, Sides
from sessions.dataflow import MadeCall
from sessions.dataflow.facts import facts_of
from sessions.trajectory import Step
from toolenv.environment import TableView
from toolenv.model import Json, ToolResult
from toolenv.values import Atom, decode, key, text_occurs

UNRESOLVED = object()
"""What a handle becomes that nothing on the line makes."""


@dataclass(frozen=True, slots=True)
class Place:
    """One call of a line. ``instead`` is the predicted call in whose place a ground-truth call stands."""

    side: Side
    number: int
    instead: int | None = None


@dataclass(frozen=True)
class Ran:
    """A call of a line, executed. ``key`` names what it computed: equal keys have equal results. ``handle`` is the name
    of its table on this line."""

    place: Place | None
    key: str
    step: Step
    table: TableView | None
    handle: str | None

    @property
    def result(self) -> ToolResult | None:
        return self.step.result


class Line:
    """Maps the calls of a plan one after another, while it is being executed."""

    def __init__(self, sides: Sides, plan: Sequence[Place], opening: Ran | None, query: str) -> None:
        self.sides = sides
        self.plan = tuple(plan)
        self.opening = opening
        self.query = query
        self.ran: list[Ran] = []
        self._named: dict[str, Ran] = {}
        self._at: dict[tuple[Side, int], int] = {}
        self._put_in = {place.number for place in plan if place.side == "truth"}
        standing = sides.standing_for
        for index, place in enumerate(self.plan):
            self._at.setdefault((place.side, place.number), index)
        for index, place in enumerate(self.plan):
            if place.side == "predicted":
                hop = sides.pairs.get(place.number)
                if hop is not None:
                    self._at.setdefault(("truth", hop), index)
            else:
                step = place.instead if place.instead is not None else standing.get(place.number)
                if step is not None:
                    self._at.setdefault(("predicted", step), index)

    def call(self, index: int) -> SideCall:
        place = self.plan[index]
        return self.sides.side(place.side)[place.number - 1]

    def maker(self, ref: Ref) -> Ran | None:
        """The executed call behind a handle, or None where nothing before this point stands for it."""
        if ref.number == 0:
            return self.opening
        index = self._at.get((ref.side, ref.number))
        return self.ran[index] if index is not None and index < len(self.ran) else None

    def arguments(self, index: int) -> Any:
        """The arguments of a call of the plan as a template whose references are ``Ran`` values.

        A handle that nothing makes is ``UNRESOLVED`` in a ground-truth call; a predicted one keeps its name, as it
        would be written.
        """
        called = self.call(index)
        template = dict(called.template)
        self._named = {
            ran.handle: ran for ran in self.ran if ran.handle and ran.place is not None and ran.place.side == "truth"
        }
        if called.side == "predicted":
            template = self._passed_on(called, template)
            template = self._flowed(called, template)
        return self._resolved(template, called)

    def _passed_on(self, called: SideCall, template: dict[str, Any]) -> dict[str, Any]:
        """Handles that the ground truth passes from a call that was put in to this one."""
        hop = self.sides.pairs.get(called.number)
        if hop is None:
            return template
        reference = self.sides.truth[hop - 1].template
        for name, value in reference.items():
            if isinstance(value, Ref) and value.number in self._put_in and isinstance(template.get(name), Ref | str):
                given = template[name]
                index = self._at.get(("truth", value.number))
                instead = None if index is None else self.plan[index].instead
                # A table that its own call names otherwise stays; a name without a table was meant for this one.
                if index is not None and index < len(self.ran) and (instead is None or isinstance(given, str)):
                    template[name] = value
        return template

    def _flowed(self, called: SideCall, template: dict[str, Any]) -> dict[str, Any]:
        hop = self.sides.pairs.get(called.number)
        reference = self.sides.truth[hop - 1].template if hop is not None else {}
        done: set[str] = set()
        for flow in self.sides.flows.get(called.number, ()):
            name = flow.argument or ""
            if flow.kind != "value" or name in done or self._asked_for(flow.value):
                continue
            source = self.maker(Ref("predicted", flow.source))
            old = self.sides.predicted[flow.source - 1].made
            if source is None or source.result is None or source.result.text == old.text:
                continue
            shown = _shown(source)
            if key(flow.value) in shown:
                continue
            wanted = reference.get(name)
            if _is_atom(wanted) and key(wanted) in shown:
                new: Atom = wanted
            else:
                found = _in_same_place(old.text, source.result.text, flow.value, shown)
                if found is UNRESOLVED:
                    continue
                new = found
            template[name] = _exchanged(template[name], flow.value, new)
            done.add(name)
        if hop is not None:
            self._from_put_in(called, hop, template, done)
        return template

    def _from_put_in(self, called: SideCall, hop: int, template: dict[str, Any], done: set[str]) -> None:
        """Values that the ground truth takes from a call that was put in, for arguments that had no source before."""
        sourced = {flow.argument for flow in self.sides.flows.get(called.number, ())}
        for flow in self.sides.truth_flows.get(hop, ()):
            name = flow.argument or ""
            given = template.get(name)
            if flow.kind != "value" or flow.source not in self._put_in or name in done or not _is_atom(given):
                continue
            if name in sourced or self._asked_for(given):
                continue
            source = self.maker(Ref("truth", flow.source))
            if source is not None and key(flow.value) in _shown(source):
                template[name] = self.sides.truth[hop - 1].template[name]
                done.add(name)

    def _asked_for(self, value: Json) -> bool:
        """Whether a value stands in the dialogue, so that no response need be its source."""
        return value is not None and text_occurs(str(value), self.query)

    def _resolved(self, value: Any, called: SideCall) -> Any:
        if isinstance(value, Ref):
            ran = self.maker(value)
            if ran is not None and ran.handle is not None:
                return ran
            return UNRESOLVED if called.side == "truth" else f"no table of step {value.number}"
        if isinstance(value, str) and called.side == "predicted":
            return self._named.get(value, value)
        if isinstance(value, list):
            return [self._resolved(item, called) for item in value]
        if isinstance(value, dict):
            return {name: self._resolved(item, called) for name, item in value.items()}
        return value


def mapped(value: Any, name: Any) -> Any:
    """A template with every executed call in it replaced by ``name(ran)``."""
    if isinstance(value, Ran):
        return name(value)
    if isinstance(value, list):
        return [mapped(item, name) for item in value]
    if isinstance(value, dict):
        return {each: mapped(item, name) for each, item in value.items()}
    return value


def has_unresolved(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(has_unresolved, value))
    if isinstance(value, dict):
        return any(map(has_unresolved, value.values()))
    return value is UNRESOLVED


def _is_atom(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _shown(ran: Ran) -> Mapping[Any, Atom]:
    """The values that a response shows, by their keys."""
    from sessions.trajectory import CallTool
    from toolenv.policy import source_of

    decision = ran.step.decision
    assert isinstance(decision, CallTool)
    made = MadeCall(
        number=1,
        index=0,
        step=ran.step,
        call=decision.call,
        table=ran.table,
        source=source_of(decision.call.name),
        scored=True,
    )
    found = facts_of(made)
    return {} if found is None else found.printed


def _in_same_place(before: str, now: str, value: Atom, shown: Mapping[Any, Atom]) -> Any:
    """What the new response has where the old one had a value, or its only value; ``UNRESOLVED`` where neither is."""
    path = _path_to(decode(before), key(value))
    if path is not None:
        found = decode(now)
        for part in path:
            if (isinstance(found, dict) and part in found) or (isinstance(found, list) and _index(part, found)):
                found = found[part]
            else:
                break
        else:
            if _is_atom(found):
                return found
    only = list(shown.values())
    return only[0] if len(only) == 1 and _is_atom(only[0]) else UNRESOLVED


def _index(part: Any, items: list[Any]) -> bool:
    return isinstance(part, int) and part < len(items)


def _path_to(value: Json, wanted: Any) -> tuple[Any, ...] | None:
    """The way to the first atom with a key, depth first in document order, without recursion."""
    stack: list[tuple[Json, tuple[Any, ...]]] = [(value, ())]
    while stack:
        here, path = stack.pop()
        if isinstance(here, dict):
            stack.extend((item, (*path, name)) for name, item in reversed(here.items()))
        elif isinstance(here, list):
            stack.extend((item, (*path, index)) for index, item in reversed(list(enumerate(here))))
        elif (here is None or isinstance(here, str | int | float)) and key(here) == wanted:
            return path
    return None


def _exchanged(argument: Any, old: Atom, new: Atom) -> Any:
    """The argument with one value exchanged, in the type that it was written in."""
    if isinstance(argument, list):
        return [_exchanged(item, old, new) for item in argument]
    if isinstance(argument, dict):
        return {name: _exchanged(item, old, new) for name, item in argument.items()}
    if not _is_atom(argument):
        return argument
    if key(argument) == key(old):
        return str(new) if isinstance(argument, str) else new
    if isinstance(argument, str) and old is not None:
        return argument.replace(str(old), str(new))
    return argument
