"""Numbers in an answer: digits, units, percentages, number words, and numbers that the rules cannot read.

These readings hold for answers only (contract, "Gate 2"); facts are compared by ``toolenv.values`` alone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
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
_JOINED = re.compile(r"(?<![\w.,])(?:\d+(?:,\d+)+(?![\w]|\.\d|,\d)|\d{1,3}(?: \d{3})+(?![\w]|[.,]\d| \d))")
_PIECE = re.compile(r"\d+")
_LONGEST: Final = 400
_PERCENT = re.compile(r"\s*(?:\"\s*)?(?:%|percent\b|per cent\b)")
_WORD = re.compile(r"(?<![\w'-])[a-z]+(?:-[a-z]+)*(?![\w'])")
_GOES_ON = re.compile(
    r"[\s\"-]*(?:hundred|thousand|million|billion|trillion|dozen|k|bn)s?\b|\s*[x×*]\s*10\b|,\d"
    r"|(?<=twenty)\s+(?:one|two|three|four|five|six|seven|eight|nine)\b"
)
_CAME_FROM = re.compile(
    r"\b(?:hundred|thousand|million|billion|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:\s+and)?\s+$"
)
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
    joined = [part for part in _JOINED.finditer(text) if number_of(part.group()) is None]
    starts = [part.start() for part in joined]

    def is_joined(number: AnswerNumber) -> bool:
        position = bisect_right(starts, number.start) - 1
        return position >= 0 and number.start < joined[position].end()

    found = [number for number in (*_digits(text), *_words(text)) if not is_joined(number)]
    for part in joined:
        for piece in _PIECE.finditer(part.group()):
            start = part.start() + piece.start()
            value = int(piece.group()) if len(piece.group()) <= _LONGEST else 0
            found.append(AnswerNumber(start, start + len(piece.group()), value, joined=True))
    return sorted(found, key=lambda number: number.start)


def _digits(text: str) -> Iterator[AnswerNumber]:
    months = [found.span() for found in _MONTHS.finditer(text)]
    month_starts = [start for start, _ in months]
    for found in _NUMBER.finditer(text):
        digits = found["digits"]
        whole = digits.partition(".")[0]
        if (len(whole) > 1 and whole.startswith("0")) or len(digits) > _LONGEST:
            continue
        plain = digits.replace(",", "")
        exponent = found["exponent"] or ""
        value: int | float = float(plain + exponent) if "." in plain or exponent else int(plain)
        end = found.end()
        negative = found["sign"] == "-" or _follows(_NEGATIVE_BEFORE, text, found.start())
        near = bisect_right(month_starts, end + _DATE_REACH) - 1
        dated = near >= 0 and found.start() - months[near][1] <= _DATE_REACH
        yield AnswerNumber(
            start=found.start(),
            end=end,
            value=-value if negative else value,
            decimals=0 if exponent else len(plain.partition(".")[2]),
            percent=_PERCENT.match(text, end) is not None,
            opaque=_GOES_ON.match(text, end) is not None,
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
            negative = _follows(_NEGATIVE_BEFORE, text, found.start())
            yield AnswerNumber(
                start=found.start(),
                end=found.end(),
                value=-value if negative else value,
                percent=_PERCENT.match(text, found.end()) is not None,
                opaque=_GOES_ON.match(text, found.end()) is not None or _follows(_CAME_FROM, text, found.start()),
            )
        elif word in _LARGE_WORDS or (len(parts) > 1 and any(p in NUMBER_WORDS or p in _LARGE_WORDS for p in parts)):
            yield AnswerNumber(start=found.start(), end=found.end(), value=0, opaque=True)


def _is_pronoun(text: str, start: int, end: int) -> bool:
    """Whether ``one`` counts nothing here: ``the one``, ``no one``, ``one of the``."""
    return _follows(_PRONOUN_BEFORE, text, start) or re.match(r"\s+of\b", text[end : end + 8]) is not None


def _follows(words: re.Pattern[str], text: str, start: int) -> bool:
    """Whether certain words stand right before a position."""
    return words.search(text[max(0, start - 24) : start]) is not None
