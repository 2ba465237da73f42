"""English of generated questions: nouns from names in a schema, and questions turned into noun phrases."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from toolenv.build.wording import plain

_UNITS = {"cm": "centimetres", "kg": "kilograms", "km": "kilometres", "m": "metres", "mm": "millimetres", "g": "grams"}
_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman", "series": "series"}
_PLURALS = {"person": "people", "child": "children", "man": "men", "woman": "women", "series": "series"}

_SHORTEST_BEGINNING = 4

LONGEST_PHRASE = 18
"""Words that a noun phrase may have, so that a merged question stays readable."""

_FINITE = (
    "is|was|has|had|have|published|produced|made|received|got|won|wrote|created|owns|owned|belongs|gave|sold|holds|held"
    "|spent|paid|attended|contains|costs|cost|lives|lived|works|worked|uses|used|earned|scored|plays|played"
)
_ASKING = (
    r"(?:please )?(?:name|give(?: me)?|provide|state|identify|tell(?: me)?|find(?: out)?|show(?: me)?|indicate|mention"
    r"|list(?: down| out)?|what(?: is| was|'s)|who(?: is| was|'s))"
)
_OPENED = re.compile(rf"^{_ASKING} (?P<rest>the .+?|\{{\d\}}'s? .+?)[?.]*$", re.IGNORECASE)
_CHOSEN = re.compile(
    rf"^(?:which|what) (?P<noun>[a-z]+(?: [a-z]+){{0,2}}?) (?P<verb>{_FINITE}) (?P<rest>.+?)[?.]*$", re.I
)
_NAME_OF = re.compile(r"^the (?:full )?name of (?:the |an? )?", re.IGNORECASE)
_DANGLING = re.compile(r" (?:from|in|of|at|to|for|with|on|by)$", re.IGNORECASE)
_NAME_INSIDE = re.compile(r"^the (?P<noun>[a-z]+(?: [a-z]+)?)(?:'s)? name (?P<link>of|for|with) ", re.IGNORECASE)
OWNED = re.compile(r"(?P<slot>\{\d\})(?:'s|') (?P<owned>[a-z-]+(?: [a-z-]+){0,2})(?=[?.]*$)", re.IGNORECASE)
_TWO_QUESTIONS = re.compile(
    r"\b(?:and|also|then),? (?:please )?(?:state|is|are|do|does|how|what|tell|indicate|list"
    r"|give|which|who|whether|if)\b",
    re.I,
)
_SECOND_SENTENCE = re.compile(r"[.?!]\s+\S")
_DOUBLE = re.compile(r"\b(?:who|which|whose|that|and|or|list|indicate|how|what|if|whether|please)\b", re.IGNORECASE)
_VERB = re.compile(r"\b(?:do|does|did|is|are|was|were|has|have|had|of|in|to)\b", re.IGNORECASE)
_HEAD = re.compile(
    r"^the (?P<head>.+?)(?: (?:of|in|from|by|with|that|who|whose|which|for|at|on|among|to|has|have|is)\b|,|$)", re.I
)
_RELATIVE = re.compile(r"\b(?:who|which|whose|that)\b", re.IGNORECASE)


def singular(noun: str) -> str:
    """The singular of an English noun phrase's last word, regularly made."""
    *before, last = noun.split(" ")
    lower = last.lower()
    if lower in _IRREGULAR:
        last = _IRREGULAR[lower]
    elif lower.endswith("ies") and len(lower) > 4:
        last = last[:-3] + "y"
    elif lower.endswith(("ses", "xes", "ches", "shes", "oes")):
        last = last[:-2]
    elif lower.endswith("s") and not lower.endswith(("ss", "us", "is")):
        last = last[:-1]
    return " ".join([*before, last])


def plural(noun: str) -> str:
    """The plural of an English noun phrase's last word, regularly made."""
    *before, last = noun.split(" ")
    lower = last.lower()
    if lower in _PLURALS:
        last = _PLURALS[lower]
    elif lower.endswith("y") and not lower.endswith(("ay", "ey", "oy", "uy")):
        last = last[:-1] + "ies"
    elif lower.endswith(("s", "x", "ch", "sh", "hero")):
        last += "es"
    else:
        last += "s"
    return " ".join([*before, last])


