"""What is behind a handle: the chain of calls that made it.

Handle names depend on what else a session did, so a recording never holds them in arguments. In their place stands

    {"made_by": [{"name": "get_data", "arguments": {...}}, {"name": "filter_data", "arguments": {"data_label":
    {"call": 0}, ...}}]}

the calls that made the table, each after those it builds on; ``{"call": k}`` is the table of the k-th of the list (from
0), and the last call is the maker. Two chains are the same when their calls are, whatever the order of keys.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping

from toolenv.model import Json

_MADE_BY = "made_by"
_CALL = "call"


class Chain:
    """A call whose arguments may hold other chains; compared by ``digest``, which is computed once."""

    __slots__ = ("arguments", "digest", "name")

    def __init__(self, name: str, arguments: Mapping[str, Json]) -> None:
        self.name = name
        self.arguments = arguments
        self.digest = hashlib.sha256(call_key(name, arguments).encode("utf-8", "surrogatepass")).hexdigest()

    def written(self) -> dict[str, Json]:
        """The form that stands in a recording."""
        calls: list[Json] = []
        places: dict[str, int] = {}
        stack: list[tuple[Chain, bool]] = [(self, False)]
        while stack:
            chain, ready = stack.pop()
            if chain.digest in places:
                continue
            if ready:
                arguments = replaced(chain.arguments, lambda inner: {_CALL: places[inner.digest]})
                places[chain.digest] = len(calls)
                calls.append({"name": chain.name, "arguments": arguments})
                continue
            stack.append((chain, True))
            stack.extend((inner, False) for inner in reversed(inner_chains(chain.arguments)))
        return {_MADE_BY: calls}


def call_key(name: str, arguments: Mapping[str, Json]) -> str:
    """A text that two calls share when their names are one and their arguments equal as JSON values."""
    return json.dumps([name, _canonical(arguments)], sort_keys=True, separators=(",", ":"))


def _canonical(value: Json) -> Json:
    if isinstance(value, Chain):
        return {"\0chain": value.digest}
    if isinstance(value, dict):
        return {name: _canonical(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2.0**53:
        return int(value)
    return value


def universe_asked_for(arguments: Mapping[str, Json], current: str) -> str | None:
    """The universe that a ``get_data`` with these arguments opens; None where they are not such a call's arguments."""
    if not arguments.keys() <= {"tool_universe_id"}:
        return None
    wanted = arguments.get("tool_universe_id")
    if wanted is None:
        return current
    return wanted if isinstance(wanted, str) and wanted else None


def with_handles(arguments: Mapping[str, Json], chains: Mapping[str, Chain]) -> dict[str, Json]:
    """The arguments with each known handle replaced by its chain."""

    def put(value: Json) -> Json:
        if isinstance(value, str):
            return chains.get(value, value)
        if isinstance(value, list):
            return [put(item) for item in value]
        return value

    return {name: put(value) for name, value in arguments.items()}


def inner_chains(value: Json) -> list[Chain]:
    """The chains that stand in a value, in order."""
    found: list[Chain] = []
    if isinstance(value, Chain):
        found.append(value)
    elif isinstance(value, Mapping):
        for item in value.values():
            found.extend(inner_chains(item))
    elif isinstance(value, list):
        for item in value:
            found.extend(inner_chains(item))
    return found


def replaced(value: Json, form: Callable[[Chain], Json]) -> Json:
    """A copy of a value with each chain in it put into another form."""
    if isinstance(value, Chain):
        return form(value)
    if isinstance(value, Mapping):
        return {name: replaced(item, form) for name, item in value.items()}
    if isinstance(value, list):
        return [replaced(item, form) for item in value]
    return value


def read(value: Json) -> Json:
    """A value from a recording with its chains understood. Raises ValueError or TypeError for a chain of odd form."""
    if isinstance(value, dict):
        if set(value) == {_MADE_BY}:
            return _read_chain(value[_MADE_BY])
        return {name: read(item) for name, item in value.items()}
    if isinstance(value, list):
        return [read(item) for item in value]
    return value


def _read_chain(calls: Json) -> Chain:
    made: list[Chain] = []

    def put(value: Json) -> Json:
        if isinstance(value, dict):
            if set(value) == {_CALL}:
                place = value[_CALL]
                if not isinstance(place, int) or not 0 <= place < len(made):
                    raise ValueError(f"{value} names no earlier call")
                return made[place]
            return {name: put(item) for name, item in value.items()}
        if isinstance(value, list):
            return [put(item) for item in value]
        return value

    for call in calls if isinstance(calls, list) else ():
        if not isinstance(call, dict) or not isinstance(call.get("name"), str):
            raise TypeError("a call of the chain has no name")
        made.append(Chain(call["name"], put(call.get("arguments") or {})))
    if not made:
        raise ValueError("the chain is empty")
    return made[-1]
