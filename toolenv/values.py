"""The one definition of value equality (waterfall contract, "Facts").

A *value* is an atom of decoded JSON: text, number, boolean or null. Each has a canonical, hashable ``Key``:

* numbers compare by value: ``16``, ``16.0`` and the text ``"16"`` have one key. A text is a number only where the whole
  token is one (``"1,234"`` is 1234, ``"1,234 kg"``, ``"50%"`` and the identifier ``"007"`` are texts);
* ints are exact. Where one side is a float, a relative tolerance of 1e-9 holds, save between two whole numbers that
  a float can hold exactly: those are exact too (a telephone number in a float column is not "nearly" another one);
* text is compared after NFKC, white-space folding and case folding, and nothing lossier;
* null is a value of its own; a NaN that JSON text prints for a missing cell is null;
* a boolean equals the word that prints it (``true``, ``false``) and never 1 or 0.

Keys of equal values are equal except for the tolerance; ``equal`` and ``ValueIndex`` honour that as well.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from toolenv.decoding import decoded
from toolenv.model import Json
from toolenv.parts import PART, cuts

Atom = str | int | float | bool | None
"""A scalar of decoded JSON."""

Key = str | int | float | None
"""A canonical form: two atoms are equal, but for the tolerance of floats, when their keys are."""

RELATIVE_TOLERANCE: Final = 1e-9
_EXACT_FLOAT: Final = 2.0**53
_LONGEST_NUMBER: Final = 400

_INTEGER_PART = r"(?:0|[1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]*)"
_WHOLE_NUMBER = re.compile(rf"[-+]?{_INTEGER_PART}(?:\.[0-9]+)?|[-+]?[0-9](?:\.[0-9]+)?e[-+][0-9]{{2,3}}")
_NUMBER_IN_TEXT = re.compile(
    rf"(?<!\w)(?<!\w-)(?<![0-9][.:/])(?:(?<![\w)])[-+])?(?:[0-9](?:\.[0-9]+)?e[-+][0-9]{{2,3}}|{_INTEGER_PART}(?:\.[0-9]+)?)"
    r"(?!\w)(?!\.[0-9])(?![-:/][0-9])(?!-\w)"
)
_NUMBER_BORDER = re.compile(r"[\s\"'()\[\]{};]|(?<=[^\W\d_eE])(?=[^\W\d_eE])")
"""Where no number goes on, and none ends because of what is behind."""
_TEXT_BORDER = re.compile(r"(?=[ \t\n\r])|(?<=[!-~])(?=[!-~])")
"""Where what is before and what is behind are normalised by themselves."""
_PRINTED_FLOATS: Final = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf, "Infinity": math.inf}


def normal_text(text: str) -> str:
    """NFKC, white space folded to single blanks and trimmed, case folded; applying it twice changes nothing."""
    if len(text) > 2 * PART:
        return _long_normal_text(text)
    return _normal_part(text)


def _normal_part(text: str) -> str:
    if text.isascii():
        return " ".join(text.split()).lower()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.split())


def _long_normal_text(text: str) -> str:
    """The same, part by part: what stands before a blank or a sign of ASCII does not depend on what is behind it."""
    made: list[str] = []
    blank = False
    for start, end in cuts(text, _TEXT_BORDER):
        part = text[start:end]
        blank = blank or part[0].isspace()
        if normal := _normal_part(part):
            made += [" ", normal] if blank and made else [normal]
            blank = False
    return "".join(made)


def number_of(text: str) -> int | float | None:
    """The number that a whole token writes, or None where it is not one. Leading zeros make an identifier."""
    token = normal_text(text).replace("\u2212", "-") if not text.isascii() else text.strip().lower()
    if len(token) > _LONGEST_NUMBER or _WHOLE_NUMBER.fullmatch(token) is None:
        return None
    token = token.replace(",", "")
    if "." in token or "e" in token:
        value = float(token)
        return value if math.isfinite(value) else None
    return int(token)


def number(value: Json) -> int | float | None:
    """The finite number that a value is or, as a whole token, writes; None for everything else, booleans included."""
    if isinstance(value, str):
        return number_of(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if isinstance(value, int) or math.isfinite(value) else None


def _text_key(text: str) -> Key:
    written = number_of(text)
    return normal_text(text) if written is None else _number_key(written)


_short_text_key = lru_cache(maxsize=65536)(_text_key)


def _number_key(value: int | float) -> Key:
    if isinstance(value, float):
        if math.isnan(value):
            return None
        if value == 0:
            return 0.0
    return value


def key(value: Atom) -> Key:
    """The canonical key of one atom. Raises TypeError for anything that is not an atom."""
    if value is None:
        return None
    if isinstance(value, str):
        if len(value) <= 200:
            return _short_text_key(value)
        return _text_key(value) if len(value) <= _LONGEST_NUMBER else normal_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _number_key(value)
    raise TypeError(f"{type(value).__name__} is not an atomic value")


def keys_equal(left: Key, right: Key) -> bool:
    """Whether two keys stand for equal values, the tolerance included."""
    if left == right:
        return True
    if isinstance(left, float):
        return isinstance(right, int | float) and _near(left, right)
    if isinstance(right, float):
        return isinstance(left, int | float) and _near(right, left)
    return False


def _near(left: float, right: int | float) -> bool:
    if not math.isfinite(left) or (isinstance(right, float) and not math.isfinite(right)):
        return False
    if (
        abs(left) < _EXACT_FLOAT
        and abs(right) < _EXACT_FLOAT
        and left.is_integer()
        and (isinstance(right, int) or right.is_integer())
    ):
        return False
    other = _finite(right)
    return other is not None and math.isclose(left, other, rel_tol=RELATIVE_TOLERANCE, abs_tol=0.0)


def equal(left: Atom, right: Atom) -> bool:
    """Whether two atoms are the same value."""
    return keys_equal(key(left), key(right))


class ValueIndex:
    """A set of keys whose membership test honours the tolerance of floats; O(log n) a lookup."""

    __slots__ = ("_keys", "_numbers")

    def __init__(self, keys: Iterable[Key] = ()) -> None:
        self._keys: set[Key] = set(keys)
        self._numbers: list[int | float] | None = None

    def add(self, item: Key) -> None:
        if item not in self._keys:
            self._keys.add(item)
            self._numbers = None

    def update(self, items: Iterable[Key]) -> None:
        self._keys.update(items)
        self._numbers = None

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._keys)

    def __contains__(self, item: object) -> bool:
        if item in self._keys:
            return True
        return isinstance(item, int | float) and self.match(item) is not None

    def has(self, value: Atom) -> bool:
        """Whether an atom equal to this one is in the set."""
        return key(value) in self

    def match(self, item: Key) -> Key | None:
        """The key of the set that equals this one (itself where it is there), or None where there is none.

        None is also the key of null: ask ``in`` for null.
        """
        if item in self._keys:
            return item
        if not isinstance(item, int | float):
            return None
        value = _finite(item)
        if value is None:
            return None
        if self._numbers is None:
            self._numbers = sorted(k for k in self._keys if isinstance(k, int | float))
        margin = abs(value) * RELATIVE_TOLERANCE * 1.01
        low = bisect_left(self._numbers, value - margin)
        high = bisect_right(self._numbers, value + margin)
        return next((k for k in self._numbers[low:high] if keys_equal(item, k)), None)


def _finite(number: int | float) -> float | None:
    try:
        value = float(number)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None


def decode(text: str) -> Json:
    """What a response text says: its JSON value, or the text itself where it is none.

    Accepts what the release prints and strict JSON does not: ``NaN``, ``Infinity``, and a scalar printed as ``nan``.
    """
    stripped = text.strip()
    if stripped in _PRINTED_FLOATS:
        return _PRINTED_FLOATS[stripped]
    if not stripped or stripped[0] not in '{["-0123456789tfnNI':
        return text
    try:
        return decoded(stripped)
    except ValueError:
        return text


def atoms(value: Json) -> Iterator[Atom]:
    """Every scalar of a decoded JSON value in document order: list items and field values, never field names."""
    stack: list[Json] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(reversed(item.values()))
        elif isinstance(item, list | tuple):
            stack.extend(reversed(item))
        else:
            yield item


SHOWN_AT_MOST: Final = 80
"""Characters of one value that a sentence quotes."""


def shown_value(value: Atom, at_most: int = SHOWN_AT_MOST) -> str:
    """A value as a sentence shows it: texts in quotes, texts and numbers cut visibly where they are long."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return f"'{shortened(value, at_most)}'"
    return shortened(str(value), at_most)


