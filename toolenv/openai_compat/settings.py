"""What must be known of an endpoint before it is asked: address, key, limits, patience, price and dialect."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec

from toolenv.errors import DataError
from toolenv.model import Value
from toolenv.openai_compat.exchange import redact

PLACEHOLDER_KEY = "no-key"
"""Sent where no key is set: local servers want the header but not its content."""

DEFAULT_BASE_URL = "https://api.openai.com/v1"

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")

Purpose = Literal["judge", "agent", "embeddings", "wording"]

_KEY_VARIABLES: Mapping[Purpose, tuple[str, ...]] = {
    "judge": ("VAKRA_TUI_JUDGE_API_KEY", "OPENAI_API_KEY"),
    "agent": ("VAKRA_TUI_AGENT_API_KEY", "OPENAI_API_KEY"),
    "embeddings": ("VAKRA_TUI_AGENT_API_KEY", "OPENAI_API_KEY"),
    "wording": ("VAKRA_TUI_WORDING_API_KEY", "OPENAI_API_KEY"),
}

KEY_VARIABLES = ", else ".join(
    " or ".join(dict.fromkeys(names)) for names in zip(*_KEY_VARIABLES.values(), strict=True)
)
"""The variables above, as a sentence names them that does not know what an endpoint is asked for."""


class RetryPolicy(Value, frozen=True):
    """How patient a request is. All times in seconds.

    Rate limits are tried again for ``window_s`` (a minute of 429 is outlived) and server errors for
    ``server_window_s``, both at most ``max_attempts`` times unless the server says itself when to come back; dropped
    connections, time-outs and unreadable bodies only ``short_attempts`` times, and a time-out once where the endpoint
    never answered. A wait that the server asks for and that is longer than ``longest_wait_s`` ends the request instead.
    After several requests that came to nothing the endpoint is left alone for ``rest_s``.
    """

    max_attempts: int = 12
    short_attempts: int = 3
    window_s: float = 150.0
    server_window_s: float = 60.0
    first_wait_s: float = 0.5
    longest_backoff_s: float = 20.0
    longest_wait_s: float = 90.0
    rest_s: float = 30.0


class Prices(Value, frozen=True):
    """Price of a million tokens, in the currency in which the cap on cost is given."""

    input_per_million: float
    output_per_million: float


class Budget(Value, frozen=True):
    """Caps on what may be spent; None is no cap."""

    max_tokens: int | None = None
    max_cost: float | None = None


class Dialect(Value, frozen=True, forbid_unknown_fields=True):
    """Where an endpoint differs from the reference.

    ``token_limit`` names the parameter that limits a reply (``auto`` finds out). ``system_role`` is the role under
    which instructions are sent; ``user`` puts them before the first user message. ``empty_content`` is what an
    assistant message with tool calls and no text says. ``omit`` are parameters that are never sent; ``extra_body`` is
    added to every chat request as it stands, ``extra_headers`` and ``extra_query`` (of the address) to every request.
    ``max_tools`` is how many tools one request may offer.
    """

    token_limit: Literal["auto", "max_tokens", "max_completion_tokens", "none"] = "auto"
    system_role: Literal["system", "developer", "user"] = "system"
    empty_content: Literal["null", "text"] = "null"
    omit: frozenset[str] = frozenset()
    extra_body: Mapping[str, Any] = {}
    extra_headers: Mapping[str, str] = {}
    extra_query: Mapping[str, str] = {}
    max_tools: Annotated[int, msgspec.Meta(ge=1)] = 128

    def __post_init__(self) -> None:
        for name, value in self.extra_headers.items():
            if not (_HEADER_NAME.fullmatch(name) and value.isascii() and value.isprintable()):
                raise ValueError(f"the header {name!r} cannot be sent")


class EndpointSettings(Value, frozen=True):
    """One endpoint and one model of it.

    ``concurrency`` bounds the requests in flight; ``timeout_s`` bounds one attempt from sending to the last byte.
    Raises ``DataError`` for an address that no request can be sent to.
    """

    model: str
    base_url: str = DEFAULT_BASE_URL
    api_key: str = PLACEHOLDER_KEY
    concurrency: int = 8
    timeout_s: float = 120.0
    retries: RetryPolicy = RetryPolicy()
    budget: Budget = Budget()
    prices: Prices | None = None
    dialect: Dialect = Dialect()

    def __post_init__(self) -> None:
        if not _is_address(self.base_url):
            shown = redact(self.base_url, self.secret)
            raise DataError(f"{shown!r} cannot be the address of an endpoint; write it as http://HOST:PORT/v1.")

    @property
    def secret(self) -> str:
        """The key where it is one, "" where it is the placeholder."""
        return "" if self.api_key == PLACEHOLDER_KEY else self.api_key

    def __repr__(self) -> str:
        return f"EndpointSettings(model={self.model!r}, base_url={self.base_url!r}, api_key=***)"


def _is_address(url: str) -> bool:
    """Whether a text is an http or https address with a host and, if any, a possible port."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0 and url.isprintable()


def key_from_environment(purpose: Purpose, environment: Mapping[str, str] | None = None) -> str:
    """The key for a purpose: its own variable, then ``OPENAI_API_KEY``, else a placeholder.

    Raises ``DataError`` for a key that no request can carry; the sentence does not show it.
    """
    variables = os.environ if environment is None else environment
    for name in _KEY_VARIABLES[purpose]:
        key = variables.get(name, "").strip()
        if key and not (key.isascii() and key.isprintable() and " " not in key):
            raise DataError(f"{name} holds characters that a key cannot have (white space, or none of ASCII).")
        if key:
            return key
    return PLACEHOLDER_KEY


def prices_from_environment(purpose: Purpose, environment: Mapping[str, str] | None = None) -> Prices | None:
    """Prices set as ``VAKRA_TUI_<PURPOSE>_PRICES=<input>/<output>`` a million tokens, or None where they are not set.

    Raises ``DataError`` for a value of another form.
    """
    variables = os.environ if environment is None else environment
    name = f"VAKRA_TUI_{purpose.upper()}_PRICES"
    text = variables.get(name, "").strip()
    if not text:
        return None
    try:
        given, made = (float(part) for part in text.split("/"))
    except ValueError:
        raise DataError(f"{name} is {text!r}; write it as INPUT/OUTPUT, for example 2.5/10.") from None
    if not (0 <= given < 1e6 and 0 <= made < 1e6):
        raise DataError(f"{name} is {text!r}; prices are numbers from 0 to a million.")
    return Prices(input_per_million=given, output_per_million=made)


def dialect_from_environment(purpose: Purpose, environment: Mapping[str, str] | None = None) -> Dialect:
    """The dialect set as a JSON object in ``VAKRA_TUI_<PURPOSE>_DIALECT``, with the fields of ``Dialect``.

    Raises ``DataError`` for a value of another form.
    """
    variables = os.environ if environment is None else environment
    name = f"VAKRA_TUI_{purpose.upper()}_DIALECT"
    text = variables.get(name, "").strip()
    if not text:
        return Dialect()
    try:
        return msgspec.json.decode(text, type=Dialect)
    except msgspec.DecodeError as error:
        raise DataError(f'{name} is not a dialect ({error}); for example {{"system_role": "user"}}.') from None
