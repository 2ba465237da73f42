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
    told: str
    told_merged: str
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
        both = f"FROM {quoted(table.name)} AS t {given.join} {wanted.join}"
        source = f"{both} WHERE {named(given.alias, given.columns)}"
        if len(given.columns) == len(wanted.columns) == 1 and self._reading.follows_from(
            both, columns_of(given.alias, given.columns), columns_of(wanted.alias, wanted.columns)
        ):
            return
        ranking = (
            f"SELECT {columns_of(wanted.alias, wanted.columns)} {source} "
            f"GROUP BY {columns_of(wanted.alias, wanted.columns)} ORDER BY COUNT(*) DESC LIMIT 1"
        )
        if wanted.is_parent and not wanted.noun.endswith(given.noun):
            yield from self._reading.made(
                ranking,
                takes=given.entity,
                gives=wanted.entity,
                asked=f"Which {wanted.noun} has the most {nouns} {given.told}?",
                merged=f"Which {wanted.noun} has the most {nouns} {given.told_merged}?",
                phrase=f"the {wanted.noun} with the most {nouns} {given.told}",
                phrase_merged=f"the {wanted.noun} with the most {nouns} {given.told_merged}",
                noun=wanted.noun,
            )
            if len(wanted.columns) == 1:
                lookup = self._reading.is_lookup(self._reading.schema.table(wanted.entity[0].table))
                things = plural(wanted.noun)
                opening = f"How many different {things} are there among the" if lookup else f"How many {things} have"
                yield from self._reading.number(
                    f"SELECT COUNT(DISTINCT {wanted.alias}.{quoted(wanted.columns[0])}) {source}",
                    given.entity,
                    f"{opening} {nouns} {given.told}?",
                    f"{opening} {nouns} {given.told_merged}?",
                )
        else:
            which = f"the most common {wanted.words} among the {nouns}"
            yield from self._reading.made(
                ranking,
                takes=given.entity,
                gives=wanted.entity,
                asked=f"What is {which} {given.told}?",
                merged=f"What is {which} {given.told_merged}?",
                phrase=f"{which} {given.told}",
                phrase_merged=f"{which} {given.told_merged}",
                noun=wanted.words,
            )

    def _sides(self, table: Table) -> Iterator[_Side]:
        reading = self._reading
        for number, reference in enumerate(reading.references(table)):
            names = reading.entities.names[reference.parent.name]
            noun = reading.noun(reference.parent)
            told, merged = reading.had_by(reference)
            alias = f"p{number}"
            yield _Side(
                entity=names.entity,
                alias=alias,
                columns=names.columns,
                join=join(reference, alias),
                words=reference.role,
                told=told,
                told_merged=merged,
                noun=noun,
                is_parent=reference.role == noun,
            )
        own = reading.entities.names.get(table.name)
        for column in table.columns:
            if (own is None or column.name not in own.columns) and reading.is_category(table, column):
                words = reading.words.column(column.name, table.name)
                yield _Side(
                    entity=(SourceColumn(table=table.name, column=column.name),),
                    alias="t",
                    columns=(column.name,),
                    join="",
                    words=words,
                    told=f"whose {words} is {{0}}",
                    told_merged=f"whose {words} is {{0}}",
                    noun=words,
                    is_parent=False,
                )
