"""The client that judge, agent and embeddings share: one model of one endpoint."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec

from toolenv.openai_compat.exchange import Exchange
from toolenv.openai_compat.faults import EndpointError, ProviderError
from toolenv.openai_compat.ledger import Ledger
from toolenv.openai_compat.negotiation import LIMIT_NAMES, OPTIONAL, Negotiation
from toolenv.openai_compat.replies import ChatReply, Completion, read_completion, read_embeddings, sendable
from toolenv.openai_compat.sending import Sender, Waiting
from toolenv.openai_compat.settings import EndpointSettings
from toolenv.openai_compat.streams import DeltaListener
from toolenv.openai_compat.wire import wired

if TYPE_CHECKING:
    import httpx2

FAILED_PROBE_HOLDS_S = 15.0
FAILED_PROBE_HOLDS_TIMES = 4
"""For how long a failed probe speaks for the requests that follow it, so that a batch does not knock for each:
so many seconds, or so many times as long as it took."""

_PROBE = ({"role": "user", "content": 'Reply with this JSON object and nothing else: {"ok": true}'},)
_PROBE_TOKENS = 16
_OUTPUT_GUESS = 512


class Client:
    """Asks one model of one endpoint; safe for concurrent use within one event loop.

    ``listener`` hears of every wait before a retry; ``http_client`` (an ``httpx2.AsyncClient``) replaces the
    connection. Requests raise ``EndpointError`` when they come to nothing, ``BudgetSpent`` when a cap forbids them.
    """

    def __init__(
        self,
        settings: EndpointSettings,
        *,
        listener: Callable[[Waiting], None] | None = None,
        http_client: httpx2.AsyncClient | None = None,
        random: Random | None = None,
        sender: Sender | None = None,
    ) -> None:
        self.settings = settings
        self._sender = sender or Sender(settings, listener=listener, http_client=http_client, random=random)
        self._negotiation = Negotiation(settings.dialect)
        self._probing = asyncio.Lock()
        self._probed: frozenset[str] | None = None
        self._failed_probe: tuple[float, EndpointError] | None = None

    def asking(self, model: str) -> Client:
        """A client for another model of this endpoint; connection, patience, caps and ledger are those of this one."""
        return Client(msgspec.structs.replace(self.settings, model=model), sender=self._sender)

    @property
    def ledger(self) -> Ledger:
        """What was spent, the probe included."""
        return self._sender.ledger

    @property
    def retried(self) -> int:
        """How many attempts had to be made again."""
        return self._sender.retried

    @property
    def exchanges(self) -> Sequence[Exchange]:
        """The last exchanges, oldest first."""
        return tuple(self._sender.exchanges)

    @property
    def dropped(self) -> Mapping[str, str]:
        """Optional parameters that the endpoint refused -> its words, by name."""
        return self._negotiation.dropped

    def forget_failure(self) -> None:
        """Ask again at the next request, although the last probe failed (a person has seen to the endpoint)."""
        self._failed_probe = None

    async def aclose(self) -> None:
        await self._sender.aclose()

    async def probe(self, parameters: Mapping[str, Any]) -> None:
        """Find out, once, whether the endpoint answers and which of the optional ``parameters`` it takes.

        Raises ``EndpointError``; a failure is remembered for a short time and raised again without asking.
        """
        wanted = frozenset(parameters) & frozenset(OPTIONAL)
        if self._knows(wanted):
            return
        async with self._probing:
            if self._knows(wanted):
                return
            if self._failed_probe is not None and time.monotonic() < self._failed_probe[0]:
                raise self._failed_probe[1]
            limit = {"max_tokens": _PROBE_TOKENS} if "max_tokens" in wanted else {}
            started = time.monotonic()
            try:
                await self._find_accepted({**parameters, **limit})
            except EndpointError as error:
                if error.kind != "budget":
                    self._sender.doubt()
                    now = time.monotonic()
                    holds = max(FAILED_PROBE_HOLDS_S, FAILED_PROBE_HOLDS_TIMES * (now - started))
                    self._failed_probe = (now + holds, error)
                raise
            self._failed_probe = None
            self._probed = (self._probed or frozenset()) | wanted

    async def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        parameters: Mapping[str, Any] | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
        deadline_s: float | None = None,
        on_delta: DeltaListener | None = None,
        probe: bool = True,
    ) -> ChatReply:
        """One completion. ``parameters`` are optional ones (temperature, seed, response_format, max_tokens ...).

        A probe with the same parameters goes before the first request, with its own patience, unless ``probe`` is
        false; what a refusal names is given up in either case. ``deadline_s`` bounds the request with all its waits.
        With ``on_delta`` the completion is streamed to it; one that was cut off has the finish reason ``cut``.
        """
        wanted = parameters or {}
        if probe:
            await self.probe(wanted)
        try:
            async with asyncio.timeout(deadline_s):
                return await self._chat(messages, wanted, tools, on_delta)
        except TimeoutError:
            raise self._too_late(deadline_s) from None

    async def embeddings(self, texts: Sequence[str], *, deadline_s: float | None = None) -> list[list[float]]:
        """One vector a text, in order."""
        if not texts:
            return []
        body = {"model": self.settings.model, "input": [sendable(text) for text in texts]}
        try:
            async with asyncio.timeout(deadline_s):
                sent = await self._sender.send(
                    "/embeddings",
                    body,
                    lambda reply: read_embeddings(reply, len(texts)),
                    output_guess=0,
                    text_of=lambda _: "",
                )
                return sent.value
        except TimeoutError:
            raise self._too_late(deadline_s) from None

    def _knows(self, wanted: frozenset[str]) -> bool:
        return self._probed is not None and wanted <= self._probed

    async def _find_accepted(self, parameters: Mapping[str, Any]) -> None:
        """Probe; where a refusal names no parameter, give up each alone, then more and more of them together."""
        try:
            await self._chat(_PROBE, parameters, ())
            return
        except EndpointError as error:
            if error.kind != "refused" or error.status in (401, 403, 404):
                raise
            refusal = error
        shaped = self._negotiation.shape(parameters)
        present = [name for name in OPTIONAL if name in shaped]
        alone = [present[at : at + 1] for at in range(len(present))]
        together = [present[:count] for count in range(2, len(present) + 1)]
        for given_up in (*alone, *together):
            kept = {name: value for name, value in shaped.items() if name not in given_up}
            try:
                await self._once(_PROBE, kept, ())
            except EndpointError as error:
                if error.kind != "refused":
                    raise
                continue
            for name in given_up:
                self._negotiation.drop(name, str(refusal))
            return
        raise refusal

    async def _chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        parameters: Mapping[str, Any],
        tools: Sequence[Mapping[str, Any]],
        on_delta: DeltaListener | None = None,
    ) -> ChatReply:
        """Send, giving up what a refusal names: an optional parameter, or the system role. Each round gives up one."""
        while True:
            usage = {} if on_delta is None else {"stream_options": {"include_usage": True}}
            sent = self._negotiation.shape({**parameters, **usage})
            try:
                return await self._once(messages, sent, tools, on_delta)
            except EndpointError as error:
                refusal = ProviderError(error.kind, str(error), status=error.status, param=error.param)
                if self._negotiation.refuses_system_role(refusal, messages):
                    continue
                named = self._negotiation.named(refusal, sent)
                if named is None:
                    raise
                self._negotiation.give_up(named, str(error))

    async def _once(
        self,
        messages: Sequence[Mapping[str, Any]],
        sent: Mapping[str, Any],
        tools: Sequence[Mapping[str, Any]],
        on_delta: DeltaListener | None = None,
    ) -> ChatReply:
        body = {"model": self.settings.model, "messages": wired(messages, self._negotiation.dialect), **sent}
        if on_delta is not None:
            body["stream"] = True
        body.update(self.settings.dialect.extra_body)
        if tools:
            body["tools"] = list(tools)
        limit = next((sent[name] for name in LIMIT_NAMES if name in sent), _OUTPUT_GUESS)
        done = await self._sender.send(
            "/chat/completions",
            body,
            read_completion,
            output_guess=int(limit),
            text_of=_everything_said,
            on_delta=on_delta,
        )
        return ChatReply(completion=done.value, usage=done.usage, exchange=done.exchange)

    def _too_late(self, deadline_s: float | None) -> EndpointError:
        return EndpointError(
            f"{self._sender.who(self.settings.model)} did not answer within {deadline_s:g} seconds.", kind="timeout"
        )


def _everything_said(completion: Completion) -> str:
    return completion.reasoning + completion.content
