"""Hop templates that lead from one thing to another by counting: who has the most, what is most common."""

from __future__ import annotations

from collections.abc import Iterator

from toolenv.build.database_schema import Table, quoted
from toolenv.build.entities import Entity
from toolenv.build.hops import HopTemplate
from toolenv.build.schema_reading import SchemaReading, columns_of, join, named
from toolenv.build.template import SourceColumn
from toolenv.build.words import plural
from toolenv.model import Value


class _Side(Value, frozen=True):
    """Something that rows of a table have: a parent or a category. ``columns`` and ``join`` are SQL over ``alias``."""

    entity: Entity
    alias: str
    columns: tuple[str, ...]
    join: str
    words: str
    noun: str
    is_parent: bool


class SchemaRankings:
    """Makes the ranking hops of one database."""

    def __init__(self, reading: SchemaReading) -> None:
        self._reading = reading

    def all(self) -> Iterator[HopTemplate]:
        """Every ranking, in an order that depends on the schema alone."""
        for table in self._reading.tables():
            if self._reading.is_link(table):
                continue
            nouns = plural(self._reading.noun(table))
            sides = list(self._sides(table))
            for side in sides:
                if side.is_parent:
                    yield from self._most(table, side, nouns)
                    yield from self._most_among(table, side, nouns)
                for other in sides:
                    if other is not side:
                        yield from self._pair(table, side, other, nouns)

    def _most(self, table: Table, side: _Side, nouns: str) -> Iterator[HopTemplate]:
        yield from self._reading.made(
            f"SELECT {columns_of(side.alias, side.columns)} FROM {quoted(table.name)} AS t {side.join} "
            f"GROUP BY {columns_of(side.alias, side.columns)} ORDER BY COUNT(*) DESC LIMIT 1",
            takes=(),
            gives=side.entity,
            asked=f"Which {side.noun} has the most {nouns}?",
            phrase=f"the {side.noun} with the most {nouns}",
            noun=side.noun,
        )

    def _most_among(self, table: Table, side: _Side, nouns: str) -> Iterator[HopTemplate]:
        """From what some parents share to the one of them that has the most."""
        reading = self._reading
        parent = reading.schema.table(side.entity[0].table)
        for column in parent.columns:
            if column.name in side.columns or not reading.is_category(parent, column):
                continue
            words = reading.words.column(column.name, parent.name)
            which = f"the most {nouns} among the {plural(side.noun)} whose {words} is {{0}}"
            yield from reading.made(
                f"SELECT {columns_of(side.alias, side.columns)} FROM {quoted(table.name)} AS t {side.join} "
                f"WHERE {named(side.alias, (column.name,))} "
                f"GROUP BY {columns_of(side.alias, side.columns)} ORDER BY COUNT(*) DESC LIMIT 1",
                takes=(SourceColumn(table=parent.name, column=column.name),),
                gives=side.entity,
                asked=f"Which {side.noun} has {which}?",
                phrase=f"the {side.noun} with {which}",
                noun=side.noun,
            )

    def _pair(self, table: Table, given: _Side, wanted: _Side, nouns: str) -> Iterator[HopTemplate]:
        """From what some rows share to what is most frequent among them."""
        source = f"FROM {quoted(table.name)} AS t {given.join} {wanted.join} WHERE {named(given.alias, given.columns)}"
        ranking = (
            f"SELECT {columns_of(wanted.alias, wanted.columns)} {source} "
            f"GROUP BY {columns_of(wanted.alias, wanted.columns)} ORDER BY COUNT(*) DESC LIMIT 1"
        )
        if wanted.is_parent and not wanted.noun.endswith(given.noun):
            which = f"the most {nouns} whose {given.words} is {{0}}"
            yield from self._reading.made(
                ranking,
                takes=given.entity,
                gives=wanted.entity,
                asked=f"Which {wanted.noun} has {which}?",
                phrase=f"the {wanted.noun} with {which}",
                noun=wanted.noun,
            )
            if len(wanted.columns) == 1:
                yield from self._reading.number(
                    f"SELECT COUNT(DISTINCT {wanted.alias}.{quoted(wanted.columns[0])}) {source}",
                    given.entity,
                    f"How many {plural(wanted.noun)} have {nouns} whose {given.words} is {{0}}?",
                )
        else:
            which = f"most common {wanted.words} among the {nouns} whose {given.words} is {{0}}"
            yield from self._reading.made(
                ranking,
                takes=given.entity,
                gives=wanted.entity,
                asked=f"What is the {which}?",
                phrase=f"the {which}",
                noun=wanted.words,
            )

    def _sides(self, table: Table) -> Iterator[_Side]:
        reading = self._reading
        for number, reference in enumerate(reading.references(table)):
            names = reading.entities.names[reference.parent.name]
            alias = f"p{number}"
            yield _Side(
                entity=names.entity,
                alias=alias,
                columns=names.columns,
                join=join(reference, alias),
                words=reference.role,
                noun=reading.words.table(reference.parent.name),
                is_parent=reference.role == reading.words.table(reference.parent.name),
            )
        own = reading.entities.names.get(table.name)
        for column in table.columns:
            if (own is None or column.name not in own.columns) and reading.is_category(table, column):
                yield _Side(
                    entity=(SourceColumn(table=table.name, column=column.name),),
                    alias="t",
                    columns=(column.name,),
                    join="",
                    words=reading.words.column(column.name, table.name),
                    noun=reading.words.column(column.name, table.name),
                    is_parent=False,
                )
