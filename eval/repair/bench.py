"""Executing lines of calls without ever running the same call twice.

A tool's answer depends on its arguments and on the tables behind their handles. A call is therefore named by its tool,
its arguments and, in place of each handle, the name of the call that made it; calls of one name have one result. What
both sides of an instance were executed with is known from the start, so a search runs only calls that are new.

New calls run in one session beside the two sides, in which the tables that they need are made first. Where answers may
depend on more (a trajectory that switches its tool universe on the way), every line is run from its beginning.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from eval.repair.line import Line, Ran, has_unresolved, mapped
from eval.repair.sides import Ref, SideCall
from sessions.calling import call_in_time, refused
from sessions.dataflow import MadeCall
from sessions.execution import opening_call
from sessions.trajectory import Actor, CallTool, Step
from toolenv.environment import TableView, ToolEnvironment, ToolSession
from toolenv.errors import VakraError
from toolenv.model import Instance, Json, ToolCall, ToolResult

OPENING = "opening"


class Inadmissible(Exception):
    """A line cannot be executed: a call needs a table that nothing on it makes."""


class LimitReached(VakraError):
    """A search has run as many calls as it may."""


@dataclass(frozen=True)
class _Known:
    result: ToolResult
    table: TableView | None


class Bench:
    """Runs lines of one instance; ``executions`` counts the calls that were run, ``reused`` those that were known."""

    def __init__(
        self,
        instance: Instance,
        environment: ToolEnvironment,
        *,
        limit: int,
        deadline_s: float | None = None,
        stateful: bool = False,
    ) -> None:
        self.instance = instance
        self.environment = environment
        self.limit = limit
        self.deadline_s = deadline_s
        self.stateful = stateful
        self.executions = 0
        self.reused = 0
        self._known: dict[str, _Known] = {}
        self._recipes: dict[str, tuple[str, Any]] = {}
        self._session: ToolSession | None = None
        self._local: dict[str, str] = {}
        self._names: set[str] = set()
        self._keys: dict[tuple[str, int], str] = {}

    def seed(self, opening: Ran | None, calls: tuple[SideCall, ...]) -> None:
        """Take up what a side was executed with."""
        made: dict[int, Ran] = {} if opening is None else {0: opening}
        for each in calls:
            template = _with_makers(each.template, made)
            name = self._keys[each.side, each.number] = key_of(each.call, template)
            if each.made.result is not None:
                self._known.setdefault(name, _Known(each.made.result, each.made.table))
                self._recipes.setdefault(name, (each.call.name, template))
            made[each.number] = Ran(
                place=None,
                key=name,
                step=each.made.step,
                table=each.made.table,
                handle=None if each.made.failed or each.made.result is None else each.made.result.handle,
            )

    def key_at(self, side: str, number: int) -> str:
        """What a call of a side computes, by the side's own execution."""
        return self._keys[side, number]

    async def run(self, line: Line) -> list[Ran]:
        """Execute a line. Raises ``Inadmissible``, ``LimitReached``, and what a session raises."""
        if self.stateful:
            return await self.run_afresh(line)
        names: set[str] = set()
        for index, place in enumerate(line.plan):
            called = line.call(index)
            template = line.arguments(index)
            if has_unresolved(template):
                raise Inadmissible
            name = key_of(called.call, template)
            known = self._known.get(name)
            if known is None:
                if self._mistakable(template):
                    line.ran.clear()
                    return await self.run_afresh(line)
                known = await self._execute(name, called.call, template)
            else:
                self.reused += 1
            result, handle = _named(known.result, names)
            step = _step(called, mapped(template, lambda ran: ran.handle), result)
            line.ran.append(Ran(place=place, key=name, step=step, table=known.table, handle=handle))
        return line.ran

    async def run_afresh(self, line: Line) -> list[Ran]:
        """Execute a line in a session of its own, from its opening on."""
        session = await self.environment.open(self.instance)
        try:
            if line.opening is not None:
                line.opening = await self._opened(session, line.opening)
            for index, place in enumerate(line.plan):
                called = line.call(index)
                template = line.arguments(index)
                if has_unresolved(template):
                    raise Inadmissible
                arguments = mapped(template, lambda ran: ran.handle)
                result, table = await self._call(session, called.call, arguments)
                handle = None if result.failed or result.is_error else result.handle
                step = _step(called, arguments, result)
                name = key_of(called.call, template)
                line.ran.append(Ran(place=place, key=name, step=step, table=table, handle=handle))
            return line.ran
        finally:
            await session.close()

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _mistakable(self, template: Any) -> bool:
        """Whether a text in arguments happens to be the name of a table that only this bench has."""
        return any(text in self._names for text in _texts(template))

    async def _execute(self, name: str, call: ToolCall, template: Any) -> _Known:
        session = await self._opened_session()
        for ran in _makers(template):
            await self._make(session, ran.key)
        return await self._run(session, name, call, template)

    async def _run(self, session: ToolSession, name: str, call: ToolCall, template: Any) -> _Known:
        arguments = mapped(template, lambda ran: self._local[ran.key])
        result, table = await self._call(session, call, arguments)
        known = self._known.setdefault(name, _Known(result, table))
        self._recipes.setdefault(name, (call.name, template))
        if result.handle is not None:
            self._names.add(result.handle)
            if not result.failed:
                self._local[name] = result.handle
        return known

    async def _make(self, session: ToolSession, name: str) -> None:
        """Have the table of a call in the bench's session, by running the calls that lead to it."""
        pending = [name]
        while pending:
            here = pending[-1]
            if here in self._local:
                pending.pop()
                continue
            tool, template = self._recipes[here]
            lacking = [ran.key for ran in _makers(template) if ran.key not in self._local]
            if lacking:
                pending.extend(lacking)
                continue
            await self._run(session, here, ToolCall(name=tool, arguments={}), template)
            if here not in self._local:
                raise Inadmissible

    async def _opened_session(self) -> ToolSession:
        if self._session is None:
            self._session = await self.environment.open(self.instance)
            call = opening_call(self.instance)
            if call is not None:
                result, _ = await self._call(self._session, call, call.arguments)
                if result.handle is not None:
                    self._local[OPENING] = result.handle
                    self._names.add(result.handle)
        return self._session

    async def _opened(self, session: ToolSession, opening: Ran) -> Ran:
        decision = opening.step.decision
        assert isinstance(decision, CallTool)
        result, table = await self._call(session, decision.call, decision.call.arguments)
        step = msgspec.structs.replace(opening.step, result=result)
        return Ran(place=None, key=OPENING, step=step, table=table, handle=None if result.failed else result.handle)

    async def _call(
        self, session: ToolSession, call: ToolCall, arguments: Mapping[str, Json]
    ) -> tuple[ToolResult, TableView | None]:
        refusal = refused(call)
        if refusal is not None:
            return refusal, None
        if self.executions >= self.limit:
            raise LimitReached(f"the search ran {self.executions} calls, as many as it may")
        self.executions += 1
        return await call_in_time(
            session, call.name, arguments, deadline_s=self.deadline_s, where="A call of the repair search"
        )


