"""The values that one response prints, ready to be asked which of them stand in other values.

A response of some megabytes prints a hundred thousand values, and what is written in a call or an answer is short: so
what may stand in it is looked up here, instead of each printed value being looked for there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from math import isfinite

from toolenv.values import (
    RELATIVE_TOLERANCE,
    Atom,
    Key,
    ValueIndex,
    key,
    keys_equal,
    normal_text,
    numbers_in,
    text_occurs,
)


class Printed(dict[Key, Atom]):
    """Key -> value as printed, in document order. Filled before it is asked for anything and not changed after that."""

    @cached_property
    def _numbers(self) -> list[int | float]:
        return sorted(k for k in self if isinstance(k, int | float))

    @cached_property
    def _texts(self) -> list[str]:
        """Keys that are texts and may stand in running text: a single letter or sign may be anything there."""
        return [k for k in self if isinstance(k, str) and len(k) > 1]

    @cached_property
    def _lengths(self) -> list[int]:
        """How long such texts are."""
        return sorted(set(map(len, self._texts)))

    def equal(self, wanted: Key) -> Iterator[Key]:
        """The keys that equal one, the tolerance of floats included."""
        if wanted in self:
            yield wanted
        if not isinstance(wanted, int | float):
            return
        try:
            value = float(wanted)
        except OverflowError:
            return
        if not isfinite(value):
            return
        margin = abs(value) * RELATIVE_TOLERANCE * 1.01
        low = bisect_left(self._numbers, value - margin)
        high = bisect_right(self._numbers, value + margin)
        yield from (k for k in self._numbers[low:high] if keys_equal(wanted, k))

    def in_text(self, text: str) -> Iterator[Key]:
        """The texts that stand in a normalised text as whole tokens."""
        starts = [at for at in range(len(text)) if at == 0 or not _glues(text[at - 1])]
        if len(starts) * len(self._lengths) > len(self._texts):
            yield from (k for k in self._texts if k in text and text_occurs(k, text))
            return
        whole = len(text)
        for start in starts:
            for length in self._lengths:
                end = start + length
                if end > whole:
                    break
                if (end == whole or not _glues(text[end])) and text[start:end] in self:
                    yield text[start:end]


class Written:
    """Values that were written (in arguments, in an answer), ready to be asked whether another value stands in them.

    A value stands in a written one when it equals it or is a whole token of its text. A single letter or sign counts
    only by itself, for in running text it may be anything.
    """

    __slots__ = ("_exact", "_numbers", "_texts")

    def __init__(self, written: Iterable[Atom]) -> None:
        self._exact = ValueIndex()
        self._numbers = ValueIndex()
        self._texts: list[str] = []
        for atom in written:
            self._exact.add(key(atom))
            if isinstance(atom, str):
                self._texts.append(normal_text(atom))
                self._numbers.update(number for _, _, number in numbers_in(atom))

    def __contains__(self, wanted: Key) -> bool:
        if wanted in self._exact:
            return True
        if isinstance(wanted, str):
            return len(wanted) > 1 and any(text_occurs(wanted, text) for text in self._texts)
        return wanted is not None and wanted in self._numbers

    def standing(self, printed: Printed) -> list[tuple[Key, Atom]]:
        """Those of the printed values that stand in a written one, with their keys, in the order of the document."""
        found = {k for written in (self._exact, self._numbers) for each in written for k in printed.equal(each)}
        for text in self._texts:
            found.update(printed.in_text(text))
        if not found or (len(found) == 1 and all(isinstance(k, str) for k in found)):
            return [(k, printed[k]) for k in found]
        # Equal numbers have one key, and the response's own way of writing it is the one to give.
        return [(k, shown) for k, shown in printed.items() if k in found]


def _glues(character: str) -> bool:
    """Whether a character next to a text makes it a part of another one, as ``text_occurs`` has it."""
    return character.isalnum() or character == "_"
