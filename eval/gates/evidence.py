"""Evidence in a form that a report can hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

LONGEST = 50
"""Values that one entry of evidence lists; a larger number stands beside them as ``count``."""


def capped(name: str, values: Sequence[Any]) -> Mapping[str, Any]:
    """``{name: values}``, cut to the first ones with their ``count`` where there are too many for a report."""
    cut: dict[str, Any] = {name: list(values[:LONGEST])}
    if len(values) > LONGEST:
        cut["count"] = len(values)
    return cut
