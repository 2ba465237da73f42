"""What is due: the atomic values of the ground-truth answer, and where an answer writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from eval.offline.numbers import AnswerNumber
from eval.offline.reading import Reading, prepared
from toolenv.model import Json
from toolenv.values import Atom, Key, atoms, key

DueKind = Literal["number", "text", "sign", "yes_no", "null"]

SIGNS: Final = frozenset("+-=#")
YES: Final = frozenset({"yes", "true"})
NO: Final = frozenset({"no", "false"})
NULL_WORDS: Final = ("none", "null", "n/a", "unknown")
_JOINED_NUMBERS = re.compile(r"[-+]?\d+(?:\.\d+)?(?:\s*[,;]\s*[-+]?\d+(?:\.\d+)?)+")
_AMBIGUOUS_LETTERS: Final = frozenset({"a", "i"})


@dataclass(frozen=True, slots=True)
class Due:
    """One atomic value that an answer has to give. ``needle`` is its text as prepared answers write it."""

    key: Key
    value: Atom
    kind: DueKind
    needle: str

    @property
    def text(self) -> str:
        return "null" if self.value is None else f"'{self.value}'" if isinstance(self.value, str) else str(self.value)


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
    if needle in SIGNS:
        return Due(key=k, value=atom, kind="sign", needle=needle)
    if needle in YES | NO:
        return Due(key=k, value=atom, kind="yes_no", needle=needle)
    return Due(key=k, value=atom, kind="text", needle=re.sub(r"\*+", '"', needle))


def places(due: Due, reading: Reading) -> list[Place]:
    """Where the answer gives a due value."""
    return places_in(due, reading.text, reading.numbers)


def places_in(due: Due, text: str, numbers: list[AnswerNumber]) -> list[Place]:
    match due.kind:
        case "number":
            wanted = due.key
            assert isinstance(wanted, int | float)
            return [Place(n.start, n.end, due) for n in numbers if n.equals(wanted)]
        case "sign":
            return [Place(start, end, due) for start, end, sign in signs(text) if sign == due.needle]
        case "yes_no":
            same = YES if due.needle in YES else NO
            return [Place(start, end, due) for start, end, word in yes_no_words(text) if word in same]
        case "null":
            return [Place(m.start(), m.end(), due) for m in _NULL.finditer(text)]
        case _:
            return [Place(start, end, due) for start, end in text_places(due.needle, text)]


_NULL = re.compile(r"(?<![\w/])(?:none|null|n/a|unknown|nan)(?![\w/])")
_SIGN = re.compile(r"[-+=#]")
_ENCLOSING = "\"'([{<"
_CLOSING = "\"')]}>.,;:!?"
_BEFORE_SIGN = re.compile(
    r"(?:^|[\n,;:=]|\b(?:is|are|be|was|label|labels|labelled|labeled|type|types|symbol|sign|value|as|of|and|or|with))\s*$"
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
            and _BEFORE_SIGN.search(text[:start]) is not None
            and (after in _CLOSING or after == "\n" or re.match(r"\s*(?:[,;.)\n]|$|and\b|or\b|\()", text[end:]))
        )
        in_brackets = after == ")" and re.search(r"\([^()\n]{0,30}\s$", text[:start]) is not None
        if enclosed or announced or in_brackets:
            yield start, end, found.group()


_BEFORE_NO = re.compile(r"(?:[.!?:,;\n(\"'=]|\b(?:is|are|was|answer))\s*$")
_YES_NO = re.compile(r"(?<![\w'-])(?:yes|no|true|false)(?![\w'-])")


def yes_no_words(text: str) -> Iterator[tuple[int, int, str]]:
    """Yes and no as answers; ``no`` only as a sentence of its own or a value, not in ``no data``."""
    for found in _YES_NO.finditer(text):
        start, end = found.span()
        if found.group() == "no":
            head = not text[:start].strip() or re.search(
                r"(?:[.!?:,;\n(\"'=]|\b(?:is|are|was|answer))\s*$", text[:start]
            )
            tail = re.match(r"\s*(?:[.,;:!)\n\"']|$)", text[end:])
            if not (head and tail):
                continue
        yield start, end, found.group()


def text_places(needle: str, text: str) -> Iterator[tuple[int, int]]:
    """Where a text stands as a whole token, words joined by hyphen or apostrophe being one (``non-carcinogenic``)."""
    if not needle:
        return
    short = len(needle) == 1
    start = text.find(needle)
    while start >= 0:
        end = start + len(needle)
        free = _free_before(text, start, needle[0]) and _free_after(text, end, needle[-1], short)
        if free and (needle not in _AMBIGUOUS_LETTERS or _marked(text, start, end)):
            yield start, end
        start = text.find(needle, start + 1)


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
    if after in "'’" and not short and re.match(r"['’]s?(?!\w)", text[end:]):
        return True
    joined = after in "-'’" and end + 1 < len(text) and _word(text[end + 1])
    return not joined


def _marked(text: str, start: int, end: int) -> bool:
    """Whether quotes, brackets or list separators set a letter apart from running text."""
    before = text[:start].rstrip(" ")[-1:] or "\n"
    after = text[end:].lstrip(" ")[:1] or "\n"
    return before in "\"'([,;:\n" and after in "\"')],;.\n"
