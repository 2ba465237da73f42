"""The query connectivity graph and the walk through it: multi-hop questions whose hops need each other.

An edge leads from a hop to another where the entity that the first gives is what the second takes. A walk is depth
first;
it is kept when every hop gives one row, every entity on the way names one thing, and neither an entity on the way
nor the
answer stands in the merged question.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence

from toolenv.build.entities import Entities, Entity
from toolenv.build.gold import Gold
from toolenv.build.hops import HopTemplate, with_literals
from toolenv.build.merging import filled, reads_well, same_role
from toolenv.build.readability import burden, choose
from toolenv.build.source import NotBuildable
from toolenv.build.template import SourceColumn
from toolenv.build.words import sentence
from toolenv.model import Json, Value
from toolenv.values import occurs

HOP_WEIGHTS: tuple[float, ...] = (0.10, 0.60, 0.30)
"""Shares of chains of one, two, three ... hops."""

MOST_HOPS = 5
_TRIES_AT_A_HOP = 8
_FRUITLESS = 200
_WALKED_FOR_ONE = 4
_VALUES_A_SLOT = 400
_LONGEST_QUESTION = 45
_MOST_SUCH = 12
"""Chains of one sequence of templates; twice as many where there would be too few."""

_ANOTHER_SUCH, _ANOTHER_BEGINNING, _ANOTHER_END = 0.8, 0.12, 0.12


class ChainHop(Value, frozen=True):
    """One hop as it is asked: its own question, the SQL with its values, what is in its slot, and the answer's row."""

    template: HopTemplate
    query: str
    sql: str
    value: tuple[Json, ...]
    answer: tuple[Json, ...]


class Lead(Value, frozen=True):
    """A hop with the phrase that stands for its answer."""

    hop: ChainHop
    phrase: str


Thing = tuple[Entity, tuple[Json, ...]]
"""A kind of entity and the values that name one of it."""


class HopChain(Value, frozen=True):
    """A merged question and its hops."""

    question: str
    hops: tuple[ChainHop, ...]

    @property
    def shape(self) -> str:
        return " | ".join(f"{hop.template.template.key} {hop.template.slot}" for hop in self.hops)


