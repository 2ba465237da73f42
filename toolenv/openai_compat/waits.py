"""How long to wait before a request is sent again: what the server asked for, else exponential back-off."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from random import Random

from toolenv.openai_compat.settings import RetryPolicy


def requested_wait(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds that a response asks to wait, 0 for a moment in the past, None where it asks for nothing usable.

    ``retry-after-ms`` (milliseconds) wins over ``Retry-After``, which is seconds or an HTTP date (RFC 9110, 10.2.3).
    Header names may be given in any case; negative, infinite and garbled values count as absent.
    """
    lowered = {name.lower(): value for name, value in headers.items()}
    milliseconds = _number(lowered.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = lowered.get("retry-after")
    seconds = _number(text)
    if seconds is not None or text is None:
        return seconds
    try:
        moment = parsedate_to_datetime(text.strip()).timestamp()
    except (ValueError, TypeError, OverflowError, OSError):
        return None
    return max(0.0, moment - (time.time() if now is None else now))


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def backoff(attempt: int, policy: RetryPolicy, random: Random) -> float:
    """Seconds to wait after failed attempt number ``attempt`` (1-based): doubling, capped, spread by a fifth."""
    plain = policy.first_wait_s * 2.0 ** min(attempt - 1, 30)
    return min(plain, policy.longest_backoff_s) * random.uniform(0.8, 1.2)
