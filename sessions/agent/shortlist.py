"""Which tools a model gets to see where there are more than its endpoint takes.

Lexical by default: BM25 over the words of a tool's name, description and parameters. Vectors, where they are at hand,
are joined to it by reciprocal ranks. Nothing of a ground truth is looked at.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from toolenv.model import Instance, Json, ToolSpec
from toolenv.policy import source_of

K1, B = 1.2, 0.6
NAME_WEIGHT = 2
"""A word in a tool's name counts this often."""

CONTEXT_WEIGHT = 0.35
"""What a word of an earlier turn counts beside one of the question."""

HINT_WEIGHT = 0.5
GRAM = 4
GRAM_WEIGHT = 0.25
"""Pieces of words of so many letters count this much beside whole words: superpower, non-sweetened, bankrupt."""

NEIGHBOURS = 6
NEIGHBOUR_WEIGHT = 0.2
"""The words of the best few tools are looked for too, a little: what a later hop needs often shares them."""

RANK_CONSTANT = 60
"""Of reciprocal rank fusion; the value of the paper that introduced it."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", re.ASCII)
_OTHER_WORD = re.compile(r"[^\W\d_]+")
_DATE = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
_STOP_TEXT = """
a an the of in on at to for and or is are was were be been do does did has have had what which who whom whose how when
where why by with from as that this these those it its their his her there than then them they we you i me my your
please give tell list show find get return retrieve endpoint based given specific all any each
"""
_STOP = frozenset(_STOP_TEXT.split())
_HINTS: dict[str, tuple[str, ...]] = {
    "many": ("count", "number", "total"),
    "number": ("count",),
    "count": ("number",),
    "who": ("name", "person"),
    "where": ("location", "city", "country", "address", "place"),
    "when": ("date", "year", "time"),
    "old": ("age", "birth"),
    "percentage": ("percent", "ratio", "proportion", "rate"),
    "percent": ("percentage", "ratio"),
    "proportion": ("ratio", "percentage"),
    "ratio": ("percentage",),
    "average": ("avg", "mean"),
    "mean": ("average", "avg"),
    "most": ("max", "top", "highest", "maximum"),
    "highest": ("max", "top", "maximum", "most"),
    "largest": ("max", "top", "highest"),
    "biggest": ("max", "top", "largest"),
    "longest": ("max", "longest"),
    "best": ("top", "highest"),
    "least": ("min", "lowest", "minimum"),
    "lowest": ("min", "minimum"),
    "smallest": ("min", "lowest"),
    "fewest": ("min", "least"),
    "oldest": ("min", "birth", "age", "date"),
    "youngest": ("max", "birth", "age", "date"),
    "latest": ("max", "date", "recent"),
    "sum": ("total",),
    "total": ("sum", "count"),
    "difference": ("compare", "difference"),
    "cost": ("price", "amount"),
    "price": ("cost",),
    "expensive": ("price", "cost"),
    "cheapest": ("price", "cost", "min"),
    "film": ("movie",),
    "movie": ("film",),
}


def words(text: str) -> list[str]:
    """The words of a text or of an identifier, lower case, without endings."""
    found = [word.lower() for word in _WORD.findall(text)]
    if not text.isascii():
        found += [word.lower() for word in _OTHER_WORD.findall(text) if not word.isascii()]
    return [_stem(word) for word in found if word not in _STOP]


def _stem(word: str) -> str:
    """A word without the usual endings; crude, and the same on both sides."""
    for ending, left in (("ies", "y"), ("sses", "ss"), ("ings", ""), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) + len(left) >= 3 and not word.endswith("ss"):
            word = word[: len(word) - len(ending)] + left
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


_STEMMED_HINTS = {_stem(word): tuple(_stem(hint) for hint in hints) for word, hints in _HINTS.items()}


def pieces(text_words: Sequence[str]) -> list[str]:
    """The pieces of words that are longer than a piece."""
    return [word[at : at + GRAM] for word in text_words if len(word) > GRAM for at in range(len(word) - GRAM + 1)]


def question_words(instance: Instance) -> dict[str, float]:
    """What is looked for: the words of the question, of earlier turns, and words that go with them, by weight."""
    wanted: dict[str, float] = {}

    def add(word: str, weight: float) -> None:
        wanted[word] = max(wanted.get(word, 0.0), weight)

    for turn in instance.turns:
        weight = 1.0 if turn is instance.turns[-1] else CONTEXT_WEIGHT
        for word in words(turn.query):
            add(word, weight)
            for hint in _STEMMED_HINTS.get(word, ()):
                add(hint, weight * HINT_WEIGHT)
        if _DATE.search(turn.query):
            add("date", weight * HINT_WEIGHT)
            add(_stem("year"), weight * HINT_WEIGHT)
        if _NAME.search(turn.query):
            add(_stem("name"), weight * HINT_WEIGHT)
    return wanted


def shortlisted(
    instance: Instance, tools: Sequence[ToolSpec], limit: int, vectors: Sequence[float] | None = None
) -> list[ToolSpec]:
    """At most ``limit`` tools in the order of the list; retrievers and ``get_data`` are always among them.

    ``vectors`` are similarities to the question, one a tool. The same question and list always give the same tools.
    """
    if len(tools) <= limit:
        return list(tools)
    pinned = [position for position, tool in enumerate(tools) if source_of(tool.name) != "API" or tool.source == "RAG"]
    chosen = set(pinned[:limit])
    for position in ranked(instance, tools, vectors):
        if len(chosen) >= limit:
            break
        chosen.add(position)
    return [tool for position, tool in enumerate(tools) if position in chosen]


def ranked(instance: Instance, tools: Sequence[ToolSpec], vectors: Sequence[float] | None = None) -> list[int]:
    """Positions of the tools, best first; of equal ones the earlier."""
    scores = lexical_scores(instance, tools)
    order = sorted(range(len(tools)), key=lambda position: (-scores[position], position))
    if vectors is None:
        return order
    near = sorted(range(len(tools)), key=lambda position: (-vectors[position], position))
    joined = [0.0] * len(tools)
    # A tool that shares no word with the question has no place among the words, wherever it stands in the list.
    for ranking in ([position for position in order if scores[position] > 0], near):
        for rank, position in enumerate(ranking):
            joined[position] += 1.0 / (RANK_CONSTANT + rank)
    return sorted(range(len(tools)), key=lambda position: (-joined[position], position))


def lexical_scores(instance: Instance, tools: Sequence[ToolSpec]) -> list[float]:
    """BM25 of every tool for the instance's question, over words and over pieces of words."""
    wanted = question_words(instance)
    texts = [_tool_words(tool) for tool in tools]
    fits = _Fits(texts)
    scores = fits.scores(wanted)
    parts: dict[str, float] = {}
    for word, weight in wanted.items():
        for piece in pieces([word]):
            parts[piece] = max(parts.get(piece, 0.0), weight)
    for position, score in enumerate(_Fits([pieces(text) for text in texts]).scores(parts)):
        scores[position] += GRAM_WEIGHT * score
    best = sorted(range(len(tools)), key=lambda position: (-scores[position], position))[:NEIGHBOURS]
    near = {word: 1.0 for position in best if scores[position] > 0 for word in texts[position] if word not in wanted}
    for position, score in enumerate(fits.scores(near)):
        scores[position] += NEIGHBOUR_WEIGHT * score
    return scores


