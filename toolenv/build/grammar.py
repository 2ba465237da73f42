"""English that schema words alone do not give: superlatives, amounts, and what makes a question's wording unclear."""

from __future__ import annotations

import re
from collections.abc import Collection

_SUPERLATIVES = {
    "height": ("tallest", "shortest"),
    "weight": ("heaviest", "lightest"),
    "length": ("longest", "shortest"),
    "duration": ("longest", "shortest"),
    "age": ("oldest", "youngest"),
    "price": ("most expensive", "cheapest"),
    "cost": ("most expensive", "cheapest"),
    "unit price": ("most expensive", "cheapest"),
    "size": ("largest", "smallest"),
    "depth": ("deepest", "shallowest"),
}
_UNITS_OF = {
    "milliseconds": "length",
    "seconds": "length",
    "minutes": "length",
    "hours": "length",
    "bytes": "size",
    "kilobytes": "size",
    "kilometres": "distance",
    "kilograms": "weight",
}
_UNIT = re.compile(r" (?:in|per) [a-z]+$")
_PARTICIPLES = frozenset(["spent", "paid", "sold", "left", "lost", "won", "made", "due"])
_COMPARATIVE = re.compile(r"\b(?:more|less|fewer|higher|lower|larger|smaller|longer|shorter|older|younger)\b", re.I)
_COMPARED = re.compile(r"\bthan\b|\bor (?:more|less|fewer)\b|\bhow much\b|\bhow many\b", re.I)
_TWO_VERBS = re.compile(r"\b(?:is|are|was|were)\b(?P<between>[^?]*?)\b(?:is|are|was|were)\b", re.I)
_NO_VERB = re.compile(
    r"^how many (?!.*\b(?:is|are|was|were|do|does|did|has|have|had)\b)(?:[a-z]+ ){1,2}[a-z]+ed (?:by|from|in|to)\b",
    re.I,
)
_LISTED = re.compile(r"^(?:please )?list (?:out |down )?the (?:total )?number of\b", re.IGNORECASE)
_BINDS = re.compile(r"\b(?:who|that|which|whose|and|or|but|if|when|where|while|what|how|than|there)\b|[,;:.]", re.I)
_MANY_OF = re.compile(r"^the [a-z]+(?: [a-z]+)? of (?!the\b|all\b|an?\b|this\b|\{)(?P<thing>[a-z]+s)\b", re.I)


def superlatives(words: str) -> tuple[str, str] | None:
    """The adjectives for the greatest and the least of a measure; None where there is no sure one."""
    return _SUPERLATIVES.get(without_unit(amount(words)))


def without_unit(words: str) -> str:
    """A measure without its unit: who ranks needs none."""
    return _UNIT.sub("", words)


def amount(words: str) -> str:
    """A measure as a noun: ``remaining`` alone is none, ``remaining amount`` is; ``bytes`` are a ``size in bytes``."""
    if words in _UNITS_OF:
        return f"{_UNITS_OF[words]} in {words}"
    last = words.split(" ")[-1]
    is_noun = last not in _PARTICIPLES and not (len(last) > 5 and last.endswith(("ing", "ed")))
    return words if is_noun or last in ("rating", "building", "setting", "ranking") else f"{words} amount"


def is_sound(question: str) -> bool:
    """Whether a question's own wording can be built upon: it compares with something, and has one verb a clause."""
    if _COMPARATIVE.search(question) and not _COMPARED.search(question):
        return False
    if _NO_VERB.search(question):
        return False
    twice = _TWO_VERBS.search(question)
    if twice is None or _BINDS.search(twice["between"]):
        return True
    return re.search(r"\w (?:who|that|which|whose)\b", question[: twice.start()], re.IGNORECASE) is not None


def without_name(question: str, name: str, nouns: Collection[str]) -> str:
    """A question without ``of the <database>``, where that is no word for what the database holds."""
    words = name.replace("_", " ")
    if any(words in (noun, noun + "s", noun + "es") for noun in nouns):
        return question
    return re.sub(
        rf" (?:of|in) (?:the )?{re.escape(words).replace(chr(92) + ' ', '[ _]')}(?= )", "", question, flags=re.I
    )


def plainly(question: str) -> str:
    """A question without an opening that nobody says: ``List out the number of`` asks for no list."""
    return _LISTED.sub("Give the number of", question)


def names_one(phrase: str, nouns: Collection[str]) -> bool:
    """Whether a noun phrase speaks of one thing and has its articles: not ``the position of members who ...``, not
    ``the element in molecule that ...``."""
    many = _MANY_OF.match(phrase)
    if many is not None:
        return False
    called = "|".join(re.escape(noun) for noun in nouns)
    bare = rf"\b(?:in|of|for|from|by|at|with) (?:{called}) (?:that|which|who|with|whose|in|of)\b"
    return not called or re.search(bare, phrase, re.IGNORECASE) is None
