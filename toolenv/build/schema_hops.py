"""Hop templates that a schema alone suggests: attributes, parents, counts and extremes of the things it names."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from toolenv.build.database_schema import Table, quoted
from toolenv.build.hops import HopTemplate
from toolenv.build.schema_reading import Reference, SchemaReading, columns_of, join, named
from toolenv.build.template import SourceColumn
from toolenv.build.words import plural


class SchemaHops:
    """Makes the hop templates of one database."""

    def __init__(self, reading: SchemaReading) -> None:
        self._reading = reading
        self._entities = reading.entities
        self._words = reading.words

    def all(self) -> Iterator[HopTemplate]:
        """Every hop, in an order that depends on the schema alone."""
        for table in self._reading.tables():
            if table.name in self._entities.names:
                yield from self._attributes(table)
                yield from self._parents(table)
                yield from self._extremes(table)
            if not self._reading.is_link(table):
                yield from self._counts(table)
        for one in self._reading.details():
            yield from self._details(one)
        for here, there in (pair for link in self._reading.links() for pair in permutations(link, 2)):
            yield from self._linked(here, there)

    def _attributes(self, table: Table) -> Iterator[HopTemplate]:
        names = self._entities.names[table.name]
        noun = self._reading.noun(table)
        keys = {r.column for r in self._reading.references(table)} | set(names.columns)
        for column in table.columns:
            if column.name in keys or not self._reading.can_be_told(table, column):
                continue
            words = self._words.column(column.name, table.name)
            gives = (SourceColumn(table=table.name, column=column.name),)
            speakable = column.type == "string" and not self._entities.is_surrogate(gives[0])
            yield from self._reading.made(
                f"SELECT t.{quoted(column.name)} FROM {quoted(table.name)} AS t WHERE {named('t', names.columns)}",
                takes=names.entity,
                gives=gives if speakable else None,
                asked=f"What is the {words} of the {noun} {{0}}?",
                merged=f"What is the {words} of {{0}}?",
                phrase=f"the {words} of the {noun} {{0}}",
                phrase_merged=f"the {words} of {{0}}",
                noun=words,
            )

    def _parents(self, table: Table) -> Iterator[HopTemplate]:
        names = self._entities.names[table.name]
        noun = self._reading.noun(table)
        for reference in self._reading.references(table):
            parent = self._entities.names[reference.parent.name]
            yield from self._reading.made(
                f"SELECT {columns_of('p', parent.columns)} FROM {quoted(table.name)} AS t {join(reference)} "
                f"WHERE {named('t', names.columns)}",
                takes=names.entity,
                gives=parent.entity,
                asked=f"What is the {reference.role} of the {noun} {{0}}?",
                merged=f"What is the {reference.role} of {{0}}?",
                phrase=f"the {reference.role} of the {noun} {{0}}",
                phrase_merged=f"the {reference.role} of {{0}}",
                noun=reference.role,
            )

    def _extremes(self, table: Table) -> Iterator[HopTemplate]:
        names = self._entities.names[table.name]
        noun = self._reading.noun(table)
        for column in table.columns:
            if not self._reading.is_measure(table, column):
                continue
            words = self._words.column(column.name, table.name)
            for word, direction in (("highest", "DESC"), ("lowest", "ASC")):
                order = f"t.{quoted(column.name)} IS NOT NULL"
                last = f"ORDER BY t.{quoted(column.name)} {direction} LIMIT 1"
                if direction == "ASC" and not self._reading.is_positive(table, column):
                    continue
                yield from self._reading.made(
                    f"SELECT {columns_of('t', names.columns)} FROM {quoted(table.name)} AS t WHERE {order} {last}",
                    takes=(),
                    gives=names.entity,
                    asked=f"Which {noun} has the {word} {words}?",
                    merged=f"Which {noun} has the {word} {words}?",
                    phrase=f"the {noun} with the {word} {words}",
                    phrase_merged=f"the {noun} with the {word} {words}",
                    noun=noun,
                )
                for reference in self._reading.references(table):
                    parent = self._entities.names[reference.parent.name]
                    of = f"{words} among the {plural(noun)} whose {reference.role} is {{0}}"
                    yield from self._reading.made(
                        f"SELECT {columns_of('t', names.columns)} FROM {quoted(table.name)} AS t {join(reference)} "
                        f"WHERE {named('p', parent.columns)} AND {order} {last}",
                        takes=parent.entity,
                        gives=names.entity,
                        asked=f"Which {noun} has the {word} {of}?",
                        merged=f"Which {noun} has the {word} {of}?",
                        phrase=f"the {noun} with the {word} {of}",
                        phrase_merged=f"the {noun} with the {word} {of}",
                        noun=noun,
                    )

    def _counts(self, table: Table) -> Iterator[HopTemplate]:
        nouns = plural(self._reading.noun(table))
        for reference in self._reading.references(table):
            parent = self._entities.names[reference.parent.name]
            where = f"FROM {quoted(table.name)} AS t {join(reference)} WHERE {named('p', parent.columns)}"
            yield from self._reading.number(
                f"SELECT COUNT(*) {where}",
                parent.entity,
                f"How many {nouns} are there whose {reference.role} is {{0}}?",
            )
            for column in table.columns:
                if self._reading.is_measure(table, column):
                    words = self._words.column(column.name, table.name)
                    yield from self._reading.number(
                        f"SELECT AVG(t.{quoted(column.name)}) {where}",
                        parent.entity,
                        f"What is the average {words} of the {nouns} whose {reference.role} is {{0}}?",
                    )
        names = self._entities.names.get(table.name)
        for column in table.columns:
            entity = (SourceColumn(table=table.name, column=column.name),)
            if names is not None and column.name in names.columns:
                continue
            if self._reading.is_category(table, column):
                words = self._words.column(column.name, table.name)
                yield from self._reading.number(
                    f"SELECT COUNT(*) FROM {quoted(table.name)} AS t WHERE t.{quoted(column.name)} = 'x'",
                    entity,
                    f"How many {nouns} are there whose {words} is {{0}}?",
                )

    def _details(self, reference: Reference) -> Iterator[HopTemplate]:
        """What a table tells about a thing that it only names: its columns, and what goes together with what."""
        table, reading = reference.table, self._reading
        noun = reading.noun(reference.parent)
        told = [c for c in table.columns if c.name != reference.column and reading.can_be_told(table, c)]
        for column in told:
            words = self._words.column(column.name, table.name)
            source = SourceColumn(table=table.name, column=column.name)
            if table.name not in self._entities.names:
                yield from reading.made(
                    f"SELECT t.{quoted(column.name)} FROM {quoted(table.name)} AS t "
                    f"WHERE t.{quoted(reference.column)} = 'x'",
                    takes=(SourceColumn(table=table.name, column=reference.column),),
                    gives=(source,) if column.type == "string" else None,
                    asked=f"What is the {words} of the {noun} {{0}}?",
                    merged=f"What is the {words} of {{0}}?",
                    phrase=f"the {words} of the {noun} {{0}}",
                    phrase_merged=f"the {words} of {{0}}",
                    noun=words,
                )
                if reading.is_category(table, column):
                    yield from reading.number(
                        f"SELECT COUNT(*) FROM {quoted(table.name)} AS t WHERE t.{quoted(column.name)} = 'x'",
                        (source,),
                        f"How many {plural(noun)} are there whose {words} is {{0}}?",
                    )
            for other in reading.details():
                if other.parent.name != reference.parent.name or other.table.name == table.name:
                    continue
                for second in other.table.columns:
                    if reading.is_category(table, column) and reading.is_category(other.table, second):
                        wanted = self._words.column(second.name, other.table.name)
                        which = f"the most common {wanted} among the {plural(noun)} whose {words} is {{0}}"
                        yield from reading.made(
                            f"SELECT u.{quoted(second.name)} FROM {quoted(table.name)} AS t INNER JOIN "
                            f"{quoted(other.table.name)} AS u "
                            f"ON t.{quoted(reference.column)} = u.{quoted(other.column)} "
                            f"WHERE t.{quoted(column.name)} = 'x' GROUP BY u.{quoted(second.name)} "
                            f"ORDER BY COUNT(*) DESC LIMIT 1",
                            takes=(source,),
                            gives=(SourceColumn(table=other.table.name, column=second.name),),
                            asked=f"What is {which}?",
                            phrase=which,
                            noun=wanted,
                        )

    def _linked(self, here: Reference, there: Reference) -> Iterator[HopTemplate]:
        names = self._entities.names.get(here.parent.name)
        if names is None or here.parent.name == there.parent.name:
            return
        noun, nouns = self._words.table(here.parent.name), plural(self._words.table(there.parent.name))
        source = f"FROM {quoted(here.table.name)} AS t {join(here)}"
        yield from self._reading.made(
            f"SELECT COUNT(*) {source} WHERE {named('p', names.columns)}",
            takes=names.entity,
            gives=None,
            asked=f"How many {nouns} does the {noun} {{0}} have?",
            merged=f"How many {nouns} does {{0}} have?",
            noun="number",
        )
        yield from self._reading.made(
            f"SELECT {columns_of('p', names.columns)} {source} "
            f"GROUP BY {columns_of('p', names.columns)} ORDER BY COUNT(*) DESC LIMIT 1",
            takes=(),
            gives=names.entity,
            asked=f"Which {noun} has the most {nouns}?",
            phrase=f"the {noun} with the most {nouns}",
            noun=noun,
        )
