"""Agents of installed packages, found by the entry point group ``vakra_tui.agents``.

The entry point is a callable ``make(instance, options) -> driver``. ``options`` is a dict with ``model`` and
``base_url`` as they were given, or None, and with ``temperature`` and ``seed`` where a person asked for these. The
driver has ``async next(trajectory, tools) -> decision`` (see
``sessions.driver.Driver``); ``actor`` is optional, and so is an async ``close()``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from sessions.agent.decisions import whole
from sessions.agent.failure import AgentFailure
from sessions.agent.variation import AS_SET, Variation
from sessions.driver import Driver
from sessions.store.records import RequestRecord
from sessions.trajectory import Actor, Decision, Trajectory
from toolenv.errors import DataError, VakraError
from toolenv.model import Instance, Json, ToolSpec

GROUP = "vakra_tui.agents"

Make = Callable[[Instance, Mapping[str, Json]], Any]


def plugin_agent(name: str, *, model: str | None = None, base_url: str | None = None) -> PluginAgent:
    """The plug-in of this name. Raises ``DataError`` where there is none or it cannot be loaded."""
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in found:
        known = ", ".join(["react", "command:PROGRAM", *sorted(found)])
        raise DataError(f"there is no agent {name!r}; there are: {known}")
    return PluginAgent(name, _loaded(found[name]), model=model, base_url=base_url, origin=found[name].value)


def _loaded(entry: EntryPoint) -> Make:
    try:
        make = entry.load()
    except Exception as error:  # foreign code: whatever it raises, the plug-in cannot be used
        raise DataError(f"the agent {entry.name!r} ({entry.value}) cannot be loaded: {error!r}") from error
    if not callable(make):
        raise DataError(f"the agent {entry.name!r} ({entry.value}) is not callable")
    return make  # type: ignore[no-any-return]


class PluginAgent:
    """An agent that a callable makes; what it raises ends one instance and never the batch."""

    def __init__(
        self, name: str, make: Make, *, model: str | None = None, base_url: str | None = None, origin: str = ""
    ) -> None:
        self.name = name
        self.model = model
        self._make = make
        self._origin = origin
        self._options: dict[str, Json] = {"model": model, "base_url": base_url}

    def identity(self) -> Mapping[str, Json]:
        return {"agent": self.name, "origin": self._origin, **self._options}

    @property
    def usual(self) -> Variation:
        return Variation(model=self.model)

    def driver(self, instance: Instance, *, varied: Variation = AS_SET, after: Driver | None = None) -> Driver:
        try:
            made = self._make(instance, {**self._options, **varied.options()})
        except VakraError:
            raise
        except Exception as error:  # foreign code
            raise AgentFailure(f"The agent {self.name!r} could not be started: {error!r}.", kind="agent") from error
        return PluginDriver(self.name, made)

    async def aclose(self) -> None:
        return


class PluginDriver:
    """A driver of foreign code: whatever it raises becomes an ``AgentFailure`` that names it."""

    actor: Actor = "agent"

    def __init__(self, name: str, made: Any) -> None:
        self._name = name
        self._made = made

    @property
    def requests(self) -> Sequence[Any]:
        kept = getattr(self._made, "requests", ())
        return tuple(each for each in kept if isinstance(each, RequestRecord)) if isinstance(kept, list | tuple) else ()

    async def next(self, trajectory: Trajectory, tools: Sequence[ToolSpec]) -> Decision:
        try:
            decision = await self._made.next(trajectory, tools)
        except VakraError:
            raise
        except Exception as error:  # foreign code
            raise AgentFailure(f"The agent {self._name!r} broke: {error!r}.", kind="agent") from error
        try:
            return whole(decision)
        except TypeError as error:
            raise AgentFailure(f"The agent {self._name!r} gave no decision: {error}.", kind="agent") from error

    async def close(self) -> None:
        close = getattr(self._made, "close", None)
        if close is None:
            return
        try:
            await close()
        except Exception as error:  # foreign code
            raise AgentFailure(
                f"The agent {self._name!r} broke when it was closed: {error!r}.", kind="agent"
            ) from error
