"""Answers that enumerate: their items, compared with what is due as sets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eval.offline.due import Due, DueIndex, Place
from eval.offline.reading import Reading, json_of, prepared
from toolenv.model import Json
from toolenv.values import atoms

_SEPARATOR = re.compile(r"\s*(?:[,;]\s*(?:and\s+|or\s+)?|\n|\s+and\s+|\s*\|\s*)\s*")
_PROSE_WORDS = (
    "is are was were be been has have had do does did which that who whose whom where when there here with because "
    "since it its they their this these those based according belongs contains includes means note however but not "
    "in on at for from by into as about than more less only total each all both also therefore so if then because "
    "while following between either neither or least most"
)
_PROSE = frozenset(_PROSE_WORDS.split())
_GLOSS = re.compile(r"\([^()]*\)|\"")
LONGEST_ITEM = 6
"""Words up to which a piece of text looks like an item and not like a sentence."""


@dataclass(frozen=True, slots=True)
class Enumeration:
    """The items of an answer that enumerates.

    ``strict`` says that nothing but items was found, so that one missing or one too many is a mistake; otherwise the
    items stand in prose and only raise a doubt.
    """

    strict: bool
    missing: tuple[Due, ...]
    extra: tuple[str, ...]


def enumeration(reading: Reading, due: DueIndex) -> Enumeration | None:
    """The enumeration that an answer makes, or None where it makes none."""
    decoded = json_of(reading.raw)
    if decoded is not None:
        items = [prepared(_text(atom)) for atom in atoms(decoded)]
        return _compared(items, due, strict=True)
    if len(reading.bullets) > 1:
        looks = all(_is_item(bullet, due) for bullet in reading.bullets)
        pieces = [piece for bullet in reading.bullets for piece in _pieces(bullet, due)]
        found = _compared(pieces if looks else list(reading.bullets), due, strict=looks)
        inside = {id(d) for d in due.given(reading.text)}
        outside = tuple(d for d in found.missing if id(d) not in inside)
        return Enumeration(strict=found.strict, missing=outside, extra=found.extra)
    payload = reading.payload
    head, colon, tail = payload.partition(":")
    if colon and "\n" not in head and not due.given(head):
        payload = tail.strip()
    pieces = list(_pieces(payload, due))
    if len(pieces) < 2:
        alone = len(pieces) == 1 and len(due.due) > 1 and _is_bare(pieces[0], due)
        return _compared(pieces, due, strict=True) if alone else None
    if all(_is_item(piece, due) for piece in pieces):
        return _compared(pieces, due, strict=True)
    listed = [piece for line in reading.text.split("\n") for piece in _listed(line, due)]
    return _compared(listed, due, strict=False) if listed else None


def _text(atom: Json) -> str:
    return "null" if atom is None else str(atom).lower() if isinstance(atom, bool) else str(atom)


def _compared(items: Sequence[str], due: DueIndex, *, strict: bool) -> Enumeration:
    """Missing values are those that no item gives; extra are items that give no value."""
    whole = {d.needle: d for d in due.due}
    given: set[int] = set()
    extra: list[str] = []
    for item in items:
        found = due.given(item)
        exact = whole.get(item.strip(" \"'."))
        given.update(id(d) for d in found)
        if exact is not None:
            given.add(id(exact))
        elif not found and item.strip(" .!"):
            extra.append(item)
    return Enumeration(strict=strict, missing=tuple(d for d in due.due if id(d) not in given), extra=tuple(extra))


def _places(text: str, due: DueIndex) -> list[Place]:
    """Non-overlapping places of due values in order; of two that overlap the longer (a value may hold separators)."""
    taken: list[Place] = []
    for place in due.places(text):
        if not taken or place.start >= taken[-1].end:
            taken.append(place)
        elif place.end - place.start > taken[-1].end - taken[-1].start:
            taken[-1] = place
    return taken


def _pieces(text: str, due: DueIndex) -> Iterator[str]:
    """The pieces of a text between separators; a separator inside a due value or inside brackets separates nothing."""
    spans = [(place.start, place.end) for place in _places(text, due)]
    spans += [found.span() for found in re.finditer(r"\([^()\n]*\)|\d,\d", text)]
    covered = [False] * len(text)
    for start, end in spans:
        covered[start:end] = [True] * (end - start)
    position = 0
    for found in _SEPARATOR.finditer(text):
        if found.end() == found.start() or any(covered[found.start() : found.end()]):
            continue
        if text[position : found.start()].strip():
            yield text[position : found.start()].strip()
        position = found.end()
    if text[position:].strip():
        yield text[position:].strip()


def _is_bare(piece: str, due: DueIndex) -> bool:
    """Whether a piece is one or more due values and nothing else."""
    left = piece
    for place in reversed(_places(piece, due)):
        left = left[: place.start] + left[place.end :]
    return left != piece and not re.search(r"\w", _GLOSS.sub(" ", left))


def _is_item(piece: str, due: DueIndex) -> bool:
    """Whether a piece looks like an item: a due value with at most a gloss, or a few words that tell nothing."""
    if _is_bare(piece, due):
        return True
    words = re.findall(r"[^\W_][\w'.-]*|\S", _GLOSS.sub(" ", piece).rstrip(" .!"))
    if not words or len(words) > LONGEST_ITEM:
        return False
    return not any(word in _PROSE for word in words) and not re.search(r"[.!?:]\s", piece)


def _listed(line: str, due: DueIndex) -> Iterator[str]:
    """The pieces of a line of prose that stand among due values and could be items themselves."""
    pieces = list(_pieces(line, due))
    bare = [index for index, piece in enumerate(pieces) if _is_bare(piece, due)]
    if len(bare) < 2:
        return
    for index in range(bare[0], bare[-1] + 1):
        if _is_item(pieces[index], due):
            yield pieces[index]
