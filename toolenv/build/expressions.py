"""A SELECT as sqlglot's tree, and the expressions in it that are read in more than one place."""

from __future__ import annotations

from typing import Any

from toolenv.build.source import NotBuildable

_DATE_BEGINNINGS = {"%Y-%m": 7, "%Y-%m-%d": 10}
"""How many characters of an ISO date a pattern keeps."""


def parse_select(sql: str) -> Any:
    """One SELECT as sqlglot's tree. Raises ``NotBuildable`` for anything else."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        statements = sqlglot.parse(sql, read="sqlite")
    except SqlglotError as error:
        raise NotBuildable(f"the SQL cannot be parsed: {str(error).splitlines()[0]}") from error
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        raise NotBuildable("only one plain SELECT can be used")
    return statements[0]


def date_part(node: Any) -> tuple[str, Any] | None:
    """Pattern and column of ``strftime('%Y', column)`` (and %m, %d), however sqlglot names it; else None."""
    from sqlglot import exp

    if isinstance(node, exp.Cast):
        return date_part(node.this)
    if isinstance(node, exp.TimeToStr):
        pattern, column = node.args.get("format"), node.this
        while isinstance(column, exp.Cast | exp.TsOrDsToTimestamp | exp.TsOrDsToDate):
            column = column.this
    elif isinstance(node, exp.Anonymous) and node.name.upper() == "STRFTIME" and len(node.expressions) == 2:
        pattern, column = node.expressions
    else:
        return None
    text = pattern.name if isinstance(pattern, exp.Literal) else str(pattern)
    return (text, column) if text in ("%Y", "%m", "%d") else None


def substring(node: Any) -> tuple[Any, tuple[int, int]] | None:
    """Column and positions (from, up to) of ``substr(column, start, length)`` and of ``strftime('%Y-%m', column)``."""
    from sqlglot import exp

    if isinstance(node, exp.Anonymous | exp.Date | exp.TsOrDsToDate) and isinstance(node.this, exp.Substring):
        return substring(node.this)
    if isinstance(node, exp.Substring):
        start, length = node.args.get("start"), node.args.get("length")
        if not (isinstance(start, exp.Literal) and isinstance(length, exp.Literal) and start.is_int and length.is_int):
            return None
        first = int(start.name) - 1
        return (node.this, (first, first + int(length.name))) if first >= 0 else None
    if isinstance(node, exp.TimeToStr):
        pattern, column = node.args.get("format"), node.this
        while isinstance(column, exp.Cast | exp.TsOrDsToTimestamp | exp.TsOrDsToDate):
            column = column.this
        end = _DATE_BEGINNINGS.get(pattern.name if isinstance(pattern, exp.Literal) else str(pattern))
        return (column, (0, end)) if end is not None else None
    return None


def literal_value(node: Any) -> Any:
    """The value of a literal. Raises ``NotBuildable`` for anything else."""
    from sqlglot import exp

    if isinstance(node, exp.Neg):
        return -literal_value(node.this)
    if isinstance(node, exp.Paren | exp.Cast):
        return literal_value(node.this)
    if not isinstance(node, exp.Literal):
        raise NotBuildable(f"the expression {node.sql('sqlite')} is not a literal")
    if node.is_string:
        return node.this
    return int(node.this) if node.this.isdigit() else float(node.this)
