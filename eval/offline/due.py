"""What is due: the atomic values of the ground-truth answer, and where an answer writes them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from eval.offline.numbers import AnswerNumber, numbers
from eval.offline.reading import prepared
from toolenv.model import Json
from toolenv.values import Atom, Key, atoms, key, keys_equal, number_of, shown_value

DueKind = Literal["number", "text", "sign", "yes_no", "null"]

SIGNS: Final = frozenset("+-=#")
YES: Final = frozenset({"yes", "true"})
NO: Final = frozenset({"no", "false"})
NULL_WORDS: Final = ("none", "null", "n/a", "unknown")
_JOINED_NUMBERS = re.compile(r"[-+]?\d+(?:\.\d+)?(?:\s*[,;]\s*[-+]?\d+(?:\.\d+)?)+")
_PERCENTAGE = re.compile(r"([-+]?[\d.,]+)\s*(?:%|percent)")
_AMBIGUOUS_LETTERS: Final = frozenset({"a", "i"})


@dataclass(frozen=True, slots=True)
class Due:
    """One atomic value that an answer has to give.

    ``needle`` is its text as prepared answers write it. ``percent`` marks a number that is given as a percentage.
    """

    key: Key
    value: Atom
    kind: DueKind
    needle: str
    percent: bool = False

    @property
    def text(self) -> str:
        """The value as a sentence shows it."""
        return shown_value(self.value)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a due value stands in a text."""

    start: int
    end: int
    due: Due


def due_values(answer: Json) -> tuple[Due, ...]:
    """The distinct atomic values of a ground-truth answer in order; a text that joins plain numbers is their list."""
    found: dict[tuple[str, Key], Due] = {}
    for atom in _split(answer):
        due = _due(atom)
        found.setdefault((due.kind, due.key), due)
    return tuple(found.values())


def _split(answer: Json) -> Iterator[Atom]:
    for atom in atoms(answer):
        if isinstance(atom, str) and _JOINED_NUMBERS.fullmatch(atom.strip()) and not isinstance(key(atom), int | float):
            yield from (part.strip() for part in re.split(r"[,;]", atom))
        elif not (isinstance(atom, str) and not atom.strip()):
            yield atom


def _due(atom: Atom) -> Due:
    k = key(atom)
    if k is None:
        return Due(key=None, value=None, kind="null", needle="")
    if isinstance(k, int | float):
        return Due(key=k, value=atom, kind="number", needle=str(atom))
    needle = prepared(str(atom)).replace("\n", " ")
    share = _PERCENTAGE.fullmatch(needle)
    number = number_of(share[1]) if share else None
    if number is not None:
        return Due(key=number, value=atom, kind="number", needle=needle, percent=True)
    if needle in SIGNS:
        return Due(key=k, value=atom, kind="sign", needle=needle)
    if needle in YES | NO:
        return Due(key=k, value=atom, kind="yes_no", needle=needle)
    return Due(key=k, value=atom, kind="text", needle=re.sub(r"\*+", '"', needle))


_TOKEN = re.compile(r"\w+")


class DueIndex:
    """Due values, ready to be found in texts: a thousand of them in a long answer as well."""

    def __init__(self, due: Sequence[Due]) -> None:
        self.due = tuple(due)
        self._order = {id(d): position for position, d in enumerate(self.due)}
        self._texts: dict[str, list[tuple[Due, int]]] = {}
        """Texts by their first word, each with the word's place in it."""
        for text in (d for d in self.due if d.kind == "text"):
            first = _TOKEN.search(text.needle)
            word, offset = (first.group(), first.start()) if first else ("", 0)
            self._texts.setdefault(word, []).append((text, offset))
        self._words = [d for d in self.due if d.kind in ("sign", "yes_no", "null")]
        self._exact: dict[Key, Due] = {d.key: d for d in self.due if d.kind == "number"}
        self._ordered = sorted((d for d in self.due if isinstance(d.key, int | float)), key=_number_of)
        self._numbers = [_number_of(d) for d in self._ordered]

    def places(self, text: str, found: Sequence[AnswerNumber] | None = None) -> list[Place]:
        """Every place of a prepared text where a due value stands, in order; ``found`` are its numbers if known."""
        places = [
            Place(n.start, n.end, d) for n in (numbers(text) if found is None else found) for d in self.written(n)
        ]
        flat = text.replace("\n", " ")
        # A text can only stand where its first word does, so only there is it looked for.
        for found_token in _TOKEN.finditer(text) if self._texts else ():
            for due, offset in self._texts.get(found_token.group(), ()):
                start = found_token.start() - offset
                if start >= 0 and stands_at(due.needle, flat, start):
                    places.append(Place(start, start + len(due.needle), due))
        for due, _ in self._texts.get("", ()):
            places.extend(Place(start, end, due) for start, end in text_places(due.needle, flat))
        for due in self._words:
            places.extend(Place(start, end, due) for start, end in _word_places(due, text))
        return sorted(places, key=lambda place: (place.start, -place.end))

    def given(self, text: str) -> list[Due]:
        """The due values that stand in a text, in the order in which they are due."""
        found = {id(place.due): place.due for place in self.places(text)}
        return sorted(found.values(), key=lambda due: self._order[id(due)])

    def written(self, number: AnswerNumber) -> list[Due]:
        """The due numbers that a number writes; what writes one exactly is no rounding of another.

        Numbers joined by bare commas (``85,80,55``) are read as several only where several are due.
        """
        if number.opaque or not self._numbers or (number.joined and len(self._numbers) == 1):
            return []
        exact = self._exact.get(number.value)
        if exact is not None:
            return [exact]
        try:
            value = float(number.value)
        except OverflowError:
            return []
        reach = max(abs(value) * 1e-8, 10.0**-number.decimals if number.decimals else 0.0)
        low, high = bisect_left(self._numbers, value - reach), bisect_right(self._numbers, value + reach)
        near = self._ordered[low:high]
        same = [due for due in near if keys_equal(number.value, due.key)]
        return same or [due for due in near if isinstance(due.key, float) and number.equals(due.key)]