class Connectivity:
    """The graph over the hop templates of one database."""

    def __init__(self, templates: Sequence[HopTemplate], entities: Entities, gold: Gold) -> None:
        self._entities = entities
        self._gold = gold
        self._templates = templates
        self._takers: dict[Entity, list[HopTemplate]] = {}
        for template in templates:
            if template.slot:
                self._takers.setdefault(entities.kind(template.takes), []).append(template)
        self._values: dict[Entity, list[tuple[Json, ...]]] = {}
        self._used: Counter[str] = Counter()
        self._started: Counter[str] = Counter()

    @property
    def edges(self) -> int:
        """How many ordered pairs of templates could follow each other."""
        return sum(len(self._next(template)) for template in self._templates)

    def chains(self, wanted: Mapping[int, int], rng: random.Random, tries: int) -> Iterator[HopChain]:
        """Chains by number of hops, as many as are wanted where the graph has them; every question once.

        More are walked than are wanted; of these the ones that are read most easily are taken, few of one sequence of
        templates. What a length lacks is then made up for by the others, the shortest first.
        """
        found = {length: self._walked(length, number, rng, tries) for length, number in sorted(wanted.items())}
        chosen = {length: self._chosen(walked, wanted[length]) for length, walked in found.items()}
        missing = sum(wanted.values()) - sum(map(len, chosen.values()))
        for length in sorted(n for n in wanted if n > 1):
            more = self._chosen(found[length], len(chosen[length]) + missing, 2 * _MOST_SUCH)
            missing -= len(more) - len(chosen[length])
            chosen[length] = more
        for length in sorted(chosen, reverse=True):
            yield from chosen[length]

    def _walked(self, length: int, number: int, rng: random.Random, tries: int) -> list[HopChain]:
        """Different chains of a length, several times as many as are wanted."""
        found: dict[str, HopChain] = {}
        fruitless = 0
        for _ in range(tries * number):
            chain = self._walk(length, rng)
            if chain is not None:
                self._used.update(hop.template.template.key for hop in chain.hops[1:])
            if chain is None or chain.question in found:
                fruitless += 1
                if fruitless > _FRUITLESS + len(found):
                    break
                continue
            fruitless = 0
            found[chain.question] = chain
            if len(found) >= _WALKED_FOR_ONE * number:
                break
        return list(found.values())

    def _chosen(self, walked: Sequence[HopChain], number: int, most: int = _MOST_SUCH) -> list[HopChain]:
        return choose(walked, number, most, lambda chain: burden(chain.question), _kinds)

    def leads(self, wanted: Container[Thing], kinds: Container[Entity], most: int) -> dict[Thing, list[Lead]]:
        """Single hops whose answer is one of the wanted things, at most ``most`` a thing, each of another template."""
        found: dict[Thing, list[Lead]] = {}
        for template in self._templates:
            if template.phrase_asked is None or template.gives is None:
                continue
            kind = self._entities.kind(template.gives)
            if kind not in kinds:
                continue
            for value in self._slot_values(template.takes) if template.slot else [()]:
                hop = self._asked(template, value)
                if hop is None or (kind, hop.answer) not in wanted:
                    continue
                leading = found.setdefault((kind, hop.answer), [])
                if len(leading) < most and all(lead.hop.template is not template for lead in leading):
                    phrase = filled(template.phrase_asked, _text(value))
                    leading.append(Lead(hop=hop, phrase=phrase))
        return found

    def followers(self, entity: Entity, values: tuple[Json, ...]) -> Iterator[ChainHop]:
        """Every hop that can be asked about a thing and has one answer."""
        for template in self._takers.get(self._entities.kind(entity), []):
            hop = self._asked(template, values)
            if hop is not None:
                yield hop

    def _walk(self, length: int, rng: random.Random) -> HopChain | None:
        starts = [t for t in self._templates if length == 1 or (t.phrase_asked and self._next(t))]
        if not starts:
            return None
        start = min(rng.sample(starts, min(3, len(starts))), key=lambda t: self._started[t.template.key])
        self._started[start.template.key] += 1
        if start.slot:
            values = self._slot_values(start.takes)
            if not values:
                return None
            value = rng.choice(values)
            first = self._asked(start, value)
            text = filled(start.asked, _text(value))
            phrase = filled(start.phrase_asked, _text(value)) if start.phrase_asked else None
            seen = {_text(value).lower()}
        else:
            first = self._asked(start, ())
            text, phrase, seen = start.asked, start.phrase_asked, set()
        if first is None:
            return None
        return self._extend([first], text, phrase, seen, length, rng)

    def _extend(
        self,
        hops: list[ChainHop],
        text: str,
        phrase: str | None,
        seen: set[str],
        length: int,
        rng: random.Random,
    ) -> HopChain | None:
        if len(hops) == length:
            chain = HopChain(question=sentence(text), hops=tuple(hops))
            return chain if readable(chain) else None
        last = hops[-1]
        gives, answer = last.template.gives, last.answer
        if phrase is None or gives is None or not self._entities.usable(gives, answer):
            return None
        entity = _text(answer)
        if entity.lower() in seen:
            return None
        used = {hop.template.template.key for hop in hops}
        nexts = [t for t in self._next(last.template) if t.template.key not in used]
        if len(hops) + 1 < length:
            nexts = [t for t in nexts if t.phrase_merged and reads_well(t.phrase_merged, phrase) and self._next(t)]
        rng.shuffle(nexts)
        nexts.sort(key=lambda t: self._used[t.template.key])
        nexts = [t for t in nexts if reads_well(t.merged, phrase) and same_role(t.merged, phrase)]
        told = {place for hop in hops for place in self._places(hop.template)}
        for template in nexts[:_TRIES_AT_A_HOP]:
            if told & {o for o in template.template.outputs if o is not None}:
                # It asks for what an earlier hop was told, or for what it gave.
                continue
            hop = self._asked(template, answer)
            if hop is None or _text(hop.answer).lower() in {*seen, entity.lower()}:
                # A hop that leads back to what is known already asks for nothing.
                continue
            found = self._extend(
                [*hops, hop],
                filled(template.merged, phrase),
                filled(template.phrase_merged, phrase) if template.phrase_merged else None,
                {*seen, entity.lower()},
                length,
                rng,
            )
            if found is not None:
                return found
        return None

    def _places(self, template: HopTemplate) -> set[SourceColumn]:
        """The columns that a template is told and gives."""
        return {*template.takes, *(o for o in template.template.outputs if o is not None)}

    def _next(self, template: HopTemplate) -> list[HopTemplate]:
        if template.gives is None:
            return []
        return self._takers.get(self._entities.kind(template.gives), [])

    def _asked(self, template: HopTemplate, value: tuple[Json, ...]) -> ChainHop | None:
        arguments = dict(template.template.arguments)
        for name, part in zip(template.slot, value, strict=True):
            arguments[name] = part
        try:
            sql = with_literals(template.template, arguments)
            rows = self._gold.determined(sql)
        except NotBuildable:
            return None
        if len(rows) != 1 or any(cell is None for cell in rows[0]) or len(rows[0]) > 2:
            return None
        if rows[0] == (0,) or self._entities.is_missing(template.gives, rows[0]):
            return None
        if any(
            o is not None and isinstance(c, str) and self._entities.is_surrogate(o)
            for o, c in zip(template.template.outputs, rows[0], strict=True)
        ):
            return None
        query = filled(template.asked, _text(value)) if template.slot else template.asked
        return ChainHop(template=template, query=query, sql=sql, value=value, answer=tuple(rows[0]))

    def _slot_values(self, takes: Entity) -> list[tuple[Json, ...]]:
        if takes not in self._values:
            self._values[takes] = self._entities.values(takes, _VALUES_A_SLOT)
        return self._values[takes]


