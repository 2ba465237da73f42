"""What was sent to an endpoint and what came back, kept for a person to read; secrets are taken out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from toolenv.model import Value

_SECRETS = (
    re.compile(r"(?i)\bbearer\s+[A-Za-z0-9._~+/=-]{8,}"),
    re.compile(r"\b(?:sk|pk|rk|gsk|hf|xai)[-_][A-Za-z0-9_-]{12,}"),
    re.compile(r"(?<=://)[^/\s:@]{1,200}:[^/\s@]{1,200}(?=@)"),
    re.compile(r"(?i)(?<=[?&])(?:api[-_]?key|key|token|access_token)=[^&\s]{1,500}"),
)
_HINTS = ("bearer", "sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "hf-", "hf_", "xai-", "xai_", "://", "?", "&")
"""What every secret begins with; most texts hold none of it and are left alone at once."""

REDACTED = "[redacted]"
_SHORTEST_KEY = 6


class Exchange(Value, frozen=True):
    """One request and the reply it led to.

    ``request`` is the JSON body as sent, ``response`` the last body received as text, ``failures`` one sentence for
    each attempt that did not work; ``waited_s`` is the time spent waiting between attempts.
    """

    request: Mapping[str, Any]
    response: str = ""
    status: int | None = None
    attempts: int = 1
    waited_s: float = 0.0
    duration_s: float = 0.0
    failures: tuple[str, ...] = ()


def redact(text: str, key: str = "") -> str:
    """``text`` without the endpoint's key and without anything that looks like a credential."""
    if len(key) >= _SHORTEST_KEY:
        text = text.replace(key, REDACTED)
    lowered = text.lower()
    if not any(hint in lowered for hint in _HINTS):
        return text
    for pattern in _SECRETS:
        text = pattern.sub(REDACTED, text)
    return text


def redact_json(value: Any, key: str = "") -> Any:
    """A copy of a JSON value in which every text, names included, is redacted."""
    if isinstance(value, str):
        return redact(value, key)
    if isinstance(value, Mapping):
        return {redact(str(name), key): redact_json(item, key) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact_json(item, key) for item in value]
    return value
