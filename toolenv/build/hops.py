"""Hop templates: questions that can be a hop of a chain, with the place where another hop's answer goes in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from toolenv.build.database_schema import DatabaseSchema
from toolenv.build.entities import Entities, Entity
from toolenv.build.grammar import is_sound, names_one, plainly, without_name
from toolenv.build.source import NotBuildable, Question
from toolenv.build.template import SourceColumn, Template, make_template
from toolenv.build.words import Vocabulary, asks_once, find_slot, noun_phrase, sentence, singular
from toolenv.model import Json, Value


class HopTemplate(Value, frozen=True):
    """One question with at most one slot, ``{0}``.

    ``slot`` are the parameters that the slot fills and ``takes`` the entity that they hold; both are empty for a
    question
    without a slot. ``gives`` is the entity of the answer, None where the answer names nothing. ``asked`` is the
    question
    with a plain value in its slot, ``merged`` with a phrase; ``phrase_asked`` and ``phrase_merged`` the same for the
    phrase
    that stands for the answer, None where there is none. ``noun`` is what the answer is called.
    """

    template: Template
    slot: tuple[str, ...]
    takes: Entity
    gives: Entity | None
    asked: str
    merged: str
    phrase_asked: str | None
    phrase_merged: str | None
    noun: str
    from_schema: bool


def question_hops(
    questions: Sequence[Question],
    schema: DatabaseSchema,
    entities: Entities,
    vocabulary: Vocabulary,
    answers_once: Callable[[str], bool],
    domain: str = "",
) -> Iterator[HopTemplate]:
    """The hops that questions with their SQL make: one for every value that can be told in the wording.

    The name of the ``domain`` need not be told in a question about it. ``answers_once`` says of a gold SQL whether it
    has one row: a question that has several is worded for several.
    """
    nouns = [vocabulary.table(table.name) for table in schema.tables]
    tails = {noun.split(" ")[-1] for noun in nouns}
    for question in questions:
        try:
            template = make_template(question.sql, schema)
        except NotBuildable:
            continue
        text = without_name(question.question, domain, nouns) if domain else question.question
        text = plainly(text)
        if "{" in text or len(text) > 200 or not asks_once(text) or not is_sound(text):
            continue
        if not answers_once(question.sql):
            continue
        gives = _gives(template, entities)
        noun = _noun(gives, entities, vocabulary)
        found = False
        for names in _slot_candidates(template, entities):
            takes = tuple(template.bounds[n].source for n in names)
            value = " ".join(str(template.arguments[n]) for n in names)
            slot = find_slot(text, value, _callings(takes, entities, vocabulary))
            if slot is None or (len(names) == 1 and entities.is_surrogate(takes[0])):
                continue
            followed = re.search(r"\{0\} (\w+)", slot.wide)
            if followed is not None and singular(followed[1].lower()) in tails:
                # ``is Barq's beer sold``: the value is a part of another thing's name.
                continue
            found = True
            yield HopTemplate(
                template=template,
                slot=names,
                takes=takes,
                gives=gives,
                asked=sentence(slot.narrow),
                merged=sentence(slot.wide),
                phrase_asked=_phrase(slot.narrow, nouns) if gives else None,
                phrase_merged=_phrase(slot.wide, nouns) if gives else None,
                noun=noun,
                from_schema=False,
            )
        if not found and gives is not None:
            phrase = _phrase(text, nouns)
            if phrase is not None:
                text = sentence(text)
                yield HopTemplate(
                    template=template,
                    slot=(),
                    takes=(),
                    gives=gives,
                    asked=text,
                    merged=text,
                    phrase_asked=phrase,
                    phrase_merged=phrase,
                    noun=noun,
                    from_schema=False,
                )


def gold_joins(questions: Sequence[Question], schema: DatabaseSchema) -> list[tuple[SourceColumn, SourceColumn]]:
    """The pairs of columns that the gold SQL joins on: what keys tell where a database declares none."""
    from sqlglot import exp

    from toolenv.build.expressions import parse_select

    pairs: dict[tuple[SourceColumn, SourceColumn], None] = {}
    for question in questions:
        try:
            tree = parse_select(question.sql)
        except NotBuildable:
            continue
        tables = {(t.alias or t.name).lower(): t.name for t in tree.find_all(exp.Table)}
        for join in tree.find_all(exp.Join):
            on = join.args.get("on")
            if not isinstance(on, exp.EQ):
                continue
            sides = [_source(node, tables, schema) for node in (on.left, on.right)]
            if sides[0] is not None and sides[1] is not None and sides[0] != sides[1]:
                pairs[(sides[0], sides[1])] = None
    return list(pairs)


def with_literals(template: Template, arguments: Mapping[str, Json]) -> str:
    """The template's SQL with values in the place of its parameters."""
    import sqlglot
    from sqlglot import exp

    tree = sqlglot.parse_one(template.sql, read="sqlite")
    for placeholder in list(tree.find_all(exp.Placeholder)):
        placeholder.replace(_literal(arguments[placeholder.name]))
    return str(tree.sql("sqlite"))