def _kinds(chain: HopChain) -> list[tuple[str, float]]:
    """What makes chains alike, with what one more of it costs: the whole sequence, the beginning and the end."""
    first, last = (hop.template for hop in (chain.hops[0], chain.hops[-1]))
    return [
        (chain.shape, _ANOTHER_SUCH),
        (f"first {first.template.key} {first.slot}", _ANOTHER_BEGINNING),
        (f"last {last.template.key} {last.slot}", _ANOTHER_END),
    ]


def readable(chain: HopChain) -> bool:
    """Whether a merged question is short enough and gives away neither an entity on the way nor the answer."""
    if len(chain.question.split()) > _LONGEST_QUESTION:
        return False
    return not any(told(value, chain.question) for hop in chain.hops for value in hop.answer)


def told(value: Json, text: str) -> bool:
    """Whether a text holds a value as a whole token, parts of a written key (``TR001_2``) being tokens of their own.

    Values too short to be told from chance are not looked for.
    """
    if isinstance(value, str):
        return len(value) > 1 and (occurs(value, text) or occurs(value, text.replace("_", " ")))
    if isinstance(value, bool) or value is None:
        return False
    return len(str(value)) > 2 and occurs(str(value), text)


def _text(value: tuple[Json, ...]) -> str:
    return " ".join(str(part) for part in value)


def quotas(count: int, weights: Sequence[float]) -> dict[int, int]:
    """How many chains of each length make ``count``, by the largest remainder. Raises ``NotBuildable`` for bad
    weights.
    """
    total = sum(weights)
    if not 0 < len(weights) <= MOST_HOPS or total <= 0 or any(w < 0 for w in weights):
        raise NotBuildable(f"hop weights are one to {MOST_HOPS} numbers that are not negative, not all zero")
    shares = [count * w / total for w in weights]
    result = {number: int(share) for number, share in enumerate(shares, 1)}
    by_remainder = sorted(result, key=lambda n: (result[n] - shares[n - 1], n))
    for number in by_remainder[: count - sum(result.values())]:
        result[number] += 1
    return {number: value for number, value in result.items() if value}