def shortened(text: str, at_most: int = SHOWN_AT_MOST) -> str:
    """The text, or its beginning and three dots in ``at_most`` characters."""
    return text if len(text) <= at_most else text[: at_most - 3] + "..."


def keys(value: Json) -> Iterator[Key]:
    """The keys of every atom of a decoded JSON value, in document order."""
    return (key(atom) for atom in atoms(value))


def multisets_equal(left: Iterable[Key], right: Iterable[Key]) -> bool:
    """Whether two collections hold the same values equally often, whatever their order; the tolerance included."""
    first, second = Counter(left), Counter(right)
    if first == second:
        return True
    only_first, only_second = first - second, second - first
    if only_first.total() != only_second.total():
        return False
    left_numbers = _sorted_numbers(only_first)
    right_numbers = _sorted_numbers(only_second)
    if left_numbers is None or right_numbers is None:
        return False
    return all(keys_equal(a, b) for a, b in zip(left_numbers, right_numbers, strict=True))


def _sorted_numbers(counter: Counter[Key]) -> list[int | float] | None:
    numbers: list[int | float] = []
    for item in counter.elements():
        if not isinstance(item, int | float):
            return None
        numbers.append(item)
    numbers.sort()
    return numbers


def numbers_in(text: str) -> Iterator[tuple[int, int, int | float]]:
    """The numbers that stand in a text as whole tokens: (start, end, value), positions in the text as given.

    Parts of identifiers, dates, times, ranges and versions (``TR000_1``, ``2013-07-26``, ``10:30``) are none.
    """
    lowered = text.replace("\u2212", "-")
    for start, end in cuts(lowered, _NUMBER_BORDER):
        for found in _NUMBER_IN_TEXT.finditer(lowered, start, end):
            value = number_of(found.group())
            if value is not None:
                yield found.start(), found.end(), value


def occurs(value: Atom, text: str) -> bool:
    """Whether a value stands in a text as a whole token: a number as a number, a text between token borders."""
    wanted = key(value)
    if wanted is None:
        return False
    if isinstance(wanted, int | float):
        return any(keys_equal(wanted, found) for _, _, found in numbers_in(text))
    return text_occurs(wanted, normal_text(text))


def text_occurs(needle: str, haystack: str) -> bool:
    """Whether normalised ``needle`` stands in normalised ``haystack`` with no letter, digit or ``_`` glued to it."""
    if not needle:
        return False
    start = haystack.find(needle)
    while start >= 0:
        end = start + len(needle)
        if not (start > 0 and _glued(haystack[start - 1])) and not (end < len(haystack) and _glued(haystack[end])):
            return True
        start = haystack.find(needle, start + 1)
    return False


def _glued(character: str) -> bool:
    return character.isalnum() or character == "_"