class Vocabulary:
    """Names of a schema as words. Names that are written together are parted as the questions part them.

    ``described`` are words for names; they count where the questions do not use the name itself.
    """

    def __init__(
        self, questions: Iterable[str], names: Iterable[str], described: Mapping[str, str] | None = None
    ) -> None:
        wanted = {plain(name).replace("_", "") for name in names}
        seen: dict[str, Counter[str]] = {}
        spoken: set[str] = set()
        for question in questions:
            words = re.findall(r"[^\W\d_]+", question.lower())
            for size in (1, 2, 3, 4):
                for start in range(len(words) - size + 1):
                    part = words[start : start + size]
                    spoken.add(" ".join(part))
                    for ending in {" ".join(part), singular(" ".join(part))}:
                        joined = ending.replace(" ", "")
                        if joined in wanted:
                            seen.setdefault(joined, Counter())[ending] += 1
        self._parted = {joined: min(ways, key=lambda w: (-ways[w], w)) for joined, ways in seen.items()}
        self._spoken = spoken
        self._long_forms = _long_forms(wanted, spoken)
        self._described = described or {}

    def speaks_of(self, words: str) -> bool:
        """Whether the questions use the words in this form."""
        return words in self._spoken

    def words(self, name: str) -> str:
        """A table's or column's name as lower-case words."""
        spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
        spaced = re.sub(r"[\W_]+", " ", spaced).strip().lower()
        parted = self._parted.get(spaced.replace(" ", ""))
        return parted or self._described.get(name) or self._long_forms.get(spaced, spaced)

    def table(self, name: str) -> str:
        """What one row of a table is called."""
        return singular(self.words(name))

    def column(self, name: str, table: str = "") -> str:
        """What a column holds, with its unit in words and without its table's name before it."""
        words = self.words(name).split(" ")
        if len(words) > 1 and words[-1] in _UNITS:
            words = [*words[:-1], "in", _UNITS[words[-1]]]
        text = " ".join(words)
        own = self.table(table) + " " if table else ""
        return text.removeprefix(own) if own and text != own.strip() else text

    def role(self, key: str) -> str:
        """What the row is called that a key column points to (``eye_colour_id`` -> ``eye colour``)."""
        text = re.sub(r"^(?:link to|fk|id|ref) |(?: (?:id|key|fk|code|no|number|ref))+$", "", self.words(key))
        return text.strip() or self.words(key)


def _long_forms(names: Iterable[str], spoken: Collection[str]) -> dict[str, str]:
    """For names of one word that nobody speaks, the one spoken word that begins so (``organ``: ``organization``)."""
    found = {}
    words = sorted(word for word in spoken if " " not in word)
    for name in names:
        if len(name) < _SHORTEST_BEGINNING or name in spoken or plural(name) in spoken:
            continue
        longer = {
            singular(w).replace("isation", "ization") for w in words if w.startswith(name) and len(w) > len(name) + 2
        }
        if len(longer) == 1:
            found[name] = longer.pop()
    return found


def noun_phrase(text: str) -> str | None:
    """A question with slots (``{0}``) as the phrase for its answer; None where it is not of a form that is sure.

    ``What is the race of {0}?`` gives ``the race of {0}``, ``Which hero has the most powers?`` gives ``the hero that
    has
    the most powers``.
    """
    if _SECOND_SENTENCE.search(text):
        return None
    text = OWNED.sub(r"the \g<owned> of \g<slot>", text)
    opened = _OPENED.match(text)
    if opened is not None:
        phrase = _NAME_OF.sub("the ", opened["rest"])
        phrase = _NAME_INSIDE.sub(lambda m: f"the {m['noun']} {'of' if m['link'] == 'for' else m['link']} ", phrase)
    else:
        chosen = _CHOSEN.match(text)
        if chosen is None or _RELATIVE.search(chosen["noun"]) or _VERB.search(chosen["noun"]):
            return None
        if _DANGLING.search(chosen["rest"]):
            return None
        phrase = f"the {chosen['noun']} that {chosen['verb']} {chosen['rest']}"
    if not re.match(r"(?:the|an?) ", phrase):
        phrase = f"the {phrase[4:]}" if phrase.lower().startswith("the ") else phrase
    if len(_DOUBLE.findall(phrase)) > 1 or len(phrase.split()) > LONGEST_PHRASE:
        return None
    head = _HEAD.match(phrase)
    if head is None or singular(head["head"]) != head["head"]:
        # A phrase for several things does not fit the one that the hop gives.
        return None
    return phrase


def asks_once(text: str) -> bool:
    """Whether a text is one sentence that asks for one thing."""
    return not _SECOND_SENTENCE.search(text) and not _TWO_QUESTIONS.search(text)


