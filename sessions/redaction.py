"""Taking secrets out of text before it is written anywhere: the store, a log, a crash report.

Keys, authorization headers and URLs with credentials are replaced by a mark; everything else stays as it is. The
patterns never reach across a quote, so that JSON stays JSON.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

REDACTED = "[redacted]"

SHORTEST_SECRET = 8
"""Shorter values of secret variables are not searched for: they would hit ordinary words."""

SECRET_VARIABLE = re.compile(r"(?:API_?KEY|ACCESS_?KEY|_TOKEN|_SECRET|PASSWORD|PASSWD)$", re.IGNORECASE)

TOKEN = r"[A-Za-z0-9._~+/=-]"

PATTERNS: tuple[tuple[str, re.Pattern[str], str], ...] = (
    # A word that the text must hold before its pattern is tried, the pattern, and what takes its place.
    ("://", re.compile(r"://[^\s/\"'@\\<>]{1,512}@"), f"://{REDACTED}@"),
    (
        "=",
        re.compile(
            r"([?&](?:api[-_]?key|access[-_]?token|auth[-_]?token|token|password|secret|signature)=)(?!\[redacted)[^&\s\"'\\#]+",
            re.IGNORECASE,
        ),
        rf"\1{REDACTED}",
    ),
    (
        "auth",
        re.compile(
            r"(\b(?:proxy-)?authorization(?:\\*[\"'])?\s{0,4}[:=]\s{0,4}(?:\\*[\"'])?(?:(?:basic|bearer|token|digest)\s{1,4})?)"
            rf"(?=[^\s\"'\\]{{0,4096}}\d|{TOKEN}{{20}}){TOKEN}{{8,}}",
            re.IGNORECASE,
        ),
        rf"\1{REDACTED}",
    ),
    (
        "key",
        re.compile(
            r"(\b(?:x-)?api[-_]?key(?:\\*[\"'])?\s{0,4}[:=]\s{0,4}(?:\\*[\"'])?)(?!\[redacted)[^\s\"'\\,;}\]&]{4,}",
            re.IGNORECASE,
        ),
        rf"\1{REDACTED}",
    ),
    (
        "bearer",
        re.compile(rf"(\bbearer\s{{1,4}})(?=[^\s\"'\\]{{0,4096}}\d){TOKEN}{{12,}}", re.IGNORECASE),
        rf"\1{REDACTED}",
    ),
    ("sk-", re.compile(r"\bsk-[A-Za-z0-9_-]{16,}"), REDACTED),
    ("gh", re.compile(r"\bgh[opsur]_[A-Za-z0-9]{20,}"), REDACTED),
    ("hf_", re.compile(r"\bhf_[A-Za-z0-9]{20,}"), REDACTED),
    ("akia", re.compile(r"\bAKIA[0-9A-Z]{16}\b"), REDACTED),
    ("eyj", re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"), REDACTED),
)

_registered: set[str] = set()


def register_secret(value: str) -> None:
    """Have ``value`` replaced wherever it occurs; for a key that did not come from the environment."""
    if len(value) >= SHORTEST_SECRET:
        _registered.add(value)


_found: tuple[Any, int, tuple[str, ...]] = (None, 0, ())
"""The environment and the number of registered values for which secrets were looked for last, and what was found."""


def known_secrets() -> tuple[str, ...]:
    """Values that are secret by where they came from, longest first, as written and as JSON writes them."""
    global _found
    # Going through ``os.environ`` decodes every variable, which costs more than all patterns together; what lies
    # behind it is compared in one go. Elsewhere than in CPython it may be missing, and nothing is remembered.
    environment = getattr(os.environ, "_data", None)
    seen, registered, secrets = _found
    if environment is not None and seen == environment and registered == len(_registered):
        return secrets
    secrets = tuple(_secrets())
    _found = (None if environment is None else dict(environment), len(_registered), secrets)
    return secrets


def _secrets() -> list[str]:
    values = set(_registered)
    values.update(
        value
        for name, value in os.environ.items()
        if len(value) >= SHORTEST_SECRET and SECRET_VARIABLE.search(name) is not None
    )
    values.update([json.dumps(value)[1:-1] for value in values])
    return sorted(values, key=len, reverse=True)


def redact_text(text: str) -> str:
    """``text`` with every secret in it replaced by a mark."""
    for secret in known_secrets():
        if secret in text:
            text = text.replace(secret, REDACTED)
    lowered = text.lower()
    for word, pattern, replacement in PATTERNS:
        if word in lowered:
            text = pattern.sub(replacement, text)
    return text


def redact_bytes(payload: bytes) -> bytes:
    """The same for encoded text; bytes that are no UTF-8 are searched all the same and keep their other bytes."""
    return redact_text(payload.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
