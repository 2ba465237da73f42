"""How hard a merged question is to read, and the choice of the easiest that are not all alike."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

_RANKING = re.compile(
    r"\b(?:most|fewest|least|highest|lowest|tallest|shortest|heaviest|lightest|longest|oldest|youngest|cheapest|largest"
    r"|smallest|deepest|shallowest|maximum|minimum|top)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"\b(?:whose|who|that|which)\b", re.IGNORECASE)
_OPENING = re.compile(r"^(?:which|who|what|that)\b", re.IGNORECASE)
_AMONG = re.compile(r"\bamong\b|\bmost common\b", re.IGNORECASE)
_OF = re.compile(r"\bof\b", re.IGNORECASE)
_CLUMSY = re.compile(
    r"\b(?:list out|list down|mention|in which|calculate|make up|kindly|respectively|enumerate|accounted for"
    r"|how many percent|have major)\b",
    re.IGNORECASE,
)
_SAID_TWICE = re.compile(r"\bwhose ([a-z]+(?: [a-z]+){0,2}) is the (?:[a-z]+ )?\1\b")
_ECHO = re.compile(r"\b([a-z]{4,})\b(?: [a-z]+){1,2} \1\b", re.IGNORECASE)
_CODE = re.compile(r"\w*\d\w*_\w*|\b[a-z]+_[a-z_]+\b")
_KEY = re.compile(r"\b(?=\w*\d)(?=\w*[a-z])(?=\w*[A-Z])\w{10,}\b")
_WORD = re.compile(r"[a-z]{4,}", re.IGNORECASE)
_EASY_WORDS = 16

_T = TypeVar("_T")


def burden(question: str) -> float:
    """How much a reader has to hold in mind: nested rankings and clauses, length, words that come again and again."""
    text = question if not _OPENING.match(question) else question.partition(" ")[2]
    words = question.split()
    again = Counter(word.lower().rstrip("s") for word in _WORD.findall(text))
    return (
        1.5 * max(0, len(_RANKING.findall(text)) - 1)
        + 0.8 * max(0, len(_CLAUSE.findall(text)) - 1)
        + 1.0 * max(0, len(_AMONG.findall(text)) - 1)
        + 0.5 * max(0, len(_OF.findall(text)) - 2)
        + 0.1 * max(0, len(words) - _EASY_WORDS)
        + 0.5 * sum(number - 2 for number in again.values() if number > 2)
        + 1.5 * len(_CLUMSY.findall(text))
        + 1.0 * len(_ECHO.findall(text))
        + 0.7 * len(_SAID_TWICE.findall(text))
        + 0.2 * len(_CODE.findall(text))
        + 2.0 * len(_KEY.findall(text))
    )


def choose(
    candidates: Sequence[_T],
    count: int,
    most: int,
    cost: Callable[[_T], float],
    kinds: Callable[[_T], Sequence[tuple[str, float]]],
) -> list[_T]:
    """The cheapest ``count`` candidates, in their order, where each costs more the more of its kinds are taken.

    ``kinds`` gives the names of a candidate's kinds, each with what another one of it costs; of the first kind at most
    ``most`` are taken.
    """
    taken: Counter[str] = Counter()

    def now(place: int) -> float:
        candidate = candidates[place]
        return cost(candidate) + sum(weight * taken[name] for name, weight in kinds(candidate))

    waiting = [(now(place), place) for place in range(len(candidates))]
    heapq.heapify(waiting)
    chosen: list[int] = []
    while waiting and len(chosen) < count:
        known, place = heapq.heappop(waiting)
        actual = now(place)
        if actual > known:
            # Others of its kinds were taken meanwhile.
            heapq.heappush(waiting, (actual, place))
            continue
        names = [name for name, _ in kinds(candidates[place])]
        if taken[names[0]] < most:
            chosen.append(place)
            taken.update(names)
    return [candidates[place] for place in sorted(chosen)]
