"""Agents by name: the harness of this program, a plug-in of an installed package, or a command of one's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sessions.agent.settings import AgentSettings, settings_from_environment
from sessions.agent.variation import AS_SET, Variation
from sessions.driver import Driver
from toolenv.errors import DataError
from toolenv.model import Instance, Json

if TYPE_CHECKING:
    from sessions.agent.vectors import Nearness
    from toolenv.openai_compat.sending import Waiting
    from toolenv.openai_compat.streams import DeltaListener

REACT = "react"
COMMAND = "command:"


class Agent(Protocol):
    """Makes the drivers of one agent, one for each instance.

    ``name`` and ``model`` are for people and reports. ``identity`` holds every setting that decides what the agent does
    and no secret: results are taken over only from an agent of the same identity. A driver may have ``requests`` (what
    it asked of models) and an async ``close``. ``usual`` is how it asks where nothing else is wished.
    """

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str | None: ...

    @property
    def usual(self) -> Variation: ...

    def identity(self) -> Mapping[str, Json]: ...

    def driver(self, instance: Instance, *, varied: Variation = AS_SET, after: Driver | None = None) -> Driver:
        """A driver for an instance; ``varied`` asks otherwise than usual, ``after`` is the driver that it follows."""
        ...

    async def aclose(self) -> None: ...


class ReactAgent:
    """The ReAct harness over one model of one endpoint; the client is made with the first driver."""

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        settings: AgentSettings | None = None,
        *,
        concurrency: int = 8,
        max_tokens: int | None = None,
        max_cost: float | None = None,
        on_delta: DeltaListener | None = None,
        on_wait: Callable[[Waiting], None] | None = None,
    ) -> None:
        from toolenv.openai_compat import Budget, Client, EndpointSettings
        from toolenv.openai_compat.settings import (
            DEFAULT_BASE_URL,
            dialect_from_environment,
            key_from_environment,
            prices_from_environment,
        )

        self.name = REACT
        self.model: str | None = model
        self.settings = settings if settings is not None else settings_from_environment()
        self._on_delta = on_delta
        endpoint = EndpointSettings(
            model=model,
            base_url=base_url or DEFAULT_BASE_URL,
            api_key=key_from_environment("agent"),
            concurrency=concurrency,
            budget=Budget(max_tokens=max_tokens, max_cost=max_cost),
            prices=prices_from_environment("agent"),
            dialect=dialect_from_environment("agent"),
            timeout_s=self.settings.request_seconds,
        )
        self.client = Client(endpoint, listener=on_wait)
        self._nearness: Nearness | None = None
        if self.settings.embeddings_model is not None:
            from sessions.agent.vectors import Nearness

            address = self.settings.embeddings_base_url or endpoint.base_url
            embedding = EndpointSettings(
                model=self.settings.embeddings_model, base_url=address, api_key=endpoint.api_key
            )
            self._nearness = Nearness(Client(embedding))

    def identity(self) -> Mapping[str, Json]:
        import msgspec

        endpoint = self.client.settings
        return {
            "agent": REACT,
            "model": endpoint.model,
            "base_url": endpoint.base_url,
            "settings": msgspec.to_builtins(self.settings),
            # Headers may carry a key, which belongs into no identity.
            "dialect": {**msgspec.to_builtins(endpoint.dialect), "extra_headers": {}},
        }

    def notes(self) -> tuple[str, ...]:
        """A sentence for each parameter that the endpoint refused."""
        return tuple(f"agent: {name} was not sent ({words})" for name, words in self.client.dropped.items())

    @property
    def usual(self) -> Variation:
        return Variation(model=self.model, temperature=self.settings.temperature, seed=self.settings.seed)

    def driver(self, instance: Instance, *, varied: Variation = AS_SET, after: Driver | None = None) -> Driver:
        import msgspec

        from sessions.agent.react import ReactDriver

        client, settings = self.client, self.settings
        if varied.model is not None and varied.model != self.model:
            client = client.asking(varied.model)
        if varied.temperature is not None:
            settings = msgspec.structs.replace(settings, temperature=varied.temperature)
        if varied.seed is not None:
            settings = msgspec.structs.replace(settings, seed=varied.seed)
        turns = after.turns if isinstance(after, ReactDriver) else ()
        return ReactDriver(client, settings, on_delta=self._on_delta, nearness=self._nearness, turns=turns)

    async def aclose(self) -> None:
        await self.client.aclose()
        if self._nearness is not None:
            await self._nearness.client.aclose()


def open_agent(
    text: str,
    *,
    model: str | None = None,
    base_url: str | None = None,
    concurrency: int = 8,
    max_tokens: int | None = None,
    max_cost: float | None = None,
    on_delta: DeltaListener | None = None,
    on_wait: Callable[[Waiting], None] | None = None,
    logs: Path | None = None,
) -> Agent:
    """The agent that ``--agent`` names: ``react``, the name of a plug-in, or ``command:PROGRAM ARGUMENTS``.

    ``logs`` is a folder for what a command prints on standard error, which is left alone without one.
    Raises ``DataError`` for one that is unknown or cannot be used.
    """
    if text == REACT:
        if not model:
            raise DataError("--agent react needs the name of a model: --model NAME")
        return ReactAgent(
            model,
            base_url,
            concurrency=concurrency,
            max_tokens=max_tokens,
            max_cost=max_cost,
            on_delta=on_delta,
            on_wait=on_wait,
        )
    if text.startswith(COMMAND):
        from sessions.agent.command import CommandAgent

        return CommandAgent(text[len(COMMAND) :], model=model, base_url=base_url, logs=logs)
    from sessions.agent.plugin import plugin_agent

    return plugin_agent(text, model=model, base_url=base_url)
