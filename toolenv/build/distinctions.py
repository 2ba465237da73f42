"""What sets an endpoint apart from others of the same summary: its joins, what it counts, conditions it always has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolenv.build.wording import plain, spoken

_LONGEST = 160


def distinction(sql: str) -> str:
    """The parts of an endpoint's SQL that its summary does not tell, in words; empty where there are none."""
    import sqlglot

    tree = sqlglot.parse_one(sql, read="sqlite")
    text = "; ".join(dict.fromkeys((*_joined(tree), *_counted(tree), *_kept(tree), *_always(tree))))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"


def _joined(tree: Any) -> Iterator[str]:
    """``with attendance``; where a key has another name than the table it leads to, ``colour by hair colour id``."""
    from sqlglot import exp

    tables = {(t.alias or t.name).lower(): t.name for t in tree.find_all(exp.Table)}
    for join in tree.find_all(exp.Join):
        if not isinstance(join.this, exp.Table):
            continue
        alias, name = (join.this.alias or join.this.name).lower(), join.this.name
        on = join.args.get("on")
        equals = list(on.find_all(exp.EQ)) if on is not None else []
        sides = [side for equal in equals for side in (equal.left, equal.right)]
        others = [side for side in sides if isinstance(side, exp.Column) and side.table.lower() != alias]
        keys = [side.name for side in others if side.table.lower() in tables]
        roles = [key for key in keys if plain(name) not in plain(key).removesuffix("_id")]
        longer = [key for key in keys if plain(key).removesuffix("_id").endswith(f"_{plain(name)}")]
        told = next(iter(longer), None) or next((k for k in roles if plain(k) not in ("id", "name", "code")), None)
        yield f"{spoken(name)} by {spoken(told)}" if told else f"with {spoken(name)}"


def _counted(tree: Any) -> Iterator[str]:
    from sqlglot import exp

    for count in tree.find_all(exp.Count):
        column = next(iter(count.find_all(exp.Column)), None)
        if column is not None:
            yield f"counts {'different ' if count.find(exp.Distinct) else ''}{spoken(column.name)}"


def _kept(tree: Any) -> Iterator[str]:
    """Each row once, no more than so many."""
    limit = tree.args.get("limit")
    if tree.args.get("distinct"):
        yield "each once"
    if limit is not None and limit.expression.name not in ("", "1"):
        yield f"no more than {limit.expression.name}"


def _always(tree: Any) -> Iterator[str]:
    """The conditions that no parameter changes."""
    from sqlglot import exp

    for select in tree.find_all(exp.Select):
        for clause in (select.args.get("where"), select.args.get("having")):
            for condition in _conjuncts(clause.this) if clause is not None else ():
                if condition.find(exp.Placeholder) is None:
                    bare = condition.copy()
                    for column in bare.find_all(exp.Column):
                        column.set("table", None)
                    yield f"only where {bare.sql('sqlite')}"


def _conjuncts(condition: Any) -> Iterator[Any]:
    from sqlglot import exp

    if isinstance(condition, exp.And):
        yield from _conjuncts(condition.left)
        yield from _conjuncts(condition.right)
    else:
        yield condition
