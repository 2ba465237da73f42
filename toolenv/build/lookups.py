"""Questions that a schema alone suggests: look-ups by a key, counts and extremes; they fill up a domain's endpoints."""

from __future__ import annotations

from collections.abc import Iterator

from toolenv.build.database_schema import Column, DatabaseSchema, Table, quoted
from toolenv.build.source import Question


def lookup_questions(schema: DatabaseSchema) -> Iterator[Question]:
    """Look-ups in a fixed order, the most natural first; the literals are placeholders of the column's type."""
    for table in schema.tables:
        for key in _text_keys(table):
            for column in table.columns:
                if column.name != key.name:
                    yield _select(
                        table, quoted(column.name), _equals(key), f"{column.name} of a {table.name} by {key.name}"
                    )
    for table in schema.tables:
        for column in _categories(table, schema):
            yield _select(table, "COUNT(*)", _equals(column), f"number of rows of {table.name} by {column.name}")
            for key in _text_keys(table)[:1]:
                yield _select(table, quoted(key.name), _equals(column), f"{key.name} of {table.name} by {column.name}")
    for table in schema.tables:
        for measure in _measures(table, schema):
            for function in ("AVG", "MAX", "MIN"):
                call = f"{function}({quoted(measure.name)})"
                yield _select(table, call, None, f"{function} of {measure.name} of {table.name}")
                for column in _categories(table, schema):
                    if column.name != measure.name:
                        yield _select(
                            table,
                            call,
                            _equals(column),
                            f"{function} of {measure.name} of {table.name} by {column.name}",
                        )
            for sign in (">", "<"):
                yield _select(
                    table,
                    "COUNT(*)",
                    f"{quoted(measure.name)} {sign} {_LITERALS[measure.type]}",
                    f"number of rows of {table.name} with {measure.name} {sign} a bound",
                )


_LITERALS = {"string": "'x'", "integer": "1", "number": "1.0"}


def _select(table: Table, what: str, where: str | None, words: str) -> Question:
    sql = f"SELECT {what} FROM {quoted(table.name)}" + (f" WHERE {where}" if where else "")
    return Question(question=f"{words[0].upper()}{words[1:]}", sql=sql)


def _equals(column: Column) -> str:
    return f"{quoted(column.name)} = {_LITERALS[column.type]}"


def _text_keys(table: Table) -> list[Column]:
    return [c for c in table.columns if c.unique and c.type == "string"]


def _references(table: Table, schema: DatabaseSchema) -> set[str]:
    return {k.column for k in schema.foreign_keys if k.table == table.name}


def _categories(table: Table, schema: DatabaseSchema) -> list[Column]:
    return [
        c for c in table.columns if c.type == "string" and not c.unique and c.name not in _references(table, schema)
    ]


def _measures(table: Table, schema: DatabaseSchema) -> list[Column]:
    return [
        c
        for c in table.columns
        if c.type in ("integer", "number") and not c.unique and c.name not in _references(table, schema)
    ]
