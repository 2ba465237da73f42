"""Bars drawn in text: a share of one, its interval, and a fallback in plain characters."""

from __future__ import annotations

import locale
import os
from collections.abc import Mapping
from typing import NamedTuple

from vakra_tui.state.lines import Line, Role, Span


class Signs(NamedTuple):
    """The characters of a bar: what is sure, what lies below the share within the interval, what above it, a trace."""

    sure: str
    below: str
    above: str
    trace: str


BLOCKS = Signs("\u2588", "\u2593", "\u2591", "\u258f")
PLAIN = Signs("#", "=", "-", "|")


def signs_for(environment: Mapping[str, str] | None = None, encoding: str | None = None) -> Signs:
    """The signs that the terminal can show: plain ones where it has no UTF-8 or says that it is dumb."""
    environment = os.environ if environment is None else environment
    encoding = locale.getpreferredencoding(False) if encoding is None else encoding
    knows = encoding.lower().replace("-", "") in ("utf8", "utf8sig", "utf16")
    return BLOCKS if knows and environment.get("TERM") != "dumb" else PLAIN


def bar(
    share: float | None,
    ends: tuple[float, float] | None,
    width: int,
    signs: Signs = BLOCKS,
    role: Role = "accent",
) -> Line:
    """Exactly ``width`` cells for 0 to 1; the share ends where ``below`` meets ``above``."""
    if share is None:
        return (Span(" " * width),)
    at = round(share * width)
    low = round(ends[0] * width) if ends is not None else at
    high = round(ends[1] * width) if ends is not None else at
    spans = [Span(signs.sure * min(low, at), role), Span(signs.below * max(at - low, 0), role)]
    spans.append(Span(signs.above * max(high - at, 0), "dim"))
    drawn = max(at, high)
    if share > 0 and drawn == 0:
        spans.append(Span(signs.trace, role))
        drawn = 1
    spans.append(Span(" " * (width - drawn)))
    return tuple(span for span in spans if span.text)


def legend(signs: Signs = BLOCKS) -> str:
    """What the characters of a bar mean."""
    return (
        f"{signs.sure}{signs.sure}{signs.below}{signs.below} up to the share, "
        f"{signs.below}{signs.above} its 95% interval below and above"
    )