def key_of(call: ToolCall, template: Any) -> str:
    """What a call computes, as a digest: its tool, its arguments, and for each handle the call that made it."""
    written = mapped(template, lambda ran: {"\0table": ran.key})
    text = json.dumps([call.name, call.raw_arguments, written], sort_keys=True, default=str)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def opening_ran(made: MadeCall | None) -> Ran | None:
    """The opening of a side as the first executed call of every line."""
    if made is None:
        return None
    handle = None if made.failed or made.result is None else made.result.handle
    return Ran(place=None, key=OPENING, step=made.step, table=made.table, handle=handle)


def _with_makers(value: Any, made: Mapping[int, Ran]) -> Any:
    if isinstance(value, Ref):
        return made.get(value.number, f"no table of step {value.number}")
    if isinstance(value, list):
        return [_with_makers(item, made) for item in value]
    if isinstance(value, dict):
        return {name: _with_makers(item, made) for name, item in value.items()}
    return value


def _makers(value: Any) -> list[Ran]:
    if isinstance(value, Ran):
        return [value]
    if isinstance(value, list):
        return [ran for item in value for ran in _makers(item)]
    if isinstance(value, dict):
        return [ran for item in value.values() for ran in _makers(item)]
    return []


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    if isinstance(value, dict):
        return [text for item in value.values() for text in _texts(item)]
    return []


def _named(result: ToolResult, names: set[str]) -> tuple[ToolResult, str | None]:
    """A known result as it stands on a line, whose handles must differ: results may come from several sessions."""
    handle = result.handle
    if handle is None:
        return result, None
    usable = not (result.failed or result.is_error)
    if handle not in names:
        names.add(handle)
        return result, handle if usable else None
    number = 2
    while f"{handle}~{number}" in names:
        number += 1
    other = f"{handle}~{number}"
    names.add(other)
    text = result.text.replace(json.dumps(handle), json.dumps(other))
    return msgspec.structs.replace(result, handle=other, text=text), other if usable else None


def _step(called: SideCall, arguments: Any, result: ToolResult) -> Step:
    call = called.call
    if call.raw_arguments is None:
        call = msgspec.structs.replace(call, arguments=arguments)
    actor: Actor = "recording" if called.side == "predicted" else "ground_truth"
    return Step(actor=actor, decision=CallTool(call=call), result=result)
