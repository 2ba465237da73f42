"""A request with everything around it: caps, a place among the requests in flight, retries, and the record of it."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from toolenv.model import Value
from toolenv.openai_compat.exchange import Exchange, redact, redact_json
from toolenv.openai_compat.faults import LASTING, PASSING, EndpointError, FaultKind, ProviderError, error_of
from toolenv.openai_compat.ledger import Ledger, Usage, estimate_tokens, usage_of
from toolenv.openai_compat.replies import decode
from toolenv.openai_compat.settings import KEY_VARIABLES, EndpointSettings
from toolenv.openai_compat.streams import DeltaKind, DeltaListener
from toolenv.openai_compat.transport import Answer, Transport
from toolenv.openai_compat.waits import backoff, requested_wait

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

KEPT_EXCHANGES = 50

UNANSWERED_BEFORE_DOUBT = 3
"""After so many requests in a row came to nothing, the next ones are tried once each until one is answered."""

UNANSWERED_BEFORE_REST = 8
"""After so many, none is sent for ``RetryPolicy.rest_s``, then one as a trial: a dead endpoint ends a batch soon."""


class Waiting(Value, frozen=True):
    """Told to the listener when a request waits before it is sent again: why, how long (seconds), which attempt."""

    reason: str
    seconds: float
    attempt: int


class Sent(Value, Generic[T], frozen=True):
    """What a request came to: the value read from the reply, what it cost, and the exchange."""

    value: T
    usage: Usage
    exchange: Exchange


class Attempts:
    """The record of one request while it is being tried."""

    def __init__(self, body: Mapping[str, Any], on_delta: DeltaListener | None = None) -> None:
        self.body = body
        self.listener = None if on_delta is None else self._heard
        self.told = False
        self._on_delta = on_delta
        self.started = time.monotonic()
        self.number = 0
        self.waited = 0.0
        self.failures: list[str] = []
        self.answer: Answer | None = None

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.started

    def _heard(self, kind: DeltaKind, text: str) -> None:
        self.told = True
        if self._on_delta is not None:
            self._on_delta(kind, text)


class Sender:
    """Sends requests to one endpoint. A rate limit that one request meets holds back all of them."""

    def __init__(
        self,
        settings: EndpointSettings,
        *,
        listener: Callable[[Waiting], None] | None = None,
        http_client: httpx2.AsyncClient | None = None,
        random: Random | None = None,
    ) -> None:
        self._settings = settings
        self._transport = Transport(settings, http_client)
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._listener = listener
        self._random = random or Random()
        self._not_before = 0.0
        self._unanswered = 0
        self._answered = False
        self._last_fault: EndpointError | None = None
        self._rests_until = 0.0
        self.ledger = Ledger(settings.budget, settings.prices)
        self.exchanges: deque[Exchange] = deque(maxlen=KEPT_EXCHANGES)
        self.retried = 0

    def who(self, model: Any) -> str:
        """The endpoint in a sentence, without credentials."""
        return f"The endpoint {self._redacted(self._settings.base_url)} (model {model})"

    def doubt(self) -> None:
        """Try each further request once only, until one is answered."""
        self._unanswered = max(self._unanswered, UNANSWERED_BEFORE_DOUBT)

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def send(
        self,
        path: str,
        body: Mapping[str, Any],
        read: Callable[[Mapping[str, Any]], T],
        *,
        output_guess: int,
        text_of: Callable[[T], str],
        on_delta: DeltaListener | None = None,
    ) -> Sent[T]:
        """Send until answered. ``read`` takes the value from the decoded body, ``text_of`` its text for estimates.

        With ``on_delta`` a completion is streamed; what broke after a first fragment was told is not sent again.
        Raises ``EndpointError``.
        """
        reservation = await self.ledger.reserve(estimate_tokens(body.get("messages") or body["input"]), output_guess)
        usage = None
        try:
            async with self._slots:
                self._admit(body)
                attempts = Attempts(body, on_delta)
                value = await self._until_answered(path, attempts, read)
            assert attempts.answer is not None
            usage = usage_of(decode(attempts.answer.body), body, text_of(value), self._settings.prices)
        finally:
            await self.ledger.settle(reservation, usage)
        return Sent(value=value, usage=usage, exchange=self._keep(attempts))

    async def _until_answered(self, path: str, attempts: Attempts, read: Callable[[Mapping[str, Any]], T]) -> T:
        while True:
            attempts.number += 1
            attempts.answer = None
            await self._wait_for_others()
            try:
                attempts.answer = answer = await self._transport.post(path, attempts.body, attempts.listener)
                if not 200 <= answer.status < 300:
                    raise _error_status(answer)
                value = read(decode(answer.body))
            except ProviderError as error:
                attempts.failures.append(f"{error.kind}: {self._redacted(error.message)}")
                wait = self._next_wait(error, attempts)
            else:
                self._answered = True
                self._unanswered, self._last_fault, self._rests_until = 0, None, 0.0
                return value
            self.retried += 1
            attempts.waited += wait
            if self._listener is not None:
                self._listener(Waiting(reason=attempts.failures[-1], seconds=wait, attempt=attempts.number))
            await asyncio.sleep(wait)

    def _admit(self, body: Mapping[str, Any]) -> None:
        """Raise ``EndpointError`` at once while the endpoint rests; the first request after that is a trial."""
        last, now = self._last_fault, time.monotonic()
        if last is None or self._unanswered < UNANSWERED_BEFORE_REST:
            return
        if now < self._rests_until:
            who = self.who(body["model"])
            message = f"{who} has not answered the last {self._unanswered} requests; it was not asked again. {last}"
            raise EndpointError(message, kind=last.kind, status=last.status, code=last.code)
        self._rests_until = now + self._settings.retries.rest_s + self._settings.timeout_s

    def _given_up(self, fault: EndpointError) -> EndpointError:
        self._unanswered += 1
        self._last_fault = fault
        if self._unanswered >= UNANSWERED_BEFORE_REST:
            self._rests_until = time.monotonic() + self._settings.retries.rest_s
        return fault

    async def _wait_for_others(self) -> None:
        wait = self._not_before - time.monotonic()
        if wait > 0:
            await asyncio.sleep(wait)

    def _next_wait(self, error: ProviderError, attempts: Attempts) -> float:
        """Seconds until the next attempt. Raises ``EndpointError`` when there is to be none."""
        policy, headers = self._settings.retries, attempts.answer.headers if attempts.answer else {}
        allowed = policy.max_attempts if error.kind in LASTING else policy.short_attempts
        if error.kind == "timeout" and not self._answered:
            allowed = 1
        if error.kind not in LASTING | PASSING:
            raise self._fault(error, "", attempts)
        if attempts.told:
            raise self._given_up(self._fault(error, " It had begun to answer.", attempts))
        asked = requested_wait(headers)
        if asked is not None and asked > policy.longest_wait_s:
            more = f" It asks to wait {asked:.0f} seconds, longer than is waited."
            raise self._given_up(self._fault(error, more, attempts))
        wait = backoff(attempts.number, policy, self._random)
        if asked is not None:
            wait = asked if attempts.number <= policy.max_attempts else max(asked, wait)
            allowed = allowed if error.kind not in LASTING else attempts.number + 1
        doubtful = self._unanswered >= UNANSWERED_BEFORE_DOUBT
        window = policy.server_window_s if error.kind == "server" else policy.window_s
        if doubtful or attempts.number >= allowed or attempts.elapsed + wait > window:
            raise self._given_up(self._fault(error, f" Tried {attempts.number} times.", attempts))
        if error.kind == "rate_limited" and asked is not None:
            self._not_before = max(self._not_before, time.monotonic() + wait)
        return wait

    def _fault(self, error: ProviderError, more: str, attempts: Attempts) -> EndpointError:
        status = attempts.answer.status if attempts.answer is not None else error.status
        where = f" ({status})" if status is not None else ""
        head = f"{self.who(attempts.body['model'])} {_VERBS[error.kind]}{where}"
        if status in UNAUTHORISED and not self._settings.secret:
            more = f" No key is set; one is read from {KEY_VARIABLES}.{more}"
        message = f"{head}: {self._redacted(error.message)[:500].rstrip('.')}.{more}"
        return EndpointError(
            message,
            kind=error.kind,
            status=status,
            code=error.code,
            param=error.param,
            exchange=self._keep(attempts),
        )

    def _keep(self, attempts: Attempts) -> Exchange:
        answer = attempts.answer
        exchange = Exchange(
            request=redact_json(attempts.body, self._settings.secret),
            response=self._redacted(answer.stream or answer.body.decode("utf-8", "replace")) if answer else "",
            status=answer.status if answer else None,
            attempts=attempts.number,
            waited_s=attempts.waited,
            duration_s=attempts.elapsed,
            failures=tuple(attempts.failures),
        )
        self.exchanges.append(exchange)
        return exchange

    def _redacted(self, text: str) -> str:
        return redact(text, self._settings.secret)


UNAUTHORISED = (401, 403)
"""Statuses of an endpoint that wants a key, or another one."""

_VERBS: Mapping[FaultKind, str] = {
    "refused": "refused the request",
    "too_long": "refused the request as too long",
    "rate_limited": "limits the rate of requests",
    "server": "failed",
    "timeout": "did not answer in time",
    "unreachable": "cannot be reached",
    "malformed": "gave an answer that is not a completion",
    "budget": "was not asked",
    "no_content": "said nothing",
}


def _error_status(answer: Answer) -> ProviderError:
    try:
        body: Any = decode(answer.body)
    except ProviderError:
        body = {"message": answer.body[:300].decode("utf-8", "replace").strip() or "no explanation"}
    return error_of(body, answer.status)
