"""Hops that only a document answers: questions made from sentences that begin with a thing that the database names.

``Dark Horse Comics was founded in 1986 by Mike Richardson.`` gives ``In which year was Dark Horse Comics founded?``,
``By whom was Dark Horse Comics founded in 1986?`` and, with the thing as the answer, ``Which publisher was founded
in 1986
by Mike Richardson?``. Questions that an author states with a passage are taken as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from toolenv.build.entities import Entities, Entity
from toolenv.build.questions import StatedFact
from toolenv.build.source import Passage
from toolenv.build.words import Vocabulary, find_slot, noun_phrase, sentence
from toolenv.model import Json, Value
from toolenv.values import occurs

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])")
_FINITE = re.compile(
    r"^(?:was|is|has|had|became|grew|began|took|takes|makes|gives|got|came|comes|goes|went|stands|lies|rose|won|wrote"
    r"|first [a-z]+ed|[a-z]+ed|works|lives|belongs|serves|holds|bears)\b"
)
_YEAR = re.compile(r"\bin (?:[A-Z][a-z]+ )?(?P<year>1[5-9]\d\d|20\d\d)\b")
_BY = re.compile(r"\bby (?P<who>(?:[A-Z][\w.'’-]*)(?: (?:[A-Z][\w.'’-]*|de|van|von|der))*)")
_PLACE = re.compile(r"\bin (?P<where>[A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*)*(?:, [A-Z][\w.'’-]*)?)(?=[,.;]|$| [a-z])")
_MORE = re.compile(r",? (?:and|&|or) [A-Z]|, [A-Z]")
_PERSONAL = re.compile(r"^(?:was born|died|married|studied|taught|grew up|was educated)\b")
_PRONOUN = re.compile(r"\b(?:it|he|she|they|its|his|her|their|this|that one)\b", re.IGNORECASE)
_MONTHS = frozenset(
    [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ]
)
_SETTLED = frozenset(
    [
        "founded",
        "born",
        "located",
        "built",
        "established",
        "based",
        "held",
        "opened",
        "set",
        "made",
        "created",
        "developed",
    ]
)
_SHORTEST_REST, _LONGEST_REST = 4, 22
_MOST_NAMES = 5000


def split_sentences(text: str) -> list[str]:
    """The sentences of a passage."""
    return _SENTENCE_END.split(text)


class PassageHop(Value, frozen=True):
    """One question that one passage answers.

    ``about`` is the entity and value of the thing that stands in the slot of ``merged``, None where nothing does.
    ``gives``
    is the entity of the answer where the database knows it; ``phrase`` stands for it, ``phrase_merged`` with the slot.
    """

    doc_id: str
    asked: str
    answer: str
    about: tuple[Entity, tuple[Json, ...]] | None = None
    merged: str = ""
    gives: tuple[Entity, tuple[Json, ...]] | None = None
    phrase: str | None = None
    phrase_merged: str | None = None
    noun: str = "answer"


class _Named(Value, frozen=True):
    entity: Entity
    values: tuple[Json, ...]
    noun: str


class PassageHops:
    """Makes the hops of a domain's passages."""

    def __init__(self, entities: Entities, vocabulary: Vocabulary) -> None:
        self._names: dict[str, _Named] = {}
        for name in entities.names.values():
            noun = vocabulary.table(entities.thing(name.table))
            for values in entities.values(name.entity, _MOST_NAMES):
                text = " ".join(str(v) for v in values)
                if len(text) > 2:
                    self._names.setdefault(text, _Named(entity=name.entity, values=values, noun=noun))
        self._longest_first = sorted(self._names, key=lambda text: (-len(text), text))

    def all(self, passages: Iterable[Passage], facts: Sequence[StatedFact]) -> Iterator[PassageHop]:
        """Every hop, in the order of the passages."""
        for passage in passages:
            for fact in facts:
                if fact.doc_id == passage.doc_id and occurs(fact.answer, passage.text):
                    yield self._stated(fact)
            for text in split_sentences(passage.text):
                yield from self._of_sentence(passage, text)

    def _stated(self, fact: StatedFact) -> PassageHop:
        text = sentence(fact.question)
        known = self._names.get(fact.answer)
        gives = (known.entity, known.values) if known is not None else None
        noun = known.noun if known is not None else "answer"
        for name in self._inside(text):
            named = self._names[name]
            slot = find_slot(text, name, [named.noun])
            if slot is not None and name != fact.answer:
                return PassageHop(
                    doc_id=fact.doc_id,
                    asked=text,
                    answer=fact.answer,
                    about=(named.entity, named.values),
                    merged=sentence(slot.wide),
                    gives=gives,
                    phrase=noun_phrase(text) if gives else None,
                    phrase_merged=noun_phrase(slot.wide) if gives else None,
                    noun=noun,
                )
        return PassageHop(
            doc_id=fact.doc_id,
            asked=text,
            answer=fact.answer,
            gives=gives,
            phrase=noun_phrase(text) if gives else None,
            noun=noun,
        )

    def _of_sentence(self, passage: Passage, text: str) -> Iterator[PassageHop]:
        subject = next((n for n in self._longest_first if text.startswith(f"{n} ")), None)
        if subject is None or "{" in text:
            return
        rest = text[len(subject) + 1 :].rstrip(".!?;: ")
        if not _FINITE.match(rest) or occurs(subject, rest):
            return
        named = self._names[subject]
        yield from self._about_subject(passage, subject, named, rest)
        if _SHORTEST_REST <= len(rest.split()) <= _LONGEST_REST and not _PRONOUN.search(rest) and ", " not in rest:
            yield self._gives_subject(passage, subject, named, rest)

    def _about_subject(self, passage: Passage, subject: str, named: _Named, rest: str) -> Iterator[PassageHop]:
        passive = re.match(
            r"^(?P<be>was|is|were) (?P<did>[a-z]+(?:ed|en|wn|ilt|ade|ung|old|ought))\b(?P<tail>.*)$", rest
        )
        if passive is None:
            return
        be, did, tail = passive["be"], passive["did"], passive["tail"]
        for pattern, group, asking in (
            (_YEAR, "year", "In which year"),
            (_BY, "who", "By whom"),
            (_PLACE, "where", "Where"),
        ):
            found = pattern.search(tail)
            if found is None or found[group].lower() in _MONTHS or found[group].split(" ")[0].lower() in _MONTHS:
                continue
            if _MORE.match(tail[found.end() :]):
                # Of several names one is not the answer.
                continue
            kept = tail[: found.start()].rstrip(" ,")
            if asking == "Where" and did not in _SETTLED:
                continue
            if (
                "," in kept
                or _PRONOUN.search(kept)
                or len(kept.split()) > 8
                or self._names.get(found[group]) is not None
            ):
                continue
            text = f"{asking} {be} {{0}} {did}{kept}?"
            yield PassageHop(
                doc_id=passage.doc_id,
                asked=text.replace("{0}", subject),
                answer=found[group],
                about=(named.entity, named.values),
                merged=text,
            )

    def _gives_subject(self, passage: Passage, subject: str, named: _Named, rest: str) -> PassageHop:
        # What only people do makes a person of whatever the table is for.
        noun = "person" if _PERSONAL.match(rest) else named.noun
        opening = "Who" if noun == "person" else f"Which {noun}"
        binding = "who" if noun == "person" else "that"
        asked = f"{opening} {rest}?"
        about, merged = None, asked
        for name in self._inside(rest):
            slot = find_slot(asked, name, [self._names[name].noun])
            if slot is not None:
                about, merged = (self._names[name].entity, self._names[name].values), slot.wide
                break
        return PassageHop(
            doc_id=passage.doc_id,
            asked=asked,
            answer=subject,
            about=about,
            merged=merged,
            gives=(named.entity, named.values),
            phrase=f"the {noun} {binding} {rest}",
            phrase_merged=f"the {noun} {binding} {merged.removeprefix(f'{opening} ').rstrip('?')}",
            noun=noun,
        )

    def _inside(self, text: str) -> Iterator[str]:
        return (name for name in self._longest_first if name in text and occurs(name, text))