class _Fits:
    """BM25 over texts given as words."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        self._lengths = [len(text) for text in texts]
        self._mean = sum(self._lengths) / max(1, len(texts)) or 1.0
        self._having: dict[str, list[tuple[int, int]]] = {}
        for position, text in enumerate(texts):
            for word, times in Counter(text).items():
                self._having.setdefault(word, []).append((position, times))

    def scores(self, wanted: Mapping[str, float]) -> list[float]:
        """One score a text for words that count by their weight."""
        scores = [0.0] * len(self._lengths)
        for word, weight in wanted.items():
            having = self._having.get(word, ())
            rare = math.log(1 + (len(self._lengths) - len(having) + 0.5) / (len(having) + 0.5))
            for position, times in having:
                length = K1 * (1 - B + B * self._lengths[position] / self._mean)
                scores[position] += weight * rare * times * (K1 + 1) / (times + length)
        return scores


def tool_text(tool: ToolSpec) -> str:
    """A tool as one text, for vectors."""
    return f"{tool.name.replace('_', ' ')}. {tool.description} {_parameters_text(tool.input_schema)}".strip()


def _tool_words(tool: ToolSpec) -> list[str]:
    return words(tool.name) * NAME_WEIGHT + words(tool.description) + words(_parameters_text(tool.input_schema))


def _parameters_text(schema: Json) -> str:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    parts = []
    for name, part in properties.items() if isinstance(properties, dict) else ():
        parts.append(str(name))
        if isinstance(part, dict) and isinstance(part.get("description"), str):
            parts.append(part["description"])
    return " ".join(parts)
