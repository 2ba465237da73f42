"""A text that is asked again and again whether values stand in it."""

from __future__ import annotations

from toolenv.values import Atom, ValueIndex, key, normal_text, numbers_in, text_occurs


class SearchedText:
    """Answers as ``toolenv.values.occurs`` does, and prepares the text once for all values."""

    __slots__ = ("_normal", "_numbers", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._normal: str | None = None
        self._numbers: ValueIndex | None = None

    def holds(self, atom: Atom) -> bool:
        """Whether a value stands in the text as a whole token."""
        wanted = key(atom)
        if wanted is None:
            return False
        if isinstance(wanted, int | float):
            if self._numbers is None:
                self._numbers = ValueIndex(number for _, _, number in numbers_in(self.text))
            return wanted in self._numbers
        if self._normal is None:
            self._normal = normal_text(self.text)
        return text_occurs(wanted, self._normal)
