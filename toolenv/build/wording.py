"""Names and sentences of endpoints, from the SQL's own words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolenv.dashboards.definition import EndpointParameter

_GENERIC_NAMES = frozenset(
    [
        "id",
        "name",
        "code",
        "type",
        "title",
        "date",
        "value",
        "kind",
        "number",
        "first",
        "last",
        "firstname",
        "lastname",
        "first_name",
        "last_name",
    ]
)
DATE_PARTS = {"%Y": "year", "%m": "month", "%d": "day"}
_BOUNDS = {"min_": "Lower bound for ", "max_": "Upper bound for ", "not_": "Anything but this "}


def spoken(name: str) -> str:
    """A name as lower-case words: capitals inside and underscores part them."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return re.sub(r"[\W_]+", " ", spaced).strip().lower()


def plain(name: str) -> str:
    """A name as a lower-case identifier."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    words = re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_")
    return words if words and not words[0].isdigit() else f"c_{words}"


def qualified(owner: str, column: str) -> str:
    """A column's name; a generic one is preceded by its table's, or by the part that the table plays in the SELECT."""
    return f"{owner}_{column}" if column.lower() in _GENERIC_NAMES else column


def plural(name: str) -> str:
    """The plural of an English noun, regularly made."""
    if name.endswith("y") and not name.endswith(("ay", "ey", "oy")):
        return name[:-1] + "ies"
    return name if name.endswith("s") else name + "s"


def operation_id(subject: str, table: str, order: str, parameters: Sequence[EndpointParameter]) -> str:
    """``get_<what>[_with_<order>][_by_<parameters>]``."""
    if subject == "count":
        subject = f"{subject}_of_{plain(table)}"
    if order:
        subject = f"{subject}_with_{order}"
    names = "_and_".join(p.name for p in parameters[:3])
    return f"get_{plain(subject)}" + (f"_by_{names}" if names else "")


def summary(subject: str, table: str, order: str, parameters: Sequence[EndpointParameter]) -> str:
    """One sentence of what an endpoint gives and for what."""
    words = subject.replace("_and_", ", ").replace("_", " ").capitalize()
    noun = spoken(table)
    if order:
        words += f" with the {order.replace('_', ' ')}"
    if noun not in words.lower().split():
        words += f" of {noun}"
    given = ", ".join(p.description.split(" (")[0].lower() for p in parameters)
    return words + (f" for a given {given}" if given else "")


def describe(owner: str, column: str, prefix: str, part: str | None) -> str:
    """What a parameter is: a bound or a value of which column, and the column's own name."""
    inner = spoken(column)
    if spoken(owner) not in inner:
        inner = f"{spoken(owner)} {inner}"
    if part is not None:
        inner = f"{DATE_PARTS[part]} of {inner}"
    text = _BOUNDS.get(prefix, "") + inner
    return text[0].upper() + text[1:] + f" ({owner}.{column})"