def _number_of(due: Due) -> int | float:
    assert isinstance(due.key, int | float)
    return due.key


def _word_places(due: Due, text: str) -> Iterator[tuple[int, int]]:
    match due.kind:
        case "sign":
            yield from ((start, end) for start, end, sign in signs(text) if sign == due.needle)
        case "yes_no":
            same = YES if due.needle in YES else NO
            yield from ((start, end) for start, end, word in yes_no_words(text) if word in same)
        case _:
            yield from (found.span() for found in _NULL.finditer(text))


_NULL = re.compile(r"(?<![\w/])(?:none(?! of\b)|null|n/a|unknown|nan)(?![\w/])")
_REACH = 48
"""Characters around a place that are looked at."""

_SIGN = re.compile(r"[-+=#]")
_ENCLOSING = "\"'([{<"
_CLOSING = "\"')]}>.,;:!?"
_BEFORE_SIGN = re.compile(
    r"(?:^|[\n,;:=\"]|\b(?:is|are|be|was|label|labels|labelled|labeled|type|types|symbol|sign|value|as|of|and|or|with))\s*$"
)


def signs(text: str) -> Iterator[tuple[int, int, str]]:
    """The signs that stand alone as values: quoted, in brackets, announced by a word, or as an item of a list."""
    for found in _SIGN.finditer(text):
        start, end = found.span()
        before, after = text[start - 1] if start else "\n", text[end] if end < len(text) else "\n"
        enclosed = before in _ENCLOSING and after in _CLOSING
        announced = (
            (before.isspace() or before in ",;:" + _ENCLOSING)
            and (after.isspace() or after in _CLOSING)
            and _BEFORE_SIGN.search(_before(text, start)) is not None
            and (after in _CLOSING or after == "\n" or _after_sign(text, end))
        )
        in_brackets = after == ")" and re.search(r"\([^()\n]{0,30}\s$", _before(text, start)) is not None
        if enclosed or announced or in_brackets:
            yield start, end, found.group()


def _before(text: str, start: int) -> str:
    """What stands before a position, as far as it matters; only the head of a text reads as one."""
    return text[:start] if start <= _REACH else "." + text[start - _REACH : start]


def _after_sign(text: str, end: int) -> bool:
    return re.match(r"\s*(?:[,;.)\n]|$|and\b|or\b|\()", text[end : end + _REACH]) is not None


_BEFORE_NO = re.compile(r"(?:^|[.!?:,;\n(\"'=]|\b(?:is|are|was|answer))\s*$")
_YES_NO = re.compile(r"(?<![\w'-])(?:yes|no|true|false)(?![\w'-])")


def yes_no_words(text: str) -> Iterator[tuple[int, int, str]]:
    """Yes and no as answers; ``no`` only as a sentence of its own or a value, not in ``no data``."""
    for found in _YES_NO.finditer(text):
        start, end = found.span()
        if found.group() == "no":
            head = _BEFORE_NO.search(_before(text, start))
            tail = re.match(r"\s*(?:[.,;:!)\n\"']|$)", text[end : end + _REACH])
            if not (head and tail):
                continue
        yield start, end, found.group()


def text_places(needle: str, text: str) -> Iterator[tuple[int, int]]:
    """Where a text stands as a whole token, words joined by hyphen or apostrophe being one (``non-carcinogenic``)."""
    if not needle:
        return
    start = text.find(needle)
    while start >= 0:
        if stands_at(needle, text, start):
            yield start, start + len(needle)
        start = text.find(needle, start + 1)


def stands_at(needle: str, text: str, start: int) -> bool:
    """Whether a text stands as a whole token at a place."""
    end = start + len(needle)
    free = (
        text.startswith(needle, start)
        and _free_before(text, start, needle[0])
        and _free_after(text, end, needle[-1], len(needle) == 1)
    )
    return free and (needle not in _AMBIGUOUS_LETTERS or _marked(text, start, end))


def _word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _free_before(text: str, start: int, first: str) -> bool:
    if not start:
        return True
    before = text[start - 1]
    if _word(before):
        return not _word(first)
    joined = before in "-'’" and start > 1 and _word(text[start - 2])
    return not joined


def _free_after(text: str, end: int, last: str, short: bool) -> bool:
    if end >= len(text):
        return True
    after = text[end]
    if _word(after):
        return not _word(last)
    if after in "'’" and not short and re.match(r"['’]s?(?!\w)", text[end : end + 3]):
        return True
    joined = after in "-'’" and end + 1 < len(text) and _word(text[end + 1])
    return not joined


def _marked(text: str, start: int, end: int) -> bool:
    """Whether quotes, brackets or list separators set a letter apart from running text."""
    before = text[max(0, start - _REACH) : start].rstrip(" ")[-1:] or "\n"
    after = text[end : end + _REACH].lstrip(" ")[:1] or "\n"
    return before in "\"'([,;:\n" and after in "\"')],;.\n"
