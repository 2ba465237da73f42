"""Reads a judge's reply: strictly first, leniently second, and never by the first matching word of free text.

Everything that is not clearly a ruling raises ``Unreadable``; a reply that cannot be read is no ruling.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, Literal

from eval.model import Outcome
from toolenv.model import Value

LONGEST_READ = 20_000
"""Characters of a reply that are looked at, from its end; a ruling is short."""

_HARMONY_FINAL = re.compile(r"<\|channel\|>\s*final(?:(?!<\|(?:message|channel)\|>).){0,80}<\|message\|>", re.S)
_HARMONY_TOKEN = re.compile(r"<\|(?:channel|start|message|end|return|call)\|>")
_CLOSING = re.compile(r"</(?:think|thinking|thought|reasoning)>|\[/THINK\]", re.I)
_OPENING = re.compile(r"<(?:think|thinking|thought|reasoning)>|\[THINK\]", re.I)
_CONCLUSION = re.compile(r"<conclusion>(.*?)</conclusion>", re.I | re.S)
_WORD = r"(yes|no|partial|unsure|pass|fail)"
_NAMED_LABEL = re.compile(
    rf"^[\W_]*(?:final\s+)?(?:label|ruling|verdict|conclusion)\s*[:=][\W_]*{_WORD}(?:[\W_]*$|[*_`\"']*\s*[-–—,;:.(])",
    re.I,
)
_BARE_LABEL = re.compile(rf"^(?:\d++[.)])?[\W_]*+{_WORD}[\W_]*$", re.I)

_OUTCOMES: Mapping[str, Outcome] = {
    "pass": "pass",
    "fail": "fail",
    "yes": "pass",
    "no": "fail",
    "partial": "fail",
    "unsure": "undecided",
    "undecided": "undecided",
    "1": "pass",
    "0": "fail",
    "true": "pass",
    "false": "fail",
}


class Unreadable(Exception):
    """A reply in which no ruling could be read; the message says why, without the reply."""


class Reading(Value, frozen=True):
    """A ruling read from a reply; ``span`` is the part of the reply that holds it."""

    outcome: Outcome
    reason: str
    span: str
    how: Literal["strict", "lenient"]


def read_reply(text: str, quoted: str = "") -> Reading:
    """The ruling in a reply.

    ``quoted`` is the material the judge was shown: an object that stands in it word for word is a quotation, and no
    ruling. Raises ``Unreadable``.
    """
    if not text.strip():
        raise Unreadable("it is empty")
    whole = _decoded(text.strip())
    if isinstance(whole, dict):
        return _chosen([(whole, text.strip())], quoted, "strict")
    if whole is not None:
        raise Unreadable("it is JSON, but not an object")
    said = _spoken(text)[-LONGEST_READ:]
    objects = _objects(said)
    if any(_outcome_of(found) is not None for found, _ in objects):
        return _chosen(objects, quoted, "lenient")
    if objects:
        raise Unreadable("its JSON object has no ruling")
    return _label(said)


def _spoken(text: str) -> str:
    """The part of a reply that is meant to be read: no analysis channel, no reasoning block.

    A marker inside a JSON object is a text like any other, for a reason may quote what was judged.
    """
    finals = _outside_objects(_HARMONY_FINAL, text)
    if finals:
        text = text[finals[-1].end() :]
        ends = _outside_objects(_HARMONY_TOKEN, text)
        return text[: ends[0].start()] if ends else text
    if _outside_objects(_HARMONY_TOKEN, text):
        raise Unreadable("it has channels, but no final one")
    closings = _outside_objects(_CLOSING, text)
    if closings:
        text = text[closings[-1].end() :]
    openings = _outside_objects(_OPENING, text)
    if openings:
        text = text[: openings[0].start()]
    if not text.strip():
        raise Unreadable("it stops inside its reasoning")
    return text


def _outside_objects(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    matches = list(pattern.finditer(text))
    if not matches:
        return []
    before = max(0, len(text) - LONGEST_READ)
    spans = [(before + start, before + start + len(span)) for _, span, start in _found(text[before:])]
    starts = [start for start, _ in spans]

    def outside(place: int) -> bool:
        behind = bisect_right(starts, place)
        return behind == 0 or place >= spans[behind - 1][1]

    return [match for match in matches if outside(match.start())]


def _decoded(text: str) -> Any:
    """A JSON value, or None where the text is not JSON."""
    try:
        return json.loads(text, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError):
        return None


class _Contradiction(dict[str, Any]):
    """An object that gives one key several values."""


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    return dict(pairs) if len(set(names)) == len(names) else _Contradiction(pairs)


def _objects(text: str) -> list[tuple[dict[str, Any], str]]:
    """The JSON objects that stand in a text, with their source; objects inside others or inside arrays do not."""
    return [(value, span) for value, span, _ in _found(text)]


def _found(text: str) -> list[tuple[dict[str, Any], str, int]]:
    """The same with the position of each."""
    decoder = json.JSONDecoder(object_pairs_hook=_no_duplicates)
    found: list[tuple[dict[str, Any], str, int]] = []
    at = 0
    while True:
        starts = [start for start in (text.find("{", at), text.find("[", at)) if start >= 0]
        if not starts:
            return found
        at = min(starts)
        try:
            value, end = decoder.raw_decode(text, at)
        except RecursionError:
            raise Unreadable("it is nested too deeply") from None
        except ValueError:
            at += 1
            continue
        if isinstance(value, dict):
            found.append((value, text[at:end], at))
        at = end


def _chosen(objects: list[tuple[dict[str, Any], str]], quoted: str, how: Literal["strict", "lenient"]) -> Reading:
    """The one ruling of the objects. Several count as one where they say the same; the last gives the reason."""
    ruled = [(found, span, _outcome_of(found)) for found, span in objects]
    ruled = [entry for entry in ruled if entry[2] is not None]
    if not ruled:
        raise Unreadable("its JSON object has no ruling")
    own = [entry for entry in ruled if entry[1] not in quoted]
    if not own:
        raise Unreadable("it only quotes a ruling from the material")
    if any(isinstance(found, _Contradiction) for found, _, _ in own) or len({outcome for _, _, outcome in own}) > 1:
        raise Unreadable("it gives two different rulings")
    found, span, outcome = own[-1]
    assert outcome is not None
    return Reading(outcome=outcome, reason=_reason_of(found), span=span, how=how)


def _outcome_of(found: Mapping[str, Any]) -> Outcome | None:
    """The ruling of an object: ``ruling`` (pass, fail, unsure) or ``score`` (1, 0); None where it is unclear."""
    outcomes = set()
    for name, value in found.items():
        if name.strip().lower() in ("ruling", "score", "verdict", "label"):
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            known = _OUTCOMES.get(str(value).strip().lower()) if isinstance(value, str | int | bool) else None
            outcomes.add(known)
    return outcomes.pop() if len(outcomes) == 1 else None


def _reason_of(found: Mapping[str, Any]) -> str:
    for name in ("reason", "explanation"):
        for key, value in found.items():
            if key.strip().lower() == name and isinstance(value, str):
                return value.strip()
    return ""


def _label(text: str) -> Reading:
    """A ruling given as a word: in the last conclusion that has one, else on a line of its own."""
    for block in reversed(_CONCLUSION.findall(text)):
        lines = [line for line in block.strip().splitlines() if line.strip()]
        if lines and (word := _word_of(lines[0])):
            reason = " ".join(line.strip() for line in lines[1:])
            return Reading(outcome=_OUTCOMES[word], reason=reason, span=block.strip(), how="lenient")
    outside = _CONCLUSION.sub("\n", text).splitlines()
    labelled = [(word, line.strip(), number) for number, line in enumerate(outside) if (word := _word_of(line))]
    if not labelled:
        raise Unreadable("it holds no ruling")
    if len({_OUTCOMES[word] for word, _, _ in labelled}) > 1:
        raise Unreadable("it gives two different rulings")
    word, span, number = labelled[0]
    reason = " ".join(line.strip() for line in outside[number + 1 :] if line.strip())
    return Reading(outcome=_OUTCOMES[word], reason=reason, span=span, how="lenient")


def _word_of(line: str) -> str | None:
    match = _NAMED_LABEL.match(line) or _BARE_LABEL.match(line)
    return match.group(1).lower() if match else None
