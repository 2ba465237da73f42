"""Evidence in a form that a report can hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolenv.values import shortened

LONGEST = 50
"""Values that one entry of evidence lists; a larger number stands beside them as ``count``."""

LONGEST_VALUE = 500
"""Characters of one value in an entry of evidence."""

_LONG_NUMBER: Final = 10**LONGEST_VALUE


def capped(name: str, values: Sequence[Any]) -> Mapping[str, Any]:
    """``{name: values}``, cut to the first ones with their ``count`` where there are too many for a report.

    A text or a number of very many characters is cut as well, to a text that ends in three dots.
    """
    cut: dict[str, Any] = {name: [_bounded(value) for value in values[:LONGEST]]}
    if len(values) > LONGEST:
        cut["count"] = len(values)
    return cut


def _bounded(value: Any) -> Any:
    if isinstance(value, str):
        return shortened(value, LONGEST_VALUE)
    if isinstance(value, int) and not -_LONG_NUMBER < value < _LONG_NUMBER:
        return shortened(str(value), LONGEST_VALUE)
    return value