def _literal(value: Json) -> Any:
    from sqlglot import exp

    if isinstance(value, str):
        return exp.Literal.string(value)
    literal = exp.Literal.number(repr(abs(value)))
    return exp.Neg(this=literal) if value < 0 else literal


def _source(node: Any, tables: Mapping[str, str], schema: DatabaseSchema) -> SourceColumn | None:
    from sqlglot import exp

    if not isinstance(node, exp.Column) or node.table.lower() not in tables:
        return None
    try:
        table = schema.table(tables[node.table.lower()])
    except NotBuildable:
        return None
    column = table.column(node.name)
    return SourceColumn(table=table.name, column=column.name) if column is not None else None


def _gives(template: Template, entities: Entities) -> Entity | None:
    outputs = template.outputs
    if not outputs or any(o is None for o in outputs) or len(outputs) > 2:
        return None
    found = tuple(o for o in outputs if o is not None)
    if len(found) == 2:
        names = entities.names.get(found[0].table)
        return found if names is not None and names.entity == found else None
    names = entities.names.get(found[0].table)
    if names is not None and len(names.columns) == 2 and found[0] in names.entity:
        return None
    return None if entities.is_surrogate(found[0]) else found


def _phrase(text: str, nouns: Sequence[str]) -> str | None:
    """A question as the phrase for its answer, where that names one thing."""
    phrase = noun_phrase(text)
    return phrase if phrase is not None and names_one(phrase, nouns) else None


def _slot_candidates(template: Template, entities: Entities) -> Iterator[tuple[str, ...]]:
    by_column: dict[SourceColumn, str] = {}
    for name, bound in template.bounds.items():
        if bound.equality:
            by_column.setdefault(bound.source, name)
    paired: set[str] = set()
    for names in entities.names.values():
        if len(names.columns) == 2 and all(c in by_column for c in names.entity):
            pair = tuple(by_column[c] for c in names.entity)
            paired |= set(pair)
            yield pair
    for bound_column, name in by_column.items():
        whole = entities.names.get(bound_column.table)
        part_of_pair = whole is not None and len(whole.columns) == 2 and bound_column in whole.entity
        if name not in paired and not part_of_pair:
            yield (name,)


def _callings(takes: Entity, entities: Entities, vocabulary: Vocabulary) -> list[str]:
    """What a value of an entity may be called: its table, its column, and the words of either's end."""
    nouns: dict[str, None] = {}
    for column in takes:
        root = entities.kind((column,))[0]
        for place in (column, root):
            table, name = vocabulary.table(place.table), vocabulary.column(place.column)
            bare = name.removesuffix(" name").removesuffix(" id")
            for noun in (table, name, bare, table.split(" ")[-1], bare.split(" ")[-1]):
                if len(noun) > 2 and noun not in ("name", "first", "last", "type", "number"):
                    nouns[noun] = None
    for noun in list(nouns):
        if noun.startswith("super"):
            nouns[noun.removeprefix("super")] = None
    return list(nouns)


def _noun(gives: Entity | None, entities: Entities, vocabulary: Vocabulary) -> str:
    if gives is None:
        return "answer"
    names = entities.names.get(gives[0].table)
    if names is not None and names.entity == gives:
        return vocabulary.table(entities.thing(gives[0].table))
    return vocabulary.column(gives[0].column, gives[0].table)
