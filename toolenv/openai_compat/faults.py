"""What can go wrong with an endpoint, told apart; none of it is ever the fault of a trajectory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from toolenv.errors import VakraError
from toolenv.openai_compat.exchange import Exchange

FaultKind = Literal[
    "refused", "too_long", "rate_limited", "server", "timeout", "unreachable", "malformed", "budget", "no_content"
]
"""``refused``: the endpoint will not take this request; ``too_long``: its context is exceeded; ``malformed``: a reply
that is not a completion; ``no_content``: the reply's budget was spent before it said anything."""

LASTING: frozenset[FaultKind] = frozenset({"rate_limited", "server"})
"""Kinds that are tried again for the whole window of the retry policy."""

PASSING: frozenset[FaultKind] = frozenset({"timeout", "unreachable", "malformed"})
"""Kinds that are tried again a few times only."""


class EndpointError(VakraError):
    """A request to an endpoint came to nothing.

    ``status`` and ``code`` are the server's own where it gave them; ``exchange`` keeps what was sent and received.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: FaultKind,
        status: int | None = None,
        code: str | None = None,
        param: str | None = None,
        exchange: Exchange | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: FaultKind = kind
        self.status = status
        self.code = code
        self.param = param
        self.exchange = exchange


class BudgetSpent(EndpointError):
    """A request was not sent because a cap on tokens or cost would be exceeded."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="budget")


class ProviderError(Exception):
    """The endpoint's own error, from an error status or from inside a 200 body."""

    def __init__(
        self, kind: FaultKind, message: str, *, status: int | None, code: str | None = None, param: str | None = None
    ) -> None:
        super().__init__(message)
        self.kind: FaultKind = kind
        self.message = message
        self.status = status
        self.code = code
        self.param = param


_RETRIED_STATUSES = frozenset({408, 409, 425, 429})
_TOO_LONG = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|prompt is too long|too many tokens|input is too long", re.I
)
_RATE_LIMIT = re.compile(r"rate[ _-]?limit|too[ _-]many[ _-]requests|throttl", re.I)
_BROKEN = re.compile(
    r"overload|unavailable|server[ _-]?error|internal|time[d]?[ _-]?out|bad gateway|upstream|capacity", re.I
)
_EXHAUSTED = re.compile(r"insufficient_quota|billing|credit", re.I)


def error_of(body: Any, status: int | None) -> ProviderError:
    """The provider's error in a decoded body, classified by status, code and words.

    ``status`` is the HTTP status, or None for an error inside a successful response, whose own code then decides.
    """
    error = body.get("error", body) if isinstance(body, Mapping) else body
    message, code, param = "", None, None
    if isinstance(error, Mapping):
        message = str(error.get("message") or error.get("detail") or "")
        code = _text(error.get("code")) or _text(error.get("type"))
        param = _text(error.get("param"))
    elif isinstance(error, str):
        message = error
    if not message:
        message = str(body)
    number = status
    if number is None and code is not None and code.isdecimal() and len(code) == 3:
        number = int(code)
    return ProviderError(_kind(number, code or "", message), message, status=status, code=code, param=param)


def _kind(status: int | None, code: str, message: str) -> FaultKind:
    if _TOO_LONG.search(code) or (status in (400, 413, 422, None) and _TOO_LONG.search(message)):
        return "too_long"
    if _EXHAUSTED.search(code):
        return "refused"
    if status == 429 or _RATE_LIMIT.search(code):
        return "rate_limited"
    if status in _RETRIED_STATUSES or (status is not None and status >= 500 and status != 501):
        return "server"
    if status is None and (_BROKEN.search(code) or _BROKEN.search(message)):
        return "server"
    if status is None and _RATE_LIMIT.search(message):
        return "rate_limited"
    return "refused"


def _text(value: object) -> str | None:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) and value != "" else None
