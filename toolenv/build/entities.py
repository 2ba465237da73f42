"""What the rows of a database are called by: name columns, pairs of names, and which columns hold the same things."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping

from toolenv.build.database_schema import DatabaseSchema, Table, quoted
from toolenv.build.template import SourceColumn
from toolenv.model import Json, Value
from toolenv.values import normal_text

Entity = tuple[SourceColumn, ...]
"""The columns that together name a thing: one, or a given and a family name."""

_FIRST = re.compile(r"^(?:first|given|fore)[ _]?(?:name)?$", re.IGNORECASE)
_LAST = re.compile(r"^(?:last|family|sur)[ _]?(?:name)?$", re.IGNORECASE)
_NAME = re.compile(r"(?:^|[ _]|(?<=[a-z]))(?:name|title)$", re.IGNORECASE)
_ID = re.compile(r"(?:^|[ _]|(?<=[a-z]))id\d*$|^link_to_", re.IGNORECASE)
_PLACEHOLDERS = frozenset(
    [
        "-",
        "--",
        "?",
        ".",
        "/",
        "n/a",
        "na",
        "none",
        "null",
        "nil",
        "unknown",
        "other",
        "others",
        "misc",
        "various",
        "true",
        "false",
        "yes",
        "no",
        "t",
        "f",
        "y",
        "n",
        "0",
        "1",
    ]
)

_MISSING = frozenset(["-", "--", "?", ".", "/", "n/a", "na", "none", "null", "nil", "unknown"]) | {"", "no colour"}
_FLAGS = frozenset(["true", "false", "yes", "no", "pos", "neg", "t", "f", "y", "n", "0", "1"])
_MOST_CODES = 40

LONGEST_NAME = 60
_LONGEST_KEY = 14.0
_NAME_LIKE = 0.5
_SAMPLE = 20_000


class NameColumns(Value, frozen=True):
    """How the rows of a table are told apart in a question."""

    table: str
    columns: tuple[str, ...]

    @property
    def entity(self) -> Entity:
        return tuple(SourceColumn(table=self.table, column=c) for c in self.columns)


class Entities:
    """The names of a database's things. Columns that a key or a join connects hold the same things."""

    def __init__(
        self, connection: sqlite3.Connection, schema: DatabaseSchema, joins: Iterable[tuple[SourceColumn, SourceColumn]]
    ) -> None:
        self._connection = connection
        self._schema = schema
        self._parent: dict[SourceColumn, SourceColumn] = {}
        self._keys: set[SourceColumn] = set()
        self._repeated: dict[Entity, frozenset[tuple[str, ...]]] = {}
        self._shares: dict[Entity, float] = {}
        self._codes: dict[Entity, bool] = {}
        for key in schema.foreign_keys:
            self._connect(
                SourceColumn(table=_spelled(schema, key.table), column=key.column),
                SourceColumn(table=_spelled(schema, key.parent), column=key.parent_column),
            )
        for one, other in joins:
            self._connect(one, other)
        self.names: Mapping[str, NameColumns] = {
            table.name: found
            for table in schema.tables
            if (found := self._name_columns(table)) is not None and not self._only_flags(found)
        }
        self._things = {
            key.table: key.parent
            for key in schema.foreign_keys
            if key.table in self.names and self.names[key.table].columns == (key.column,)
        }

    def thing(self, table: str) -> str:
        """The table that says what a table's rows are: its own, or the one that its name column points to."""
        seen = {table}
        while table in self._things and self._things[table] not in seen:
            table = _spelled(self._schema, self._things[table])
            seen.add(table)
        return table

    def _only_flags(self, names: NameColumns) -> bool:
        values = self._distinct(names.entity)
        return len(names.columns) == 1 and bool(values) and all(str(v).lower() in _FLAGS for v in values)

    def kind(self, entity: Entity) -> Entity:
        """The same for all entities whose values name the same things."""
        return tuple(self._root(column) for column in entity)

    def is_surrogate(self, column: SourceColumn) -> bool:
        """Whether a column holds keys that nobody would say: its table's rows have a name, or it is a number."""
        if not _ID.search(column.column) and column not in self._keys:
            return False
        root = self._root(column)
        name = self.names.get(root.table)
        return name is None or name.columns != (root.column,)

    def is_missing(self, gives: Entity | None, values: tuple[Json, ...]) -> bool:
        """Whether an answer is a sign for a missing value."""
        return any(v is None or (isinstance(v, str) and normal_text(v) in _MISSING) for v in values) and (
            gives is None or not self._holds_codes(gives)
        )

    def usable(self, entity: Entity, values: tuple[Json, ...]) -> bool:
        """Whether the values name one thing that a question can speak of."""
        if any(value is None or isinstance(value, float | bytes) for value in values):
            return False
        text = " ".join(str(v) for v in values)
        plain = normal_text(text)
        if (
            not plain
            or len(text) > LONGEST_NAME
            or len(plain.split()) > 8
            or text[-1] in ".!?"
            or re.match(r"no |un(?:known|specified)", plain)
        ):
            return False
        if (len(plain) < 2 or plain in _PLACEHOLDERS) and not self._holds_codes(entity):
            return False
        if (
            "://" in text
            or "@" in text
            or "www." in text
            or "{" in text
            or "}" in text
            or "\n" in text
            or text != text.strip()
            or not text.isprintable()
        ):
            return False
        if any(isinstance(v, int) for v in values) and not re.fullmatch(r"\d{4,6}", text):
            return False
        return tuple(normal_text(str(v)) for v in values) not in self._ambiguous(entity)

    def _holds_codes(self, entity: Entity) -> bool:
        """Whether a column holds signs of one or two characters throughout, so that a sign is no missing value."""
        if entity not in self._codes:
            values = self._distinct(entity)
            self._codes[entity] = (
                len(entity) == 1
                and 2 <= len(values) <= _MOST_CODES
                and all(isinstance(v, str) and 0 < len(v) <= 2 for v in values)
                and not all(str(v).lower() in _FLAGS for v in values)
            )
        return self._codes[entity]

    def _distinct(self, entity: Entity) -> list[Json]:
        column = quoted(entity[0].column)
        rows = self._connection.execute(
            f"SELECT DISTINCT {column} FROM {quoted(entity[0].table)} WHERE {column} IS NOT NULL "
            f"LIMIT {_MOST_CODES + 1}"
        )
        return [row[0] for row in rows]

    def _ambiguous(self, entity: Entity) -> frozenset[tuple[str, ...]]:
        """Values that stand in several rows of a column whose values are nearly all different, as names are."""
        if entity in self._repeated:
            return self._repeated[entity]
        table = quoted(entity[0].table)
        columns = ", ".join(quoted(c.column) for c in entity)
        found: frozenset[tuple[str, ...]] = frozenset()
        if self.share_of_distinct(entity) >= _NAME_LIKE:
            rows = self._connection.execute(f"SELECT {columns} FROM {table} GROUP BY {columns} HAVING COUNT(*) > 1")
            found = frozenset(tuple(normal_text(str(v)) for v in row) for row in rows.fetchmany(_SAMPLE))
        self._repeated[entity] = found
        return found

    def share_of_distinct(self, entity: Entity) -> float:
        """Distinct values among the first rows of a column (or pair), as a share of them."""
        if entity not in self._shares:
            columns = ", ".join(quoted(c.column) for c in entity)
            rows = self._connection.execute(
                f"SELECT {columns} FROM {quoted(entity[0].table)} LIMIT {_SAMPLE}"
            ).fetchall()
            self._shares[entity] = len(set(rows)) / len(rows) if rows else 0.0
        return self._shares[entity]

    def values(self, entity: Entity, limit: int) -> list[tuple[Json, ...]]:
        """Distinct values of an entity that can be spoken of, in their own order, from the whole column."""
        columns = ", ".join(quoted(c.column) for c in entity)
        rows = self._connection.execute(
            f"SELECT DISTINCT {columns} FROM {quoted(entity[0].table)} ORDER BY {columns} LIMIT {_SAMPLE}"
        ).fetchall()
        usable = [row for row in rows if self.usable(entity, row)]
        step = max(1, len(usable) // limit)
        return usable[::step][:limit]

    def _name_columns(self, table: Table) -> NameColumns | None:
        text = [c for c in table.columns if c.type == "string"]
        first = next((c.name for c in text if _FIRST.match(c.name)), None)
        last = next((c.name for c in text if _LAST.match(c.name)), None)
        if first is not None and last is not None:
            return NameColumns(table=table.name, columns=(first, last))
        named = [c for c in text if _NAME.search(c.name)]
        named.sort(key=lambda c: (not c.name.lower().startswith(table.name.lower()[:4]), "full" in c.name.lower()))
        for column in (*named, *(c for c in text if c.unique and not _ID.search(c.name))):
            if self._is_name(table, column.name):
                return NameColumns(table=table.name, columns=(column.name,))
        keys = [c for c in text if c.unique and self._is_name(table, c.name)]
        for key in keys:
            lengths = self._connection.execute(
                f"SELECT AVG(LENGTH({quoted(key.name)})) FROM {quoted(table.name)}"
            ).fetchone()[0]
            if lengths is not None and lengths <= _LONGEST_KEY:
                return NameColumns(table=table.name, columns=(key.name,))
        others = [c for c in text if c not in keys and not self._is_key(table.name, c.name)]
        likely = [c for c in others if self._is_name(table, c.name) and self._short(table.name, c.name)]
        return NameColumns(table=table.name, columns=(likely[0].name,)) if len(likely) == 1 else None

    def _is_name(self, table: Table, column: str) -> bool:
        return self.share_of_distinct((SourceColumn(table=table.name, column=column),)) > 0.9

    def _is_key(self, table: str, column: str) -> bool:
        return SourceColumn(table=table, column=column) in self._keys

    def _short(self, table: str, column: str) -> bool:
        longest = self._connection.execute(f"SELECT MAX(LENGTH({quoted(column)})) FROM {quoted(table)}").fetchone()[0]
        return longest is not None and longest <= LONGEST_NAME / 2

    def _connect(self, one: SourceColumn, other: SourceColumn) -> None:
        self._keys |= {one, other}
        left, right = self._root(one), self._root(other)
        if left != right:
            self._parent[left] = right

    def _root(self, column: SourceColumn) -> SourceColumn:
        while column in self._parent:
            column = self._parent[column]
        return column


def _spelled(schema: DatabaseSchema, table: str) -> str:
    known = next((t.name for t in schema.tables if t.name.lower() == table.lower()), None)
    return known or table
