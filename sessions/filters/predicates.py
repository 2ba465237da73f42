"""What a filter can ask: predicates, their arguments, and what completes them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from toolenv.errors import VakraError
from toolenv.model import Value

T = TypeVar("T")

ArgumentKind = Literal["none", "pattern", "number", "choice"]

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}


class FilterError(VakraError):
    """A filter expression cannot be read; ``position`` is where, from 0."""

    def __init__(self, sentence: str, position: int) -> None:
        super().__init__(sentence)
        self.position = position


class Completion(Value, frozen=True):
    """One way to go on: the text that replaces the last ``replaces`` characters, and what it means."""

    text: str
    meaning: str
    replaces: int = 0


@dataclass(frozen=True)
class Predicate(Generic[T]):
    """One thing that a filter can ask about a ``T``.

    ``test`` gets the subject and the read argument: None, a function ``str -> bool`` for a pattern, a function
    ``float -> bool`` for a number, a string for a choice. ``choices`` lists what completes the argument. ``late`` marks
    what can only be known of a step that has its result.
    """

    name: str
    meaning: str
    test: Callable[[T, Any], bool]
    argument: ArgumentKind = "none"
    choices: Callable[[Sequence[T]], Sequence[str]] | Sequence[str] = ()
    late: bool = False


def read_argument(predicate: Predicate[Any], text: str, position: int) -> Any:
    """What ``test`` gets for the written argument. Raises ``FilterError``."""
    if predicate.argument == "pattern":
        return pattern(text, position)
    if predicate.argument == "number":
        return number(text, predicate.name, position)
    choices = predicate.choices
    if not callable(choices) and choices and text not in choices:
        raise FilterError(f"~{predicate.name} takes one of {', '.join(choices)}, not {text!r}.", position)
    return text


def pattern(text: str, position: int) -> Callable[[str], bool]:
    """A search for an RE2 pattern, without regard to case; time is linear in the text whatever the pattern."""
    import re2

    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    try:
        compiled = re2.compile(_encodable(text), options)
    except re2.error as error:
        raise FilterError(f"The pattern {text!r} cannot be read: {_reason(error)}.", position) from error
    return lambda subject: compiled.search(_encodable(subject)) is not None


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else error
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)


def _encodable(text: str) -> str:
    """The text with lone surrogates replaced, which have no UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def number(text: str, name: str, position: int) -> Callable[[float], bool]:
    """A comparison: ``3``, ``>2.5``, ``<=10``, or a range ``2..5`` with both ends in."""
    low, dots, high = text.partition("..")
    try:
        if dots:
            least, most = float(low), float(high)
            return lambda value: least <= value <= most
        for sign, compare in COMPARISONS.items():
            if text.startswith(sign):
                limit = float(text[len(sign) :])
                return lambda value: compare(value, limit)
        exact = float(text)
    except ValueError as error:
        raise FilterError(f"~{name} takes a number such as 3, >2.5 or 2..5, not {text!r}.", position) from error
    return lambda value: value == exact
