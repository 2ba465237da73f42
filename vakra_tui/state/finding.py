"""Finding rows by words: ranked, and tolerant of letters left out.

Every word must occur in a row: as it is, or from the beginning of some word with a few letters skipped (``mstrev``
finds "most reviewed"). Rows in which words stand as they are, begin a word, and stand early rank first.
"""

from __future__ import annotations

from collections.abc import Sequence

SKIPPED = 3
"""Letters of the text that may lie between two letters of a word."""

LEAST_FUZZY = 3
"""Letters below which a word must occur as it is."""

EXACT = 100
"""Rank of a word that occurs as it is; beginning a word of the text, and standing in its first part, add to it."""

BEGINS = 20
EARLY = 10
FUZZY = 50
PER_SKIPPED = 2


def words_of(text: str) -> tuple[str, ...]:
    """The words that a person looks for, folded for comparison."""
    return tuple(text.casefold().split())


def rank(words: Sequence[str], text: str, first: int) -> int:
    """How well all words fit a folded text, 0 where one of them does not; ``first`` is the length of its main part."""
    total = 0
    for word in words:
        found = _rank(word, text, first)
        if not found:
            return 0
        total += found
    return total


def _rank(word: str, text: str, first: int) -> int:
    at = text.find(word)
    if at >= 0:
        begins = at == 0 or not text[at - 1].isalnum()
        if not begins:
            better = _beginning(word, text, at + 1)
            at, begins = (better, True) if better >= 0 else (at, False)
        return EXACT + BEGINS * begins + EARLY * (at < first)
    if len(word) < LEAST_FUZZY:
        return 0
    return _fuzzy(word, text)


def _beginning(word: str, text: str, start: int) -> int:
    """Where a word occurs at the beginning of a word of the text, -1 where it does not."""
    at = text.find(word, start)
    while at >= 0 and text[at - 1].isalnum():
        at = text.find(word, at + 1)
    return at


def _fuzzy(word: str, text: str) -> int:
    """The rank of the best place where a word's letters follow each other closely, 0 where there is none."""
    best = 0
    at = text.find(word[0])
    while at >= 0:
        if at == 0 or not text[at - 1].isalnum():
            skipped = _skipped(word, text, at)
            if skipped is not None:
                best = max(best, FUZZY - PER_SKIPPED * skipped, 1)
        at = text.find(word[0], at + 1)
    return best


def _skipped(word: str, text: str, at: int) -> int | None:
    """How many letters lie between those of a word that begins at a place; None where its letters do not follow."""
    skipped = 0
    for letter in word[1:]:
        found = text.find(letter, at + 1, at + SKIPPED + 2)
        if found < 0:
            return None
        skipped += found - at - 1
        at = found
    return skipped
