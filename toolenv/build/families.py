"""Which templates ask for the same, so that a split never has what the other one has in another order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_ALIASED = re.compile(r" as \w+")
_TABLE_OF = re.compile(r"\bt\d+\.")
_TOKEN = re.compile(r"[\w.]+|[^\s\w]")


def signature(template_key: str) -> str:
    """What a template's key is made of, without the order of its tables, conditions and columns, without the names of
    its columns in the response, and without the tables of its columns, which a join by equality makes alike.

    Two templates with one signature join and ask for the same things, in another order; in rare cases they only use
    the same words, which keeps them in one split as well.
    """
    return " ".join(sorted(_TOKEN.findall(_TABLE_OF.sub("", _ALIASED.sub("", template_key)))))


def families(asked: Sequence[tuple[str, str]]) -> Mapping[str, str]:
    """The family of each signature, from (question in its normal form, template key) pairs: templates of one
    signature, and those that answer one question. A family is named by the first of its templates in sorted order."""
    parent: dict[str, str] = {}

    def top(name: str) -> str:
        while parent.setdefault(name, name) != name:
            name = parent[name]
        return name

    first: dict[str, str] = {}
    for question, key in asked:
        mine, other = top(signature(key)), top(first.setdefault(question, signature(key)))
        parent[max(mine, other)] = min(mine, other)
    names: dict[str, str] = {}
    for _, key in asked:
        family = top(signature(key))
        names[family] = min(key, names.get(family, key))
    return {own: names[top(own)] for own in list(parent)}
