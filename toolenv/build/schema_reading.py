"""What a schema and its data say about columns and tables, for hops that are made from them alone."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator

from toolenv.build.database_schema import Column, DatabaseSchema, Table, quoted
from toolenv.build.entities import Entities, Entity
from toolenv.build.hops import HopTemplate
from toolenv.build.source import NotBuildable
from toolenv.build.template import SourceColumn, make_template
from toolenv.build.words import Vocabulary, plural, singular
from toolenv.model import Value

_NOT_MEASURED = re.compile(
    r"(?:^|[ _])(?:id|key|zip|zip ?code|postal ?code|phone|code|number|no"
    r"|lat|lng|lon|latitude|longitude|year|month|day|card)"
    r"\d*(?:$|[ _])",
    re.IGNORECASE,
)
_MOST_CATEGORIES = 60
_SAMPLE = 20_000
_STEMS_SEEN = 50
_NEARLY = 0.9
_FLAGS = frozenset(["true", "false", "t", "f", "yes", "no", "y", "n", "0", "1", "pos", "neg"])


class Reference(Value, frozen=True):
    """A column of a table that points to a row of another; ``role`` is what that row is to it, in words."""

    table: Table
    column: str
    parent: Table
    parent_column: str
    role: str


class SchemaReading:
    """Tables, references and columns of one database that can be spoken of."""

    def __init__(
        self, connection: sqlite3.Connection, schema: DatabaseSchema, entities: Entities, vocabulary: Vocabulary
    ) -> None:
        self._connection = connection
        self.schema = schema
        self.entities = entities
        self.words = vocabulary
        self._stems: dict[str, str | None] = {}
        self._references = self._find_references()

    def tables(self) -> Iterator[Table]:
        """Tables whose rows have a word: they have a name column, or the questions speak of them."""
        for table in self.schema.tables:
            if "{" in table.name or any("{" in c.name for c in table.columns):
                continue
            if table.name in self.entities.names or self.words.speaks_of(plural(self.words.table(table.name))):
                yield table

    def noun(self, table: Table) -> str:
        """What one row of a table is called: as its names begin where the questions speak so (``student12``)."""
        thing = self.entities.thing(table.name)
        return self._stem(thing) or self.words.table(thing)

    def called(self, table: Table) -> str:
        """``{0}`` with what it is before it, unless the name itself says so."""
        return "{0}" if self._stem(self.entities.thing(table.name)) else f"the {self.noun(table)} {{0}}"

    def had_by(self, reference: Reference) -> tuple[str, str]:
        """How rows are told that have a given parent: with its plain name in ``{0}``, and with a phrase for it."""
        noun = self.noun(reference.parent)
        if f" {noun}".endswith(f" {reference.role}") and not self.is_lookup(reference.parent):
            return f"of {self.called(reference.parent)}", "of {0}"
        return f"whose {reference.role} is {{0}}", f"whose {reference.role} is {{0}}"

    def _stem(self, thing: str) -> str | None:
        if thing not in self._stems:
            names = self.entities.names.get(thing)
            values = self.entities.values(names.entity, _STEMS_SEEN) if names is not None else []
            numbered = [re.fullmatch(r"([a-z]{3,})[_ -]?\d+", str(value[0])) for value in values if len(value) == 1]
            stems = {match[1] if match else None for match in numbered}
            stem = stems.pop() if len(stems) == 1 else None
            self._stems[thing] = stem if stem is not None and self.words.speaks_of(plural(stem)) else None
        return self._stems[thing]

    def details(self) -> Iterator[Reference]:
        """The references of tables that only tell more about a thing: they hold its name, and no other reference."""
        for reference in self._references:
            names = self.entities.names.get(reference.parent.name)
            if names is None or names.columns != (reference.parent_column,):
                continue
            table = reference.table.name
            own = self.entities.thing(table) if table in self.entities.names else reference.parent.name
            if own != self.entities.thing(reference.parent.name) or self.words.speaks_of(
                plural(self.words.table(table))
            ):
                continue
            if sum(r.table.name == reference.table.name for r in self._references) == 1:
                yield reference

    def references(self, table: Table) -> list[Reference]:
        """The references of a table to things that have a name, itself not being that name."""
        names = self.entities.names.get(table.name)
        own = names.columns if names is not None else ()
        return [
            r
            for r in self._references
            if r.table.name == table.name and r.parent.name in self.entities.names and r.column not in own
        ]

    def links(self) -> Iterator[list[Reference]]:
        """The references of every table that only connects two others."""
        for table in self.schema.tables:
            references = [r for r in self._references if r.table.name == table.name]
            if self.is_link(table):
                yield references[:2]

    def number(self, sql: str, takes: Entity, text: str, merged: str | None = None) -> Iterator[HopTemplate]:
        """The hop of a SELECT that gives a number."""
        yield from self.made(sql, takes=takes, gives=None, asked=text, merged=merged, noun="number")

    def made(
        self,
        sql: str,
        *,
        takes: Entity,
        gives: Entity | None,
        asked: str,
        noun: str,
        merged: str | None = None,
        phrase: str | None = None,
        phrase_merged: str | None = None,
    ) -> Iterator[HopTemplate]:
        """The hop of a SELECT in which ``'x'`` stands for what the slot takes; none where it makes no endpoint."""
        try:
            template = make_template(sql, self.schema)
        except NotBuildable:
            return
        by_column = {bound.source: name for name, bound in template.bounds.items() if bound.equality}
        if any(column not in by_column for column in takes):
            return
        yield HopTemplate(
            template=template,
            slot=tuple(by_column[column] for column in takes),
            takes=takes,
            gives=gives,
            asked=asked,
            merged=merged or asked,
            phrase_asked=phrase if gives else None,
            phrase_merged=(phrase_merged or phrase) if gives else None,
            noun=noun,
            from_schema=True,
        )

    def _find_references(self) -> list[Reference]:
        found: list[Reference] = []
        for key in self.schema.foreign_keys:
            table, parent = self.schema.table(key.table), self.schema.table(key.parent)
            column, target = table.column(key.column), parent.column(key.parent_column)
            if column is None or target is None or not target.unique or table.name == parent.name:
                continue
            role = self.words.role(column.name)
            names = self.entities.names.get(parent.name)
            if (names is not None and column.name in names.columns) or role in ("name", "", "person"):
                role = self.noun(parent)
            if any(r.table.name == table.name and r.column == column.name for r in found) or len(role) < 3:
                continue
            found.append(
                Reference(table=table, column=column.name, parent=parent, parent_column=target.name, role=role)
            )
        return found

    def is_link(self, table: Table) -> bool:
        """Whether a table only connects two others: at most one column besides its two references."""
        keys = {r.column for r in self._references if r.table.name == table.name}
        others = [c for c in table.columns if c.name not in keys and not c.unique]
        return len(keys) == 2 and len(others) <= 1

    def can_be_told(self, table: Table, column: Column) -> bool:
        """Whether a column holds something that a question can ask for."""
        source = SourceColumn(table=table.name, column=column.name)
        if self.entities.is_surrogate(source) or len(self.words.words(column.name)) < 3:
            return False
        values = self._few_values(table, column)
        if values and all(str(v).lower() in _FLAGS for v in values):
            return False
        longest = self._connection.execute(
            f"SELECT MAX(LENGTH({quoted(column.name)})) FROM (SELECT {quoted(column.name)} FROM {quoted(table.name)} "
            f"LIMIT {_SAMPLE})"
        ).fetchone()[0]
        return longest is not None and longest <= 60

    def is_measure(self, table: Table, column: Column) -> bool:
        """Whether a column holds amounts that can be ranked and averaged."""
        if column.type == "string" or column.unique or self._is_reference(table, column):
            return False
        if _NOT_MEASURED.search(self.words.words(column.name)):
            return False
        values = self._few_values(table, column)
        return len(values) > 3 and all(isinstance(v, int | float) for v in values)

    def follows_from(self, source: str, given: str, wanted: str) -> bool:
        """Whether what is given leaves nearly always one choice of what is wanted, or all rows have nearly the same:
        then nobody asks for the most common. ``source`` is SQL from FROM on, the others are columns in it."""
        rows = self._connection.execute(
            f"SELECT given, wanted, COUNT(*) FROM (SELECT {given} AS given, {wanted} AS wanted {source} "
            f"LIMIT {_SAMPLE}) WHERE given IS NOT NULL AND wanted IS NOT NULL GROUP BY given, wanted"
        ).fetchall()
        groups: dict[object, int] = {}
        totals: dict[object, int] = {}
        for group, value, number in rows:
            groups[group] = groups.get(group, 0) + 1
            totals[value] = totals.get(value, 0) + number
        alone = sum(1 for number in groups.values() if number == 1)
        whole = sum(totals.values())
        return not whole or alone >= _NEARLY * len(groups) or max(totals.values()) >= _NEARLY * whole

    def is_lookup(self, table: Table) -> bool:
        """Whether a table only lists words: a key and a name."""
        names = self.entities.names.get(table.name)
        return names is not None and all(c.unique or c.name in names.columns for c in table.columns)

    def is_positive(self, table: Table, column: Column) -> bool:
        """Whether no value is zero or less: zero often stands for a value that is missing."""
        lowest = self._connection.execute(f"SELECT MIN({quoted(column.name)}) FROM {quoted(table.name)}").fetchone()[0]
        return isinstance(lowest, int | float) and lowest > 0

    def is_category(self, table: Table, column: Column) -> bool:
        """Whether a column holds few different words that many rows share."""
        words = self.words.column(column.name, table.name)
        if column.type != "string" or self._is_reference(table, column) or singular(words) != words:
            return False
        values = self._few_values(table, column)
        share = self.entities.share_of_distinct((SourceColumn(table=table.name, column=column.name),))
        telling = [v for v in values if isinstance(v, str) and v.lower() not in _FLAGS and len(v) <= 40]
        return len(telling) >= 2 and len(values) <= _MOST_CATEGORIES and share < 0.5

    def _few_values(self, table: Table, column: Column) -> list[object]:
        name = quoted(column.name)
        rows = self._connection.execute(
            f"SELECT DISTINCT {name} FROM {quoted(table.name)} WHERE {name} IS NOT NULL LIMIT {_MOST_CATEGORIES + 1}"
        )
        return [row[0] for row in rows]

    def _is_reference(self, table: Table, column: Column) -> bool:
        return any(r.table.name == table.name and r.column == column.name for r in self._references)


def columns_of(alias: str, names: tuple[str, ...]) -> str:
    """Columns of an alias as a projection."""
    return ", ".join(f"{alias}.{quoted(n)}" for n in names)


def named(alias: str, names: tuple[str, ...]) -> str:
    """The condition that columns of an alias hold what a slot takes."""
    return " AND ".join(f"{alias}.{quoted(n)} = 'x'" for n in names)


def join(reference: Reference, alias: str = "p") -> str:
    """The JOIN of a reference's parent under an alias to the table that is called ``t``."""
    return (
        f"INNER JOIN {quoted(reference.parent.name)} AS {alias} "
        f"ON t.{quoted(reference.column)} = {alias}.{quoted(reference.parent_column)}"
    )
