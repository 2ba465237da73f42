"""Hop templates that a schema alone suggests: attributes, parents, counts and extremes of the things it names."""

from __future__ import annotations

from collections.abc import Iterator

from toolenv.build.database_schema import Table, quoted
from toolenv.build.grammar import amount, superlatives, without_unit
from toolenv.build.hops import HopTemplate
from toolenv.build.schema_reading import Reference, SchemaReading, columns_of, join, named
from toolenv.build.template import SourceColumn
from toolenv.build.words import plural


def _linked_number(nouns: str, thing: str, *, has: bool) -> str:
    return f"How many {nouns} does {thing} have?" if has else f"How many {nouns} are connected with {thing}?"


def _counted(nouns: str, told: str) -> str:
    """The question for the number of things that have something: ``of`` a thing or ``whose`` something is it."""
    if told.startswith("of "):
        return f"How many {nouns} does {told.removeprefix('of ')} have?"
    return f"How many {nouns} are there {told}?"


class _Ranked:
    """The words in which things are ranked by a measure."""

    def __init__(self, noun: str, measure: str) -> None:
        self._noun = noun
        self._measure = without_unit(amount(measure))
        self._adjectives = superlatives(measure)

    def asked(self, most: bool, among: str = "") -> str:
        """The question for the first of all, or of those that ``among`` (``whose ...``) leaves."""
        if self._adjectives is not None:
            return f"Which {self._noun} is the {self._adjectives[not most]}{self._left(among)}?"
        return f"Which {self._noun} has the {self._word(most)} {self._measure}{self._left(among)}?"

    def phrase(self, most: bool, among: str = "") -> str:
        if self._adjectives is not None:
            return f"the {self._adjectives[not most]} {self._noun}{self._left(among)}"
        return f"the {self._noun} with the {self._word(most)} {self._measure}{self._left(among)}"

    def _left(self, among: str) -> str:
        return f" among the {plural(self._noun)} {among}" if among else ""

    def _word(self, most: bool) -> str:
        return "highest" if most else "lowest"


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
        for first, second in self._reading.links():
            yield from self._linked(first, second, has=True)
            yield from self._linked(second, first, has=False)

    def _attributes(self, table: Table) -> Iterator[HopTemplate]:
        names = self._entities.names[table.name]
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
                asked=f"What is the {amount(words)} of {self._reading.called(table)}?",
                merged=f"What is the {amount(words)} of {{0}}?",
                phrase=f"the {amount(words)} of {self._reading.called(table)}",
                phrase_merged=f"the {amount(words)} of {{0}}",
                noun=words,
            )

    def _parents(self, table: Table) -> Iterator[HopTemplate]:
        names = self._entities.names[table.name]
        for reference in self._reading.references(table):
            parent = self._entities.names[reference.parent.name]
            yield from self._reading.made(
                f"SELECT {columns_of('p', parent.columns)} FROM {quoted(table.name)} AS t {join(reference)} "
                f"WHERE {named('t', names.columns)}",
                takes=names.entity,
                gives=parent.entity,
                asked=f"What is the {reference.role} of {self._reading.called(table)}?",
                merged=f"What is the {reference.role} of {{0}}?",
                phrase=f"the {reference.role} of {self._reading.called(table)}",
                phrase_merged=f"the {reference.role} of {{0}}",
                noun=reference.role,
            )

    def _extremes(self, table: Table) -> Iterator[HopTemplate]:
        names = self._entities.names[table.name]
        noun = self._reading.noun(table)
        for column in table.columns:
            if not self._reading.is_measure(table, column):
                continue
            ranked = _Ranked(noun, self._words.column(column.name, table.name))
            for most, direction in ((True, "DESC"), (False, "ASC")):
                order = f"t.{quoted(column.name)} IS NOT NULL"
                last = f"ORDER BY t.{quoted(column.name)} {direction} LIMIT 1"
                if direction == "ASC" and not self._reading.is_positive(table, column):
                    continue
                yield from self._reading.made(
                    f"SELECT {columns_of('t', names.columns)} FROM {quoted(table.name)} AS t WHERE {order} {last}",
                    takes=(),
                    gives=names.entity,
                    asked=ranked.asked(most),
                    phrase=ranked.phrase(most),
                    noun=noun,
                )
                for reference in self._reading.references(table):
                    parent = self._entities.names[reference.parent.name]
                    among, among_merged = self._reading.had_by(reference)
                    yield from self._reading.made(
                        f"SELECT {columns_of('t', names.columns)} FROM {quoted(table.name)} AS t {join(reference)} "
                        f"WHERE {named('p', parent.columns)} AND {order} {last}",
                        takes=parent.entity,
                        gives=names.entity,
                        asked=ranked.asked(most, among),
                        merged=ranked.asked(most, among_merged),
                        phrase=ranked.phrase(most, among),
                        phrase_merged=ranked.phrase(most, among_merged),
                        noun=noun,
                    )

    def _counts(self, table: Table) -> Iterator[HopTemplate]:
        nouns = plural(self._reading.noun(table))
        for reference in self._reading.references(table):
            parent = self._entities.names[reference.parent.name]
            where = f"FROM {quoted(table.name)} AS t {join(reference)} WHERE {named('p', parent.columns)}"
            told, merged = self._reading.had_by(reference)
            yield from self._reading.number(
                f"SELECT COUNT(*) {where}",
                parent.entity,
                _counted(nouns, told),
                _counted(nouns, merged),
            )
            for column in table.columns:
                if self._reading.is_measure(table, column):
                    words = amount(self._words.column(column.name, table.name))
                    yield from self._reading.number(
                        f"SELECT AVG(t.{quoted(column.name)}) {where}",
                        parent.entity,
                        f"What is the average {words} of the {nouns} {told}?",
                        f"What is the average {words} of the {nouns} {merged}?",
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
                    asked=f"What is the {amount(words)} of {reading.called(reference.parent)}?",
                    merged=f"What is the {amount(words)} of {{0}}?",
                    phrase=f"the {words} of {reading.called(reference.parent)}",
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
                        both = (
                            f"FROM {quoted(table.name)} AS t INNER JOIN {quoted(other.table.name)} AS u "
                            f"ON t.{quoted(reference.column)} = u.{quoted(other.column)}"
                        )
                        if reading.follows_from(both, f"t.{quoted(column.name)}", f"u.{quoted(second.name)}"):
                            continue
                        wanted = self._words.column(second.name, other.table.name)
                        which = f"the most common {wanted} among the {plural(noun)} whose {words} is {{0}}"
                        yield from reading.made(
                            f"SELECT u.{quoted(second.name)} {both} WHERE t.{quoted(column.name)} = 'x' "
                            f"GROUP BY u.{quoted(second.name)} ORDER BY COUNT(*) DESC LIMIT 1",
                            takes=(source,),
                            gives=(SourceColumn(table=other.table.name, column=second.name),),
                            asked=f"What is {which}?",
                            phrase=which,
                            noun=wanted,
                        )

    def _linked(self, here: Reference, there: Reference, *, has: bool) -> Iterator[HopTemplate]:
        """How many of the one go with one of the other. A link's first reference is what ``has`` the second."""
        names = self._entities.names.get(here.parent.name)
        if names is None or here.parent.name == there.parent.name:
            return
        noun, nouns = self._reading.noun(here.parent), plural(self._reading.noun(there.parent))
        source = f"FROM {quoted(here.table.name)} AS t {join(here)}"
        yield from self._reading.made(
            f"SELECT COUNT(*) {source} WHERE {named('p', names.columns)}",
            takes=names.entity,
            gives=None,
            asked=_linked_number(nouns, self._reading.called(here.parent), has=has),
            merged=_linked_number(nouns, "{0}", has=has),
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
