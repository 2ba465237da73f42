"""Answers that the data do not determine: a LIMIT that cuts through rows of equal rank."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from toolenv.build.expressions import parse_select
from toolenv.build.source import NotBuildable
from toolenv.model import Json


def refuse_tie(connection: sqlite3.Connection, sql: str, binds: Mapping[str, Json] | None = None) -> None:
    """Raise ``NotBuildable`` when the last row that a LIMIT keeps and the first that it drops have equal sort keys.

    ``binds`` are the values of the SQL's parameters, where it has some.
    """
    given = binds or {}
    tree = parse_select(sql)
    limit, order = tree.args.get("limit"), tree.args.get("order")
    if limit is None or not limit.expression.is_int:
        return
    kept = int(limit.expression.name)
    whole = tree.copy()
    whole.set("limit", None)
    if order is None:
        if len(connection.execute(whole.sql("sqlite"), given).fetchmany(kept + 1)) > kept:
            raise NotBuildable("LIMIT without ORDER BY keeps rows that the question does not determine")
        return
    if tree.args.get("distinct") is not None:
        return
    keys = [part.this.copy() for part in order.expressions]
    whole.set("expressions", [*whole.expressions, *keys])
    rows = connection.execute(whole.sql("sqlite"), given).fetchmany(kept + 1)
    if len(rows) > kept and rows[kept - 1][-len(keys) :] == rows[kept][-len(keys) :]:
        raise NotBuildable("LIMIT cuts through rows with equal sort keys, so the answer is not determined")
