"""Numbers in an answer: digits, units, percentages, number words, and numbers that the rules cannot read.

These readings hold for answers only (contract, "Gate 2"); facts are compared by ``toolenv.values`` alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from toolenv.values import keys_equal, number_of

_COUNTING = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
NUMBER_WORDS: Final[dict[str, int]] = {word: value for value, word in enumerate(_COUNTING.split())}
_LARGE = "thirty forty fifty sixty seventy eighty ninety hundred thousand million billion trillion dozen half"
_LARGE_WORDS: Final = frozenset(_LARGE.split())

_UNITS = (
    "kg|g|mg|lbs?|oz|km|cm|mm|m|ft|miles?|years?|yrs?|months?|days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|usd|eur|gbp|"
    "dollars?|cents?|pts?|points?|px|kb|mb|gb"
)
_NUMBER = re.compile(
    r"(?<![\w.])(?<![\w]-)(?<!\d[,:/])(?P<sign>(?<!\w)[-+])?(?P<currency>[$€£]\s?)?"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?P<exponent>e[-+]?\d{1,3})?"
    rf"(?P<unit>(?:{_UNITS}|°c?|º)(?![\w]))?(?![\w])(?!\.\d)(?![-:/]\d)(?!-[a-z])"
)
_JOINED = re.compile(r"(?<![\w.,])\d+(?:,\d+)+(?![\w.]|,\d)")
_PERCENT = re.compile(r"\s*(?:\"\s*)?(?:%|percent\b|per cent\b)")
_WORD = re.compile(r"(?<![\w'-])[a-z]+(?:-[a-z]+)*(?![\w'])")
_MAGNITUDE = re.compile(r"[\s\"-]*(?:hundred|thousand|million|billion|trillion|dozen|k|bn)s?\b")
_MONTHS = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|"
    r"sept?|oct|nov|dec)\b\.?"
)
_DATE_REACH: Final = 12
_PRONOUN_BEFORE = re.compile(
    r"(?:\b(?:the|this|that|which|each|every|another|no|any|some|last|first|right|wrong|at least|more than)\s+)$"
)
_NEGATIVE_BEFORE = re.compile(r"\b(?:minus|negative)\s+$")


@dataclass(frozen=True, slots=True)
class AnswerNumber:
    """A number at ``start`` to ``end`` of a prepared text. ``decimals`` counts the digits after its point.

    ``opaque`` numbers are seen and not understood (``1.2 million``, ``twenty-one``, ``3,14``): they match nothing and
    keep the rules from saying that another number was given. ``dated`` are parts of a date in words.
    """

    start: int
    end: int
    value: int | float
    decimals: int = 0
    percent: bool = False
    opaque: bool = False
    dated: bool = False
    joined: bool = False

    def equals(self, due: int | float) -> bool:
        """Whether it writes ``due``: exactly, or a float rounded to the one or more decimals that are written."""
        if self.opaque:
            return False
        if keys_equal(self.value, due):
            return True
        if self.decimals < 1 or not isinstance(due, float):
            return False
        return abs(due - self.value) <= 0.5 * 10.0**-self.decimals * (1 + 1e-9)


def numbers(text: str) -> list[AnswerNumber]:
    """The numbers of a prepared answer text (see ``eval.offline.reading``), in order."""
    dates = [found.span() for found in _MONTHS.finditer(text)]
    found = [*_digits(text, dates), *_words(text)]
    joined = [part for part in _JOINED.finditer(text) if number_of(part.group()) is None]
    for part in joined:
        inner = [n for n in found if part.start() <= n.start < part.end()]
        for number in inner:
            found.remove(number)
        position = part.start()
        for piece in part.group().split(","):
            value = int(piece) if len(piece) <= 400 else 0
            found.append(AnswerNumber(position, position + len(piece), value, joined=True))
            position += len(piece) + 1
    return sorted(found, key=lambda number: number.start)


def _digits(text: str, dates: Sequence[tuple[int, int]]) -> Iterator[AnswerNumber]:
    for found in _NUMBER.finditer(text):
        digits = found["digits"]
        whole = digits.partition(".")[0]
        if (len(whole) > 1 and whole.startswith("0")) or len(digits) > 400:
            continue
        plain = digits.replace(",", "")
        exponent = found["exponent"] or ""
        value: int | float = float(plain + exponent) if "." in plain or exponent else int(plain)
        negative = (
            found["sign"] == "-"
            or _NEGATIVE_BEFORE.search(text[max(0, found.start() - 12) : found.start()]) is not None
        )
        end = found.end()
        dated = any(start - end <= _DATE_REACH and found.start() - stop <= _DATE_REACH for start, stop in dates)
        yield AnswerNumber(
            start=found.start(),
            end=end,
            value=-value if negative else value,
            decimals=0 if exponent else len(plain.partition(".")[2]),
            percent=_PERCENT.match(text, end) is not None,
            opaque=_MAGNITUDE.match(text, end) is not None,
            dated=dated,
        )


def _words(text: str) -> Iterator[AnswerNumber]:
    for found in _WORD.finditer(text):
        word = found.group()
        parts = word.split("-")
        if word in NUMBER_WORDS:
            if word == "one" and _is_pronoun(text, found.start(), found.end()):
                continue
            value = NUMBER_WORDS[word]
            negative = _NEGATIVE_BEFORE.search(text[max(0, found.start() - 12) : found.start()]) is not None
            yield AnswerNumber(
                start=found.start(),
                end=found.end(),
                value=-value if negative else value,
                percent=_PERCENT.match(text, found.end()) is not None,
                opaque=_MAGNITUDE.match(text, found.end()) is not None,
            )
        elif word in _LARGE_WORDS or (len(parts) > 1 and any(p in NUMBER_WORDS or p in _LARGE_WORDS for p in parts)):
            yield AnswerNumber(start=found.start(), end=found.end(), value=0, opaque=True)


def _is_pronoun(text: str, start: int, end: int) -> bool:
    """Whether ``one`` counts nothing here: ``the one``, ``no one``, ``one of the``."""
    return (
        _PRONOUN_BEFORE.search(text[max(0, start - 20) : start]) is not None
        or re.match(r"\s+of\b", text[end : end + 8]) is not None
    )
