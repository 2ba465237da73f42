"""Policies of every kind: their wordings, and what each does to an instance whose path needs certain sources.

Kinds and forms of the texts are those of the policies contract; the topic names are the published ones, or a
domain's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from toolenv.build.source import PolicyNote
from toolenv.domains import topic_groups, topic_of
from toolenv.model import Value

Source = Literal["API", "RAG"]
PolicyName = Literal["only_rag", "only_api", "first_rag", "first_api"]
Effect = Literal["none", "source_changed", "unanswerable"]

REFUSAL = "Sorry, I cannot answer your query!"

_ABOUT = {
    "Education & Students": "schools, universities, courses and the people who learn there",
    "Finance & Economics": "money, banks, markets and donations",
    "Food, Restaurants & Beverage": "dishes, drinks and the places that serve them",
    "Geography & Demographics": "countries, places and the people who live there",
    "Government, Law & Public Services, Human Capital": "public offices, laws, crime and employment",
    "Health & Medicine": "illness, treatment, genes and chemicals that act on the body",
    "Literature, Language & Publishing": "books, authors, languages and publications",
    "Movies, TV & Entertainment, Social Media": "films, series, comics, games, music and other entertainment",
    "Retail, Sales & Commerce": "shops, orders, products and customers",
    "Sports & Athletics": "games, players, teams and races",
    "Technology & Software": "programs, code, apps and devices",
    "Transportation & Mobility": "vehicles, railways, flights and other ways of getting around",
}
_OPENINGS = (
    "If a user's query pertains to {topic}, ",
    "If a question of the user pertains to {topic}, ",
    "Whenever something the user asks pertains to {topic}, ",
)
_SCOPED: dict[PolicyName, str] = {
    "only_rag": "make sure you try answering it by only using document retrievers. Do not use other types of tools.",
    "only_api": "make sure you do not use document retrievers to try answering it. Use other types of tools.",
    "first_rag": "first try to answer it using document retrievers. "
    "Use other types of tools only if that does not help.",
    "first_api": "first try to answer it without invoking document retrievers.",
}
_GLOBAL: dict[PolicyName, str] = {
    "only_rag": "Use document retrievers to answer questions. Do not use any other type of tool.",
    "only_api": "Do not use document retrievers to answer questions. Use other types of tools.",
    "first_rag": "First try to answer questions using document retrievers.",
    "first_api": "First try to answer questions without invoking document retrievers.",
}
_SORTS = 12
"""Kinds, each scoped to what applies, scoped to what does not, and global."""

_IF_UNABLE = f" If you don't have enough information to complete the task, respond with '{REFUSAL}'"
_BLOCKED: dict[PolicyName, Source | None] = {"only_rag": "API", "only_api": "RAG", "first_rag": None, "first_api": None}
_FIRST: dict[PolicyName, Source] = {"first_rag": "RAG", "first_api": "API"}


class PolicyText(Value, frozen=True):
    """One policy as an instance carries it."""

    text: str
    kind: PolicyName
    scoped: bool
    applies: bool
    topic: str | None

    @property
    def sort(self) -> tuple[PolicyName, bool, bool]:
        """Its kind, whether it is scoped, and whether it applies."""
        return self.kind, self.scoped, self.applies

    @property
    def blocked(self) -> Source | None:
        """The source that it forbids here; None where it forbids none."""
        return _BLOCKED[self.kind] if self.applies else None

    def fits(self, sources: Sequence[Source]) -> bool:
        """Whether a path of these sources keeps to it."""
        if not self.applies:
            return True
        if self.kind in _FIRST:
            return not sources or sources[0] == _FIRST[self.kind]
        return self.blocked not in sources

    def note(self, effect: Effect) -> PolicyNote:
        return PolicyNote(kind=self.kind, topic=self.topic, applies=self.applies, effect=effect)


def policies(domain: str, own_topic: str) -> Iterator[PolicyText]:
    """Every kind, scoped to the domain's topic, scoped to another, and global; without end, in turn."""
    others = [group for group in topic_groups() if group != own_topic]
    turn = 0
    while True:
        for kind in _SCOPED:
            for applies in (True, False):
                topic = own_topic if applies else others[turn % len(others)]
                about = _ABOUT.get(topic, f"what the {domain.replace('_', ' ')} database holds")
                opening = _OPENINGS[turn % len(_OPENINGS)].format(topic=f"{topic}, which is about {about}")
                ending = _IF_UNABLE if turn % 2 else ""
                yield PolicyText(
                    text=opening + _SCOPED[kind] + ending, kind=kind, scoped=True, applies=applies, topic=topic
                )
                turn += 1
            yield PolicyText(text=_GLOBAL[kind], kind=kind, scoped=False, applies=True, topic=None)


class PolicyDeck:
    """The next policy of every sort, in ever new words."""

    def __init__(self, domain: str, own_topic: str) -> None:
        self._coming = policies(domain, own_topic)
        self._next: dict[tuple[PolicyName, bool, bool], list[PolicyText]] = {}
        while len(self._next) < _SORTS:
            self._draw()

    def each(self) -> list[PolicyText]:
        """One policy of every sort."""
        return [waiting[0] for waiting in self._next.values()]

    def take(self, policy: PolicyText) -> PolicyText:
        """Use a policy up, so that the next of its sort comes."""
        self._next[policy.sort].remove(policy)
        while not self._next[policy.sort]:
            self._draw()
        return policy

    def _draw(self) -> None:
        policy = next(self._coming)
        self._next.setdefault(policy.sort, []).append(policy)


def topic_for(domain: str, given: str | None) -> str:
    """The topic group that policies name for a domain: the one given, the published one, or one of its own."""
    return given or topic_of(domain) or f"{domain.replace('_', ' ').title()} Records"