def sentence(text: str) -> str:
    """A question with a capital at the start, single spaces and one mark at its end."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"\s+([?.,])", r"\1", text)
    if text and text[-1] not in "?.!":
        text += (
            "?"
            if re.match(r"(?i)(?:what|which|who|how|when|where|is|are|do|does|did|was|were|in|among)\b", text)
            else "."
        )
    return text[:1].upper() + text[1:]


_BEFORE = frozenset(
    [
        "of",
        "by",
        "in",
        "from",
        "for",
        "with",
        "at",
        "to",
        "on",
        "is",
        "are",
        "was",
        "were",
        "does",
        "do",
        "did",
        "has",
        "have",
        "had",
        "as",
        "than",
        "about",
        "that",
        "who",
        "like",
        "have",
        "into",
        "named",
        "called",
        "using",
        "through",
        "via",
        "be",
        "under",
        "belonging",
    ]
)
AUXILIARY = frozenset(["is", "are", "was", "were", "does", "do", "did"])
_AFTER = frozenset(
    [
        "and",
        "or",
        "in",
        "on",
        "at",
        "of",
        "with",
        "by",
        "from",
        "to",
        "has",
        "have",
        "is",
        "are",
        "was",
        "were",
        "does",
        "did",
        "do",
        "that",
        "who",
        "which",
        "when",
        "as",
        "for",
        "since",
        "until",
        "but",
        "than",
        "if",
        "before",
        "after",
        "between",
        "during",
        "using",
        "under",
        "their",
        "his",
        "her",
        "its",
        "the",
    ]
)


class Slot:
    """Where a value stands in a question: ``narrow`` the value alone, ``wide`` with the noun that stands beside it."""

    def __init__(self, text: str, narrow: tuple[int, int], wide: tuple[int, int]) -> None:
        self.narrow = text[: narrow[0]] + "{0}" + text[narrow[1] :]
        self.wide = text[: wide[0]] + "{0}" + text[wide[1] :]


def find_slot(text: str, value: str, nouns: Sequence[str]) -> Slot | None:
    """The place of a value in a question, if it stands there once and a noun phrase can take its place.

    ``nouns`` are what the value may be called beside it (``the molecule TR000``, ``the "Yearly Kickoff" event``).
    """
    if "{" in text or "}" in text:
        return None
    found = [m for m in re.finditer(re.escape(value), text, re.IGNORECASE) if _is_whole(text, m.start(), m.end())]
    if len(found) != 1:
        return None
    start, end = found[0].span()
    narrow = (start, end)
    if start and text[start - 1] in "\"'“‘" and end < len(text) and text[end] in "\"'”’":
        start, end = start - 1, end + 1
    called = "|".join(re.escape(n).replace("\\ ", "[ -]") for n in sorted(nouns, key=len, reverse=True) if n) or "(?!)"
    before = re.search(
        rf"(?:\b(?:the|a|an|this) )?(?:\b(?:{called})\b(?:'s)?(?: (?:id|name|no\.?))?"
        r"(?: (?:of|named|called|with the name|is))? )$",
        text[:start],
        re.IGNORECASE,
    )
    if before is None and not text[end:].startswith(" of "):
        before = re.search(r"\bthe $", text[:start], re.IGNORECASE)
    wide_start = before.start() if before else start
    after = re.match(rf" (?:{called})s?\b", text[end:], re.IGNORECASE)
    wide_end = end + after.end() if after else end
    if after is not None and before is None:
        # ``the gender of Ajax hero`` lacks its article: without the noun it needs none.
        narrow = (start, wide_end)
    return Slot(text, narrow, (wide_start, wide_end)) if _fits(text, wide_start, wide_end) else None


def _fits(text: str, start: int, end: int) -> bool:
    left = re.search(r"([A-Za-z']+) $", text[:start])
    before = left[1].lower() if left else ""
    if before not in _BEFORE:
        return False
    rest = text[end:]
    if re.match(r"'s? [a-z-]+(?: [a-z-]+){0,2}[?.]*$", rest):
        return before not in ("does", "do", "did")
    if rest.startswith("'"):
        return False
    right = re.match(r" ([A-Za-z']+)", rest)
    if right is None:
        return not rest or rest[0] in "?.,"
    return right[1].lower() in _AFTER or before in AUXILIARY


def _is_whole(text: str, start: int, end: int) -> bool:
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    return not (before.isalnum() or before in "_-") and not (after.isalnum() or after in "_-")
