"""Checks that look at the questions alone: answers given away, questions asked twice or nearly so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from eval.checks.findings import Finding
from toolenv.model import Instance, Json
from toolenv.policy import is_refusal
from toolenv.values import atoms, normal_text, occurs

_SHORTEST_NUMBER = 3
_SHORTEST_TEXT = 2
_ALIKE = 0.9
_CHOICE = re.compile(r"\bor\b|\bbetween\b|\bwhich of\b|\bamong (?:the )?(?:two|three)\b", re.IGNORECASE)


def given_away(instance: Instance, response_values: Sequence[Sequence[Json]]) -> str | None:
    """The value of the answer, or of a hop before it, that stands in the question; None where none does.

    ``response_values`` are, for each response but the last, the values that a later call takes from it. A question that
    names the answers to choose from gives nothing away, nor do signs, yes and no, or numbers of one or two digits.
    """
    truth = instance.ground_truth
    if truth is None or is_refusal(truth.evaluated.answer):
        return None
    query = instance.query
    answers = [value for value in atoms(truth.evaluated.answer) if value is not None]
    if answers and not _CHOICE.search(query) and all(stands_in(value, query) for value in answers):
        return f"the answer {answers[0]!r}"
    for number, values in enumerate(response_values, 1):
        for value in values:
            if isinstance(value, str) and stands_in(value, query):
                return f"{value!r}, which hop {number} gives"
    return None


def stands_in(value: Json, text: str) -> bool:
    """Whether a text holds a value as a whole token, the parts of a written key (``TR001_2``) being tokens too."""
    if isinstance(value, bool):
        return False
    if isinstance(value, str):
        return len(value) >= _SHORTEST_TEXT and (occurs(value, text) or occurs(value, text.replace("_", " ")))
    return len(str(value)) >= _SHORTEST_NUMBER and occurs(str(value), text)


def repeated(instances: Sequence[Instance]) -> Iterator[Finding]:
    """Instances whose dialogue is word for word that of an earlier one, with the same tools and another answer or not.

    In capability 1 two styles may ask the same. Under another policy a question is another task.
    """
    seen: dict[tuple[object, ...], str] = {}
    for instance in instances:
        texts = tuple(normal_text(turn.query) for turn in instance.turns)
        key = (instance.capability, instance.domain, _style(instance), instance.policy, texts)
        if key in seen:
            yield _finding("same question twice", instance, f"it asks word for word what {seen[key]} asks")
        seen.setdefault(key, instance.uuid)


def alike(instances: Sequence[Instance]) -> Iterator[Finding]:
    """Instances whose question is, but for values and a word or two, that of an earlier one of the same capability."""
    shapes: dict[tuple[object, ...], dict[str, str]] = {}
    words: dict[tuple[object, ...], dict[str, list[tuple[frozenset[str], str]]]] = {}
    for instance in instances:
        place = (instance.capability, instance.domain, _style(instance), instance.policy, len(instance.turns))
        shape = shape_of(instance)
        known = shapes.setdefault(place, {})
        tokens = frozenset(shape.split())
        similar = known.get(shape) or _most_alike(tokens, words.setdefault(place, {}))
        if similar is not None:
            yield _finding("nearly the same question", instance, f"but for values it asks what {similar} asks")
        known.setdefault(shape, instance.uuid)
        for token in sorted(tokens, key=len, reverse=True)[:3]:
            words[place].setdefault(token, []).append((tokens, instance.uuid))


def _style(instance: Instance) -> object:
    return instance.author_keys.get("server_type") if instance.capability == 1 else None


def shape_of(instance: Instance) -> str:
    """The question without the values that its ground truth passes on, without quoted words and numbers."""
    text = normal_text(instance.query)
    truth = instance.ground_truth
    calls = truth.evaluated.calls if truth is not None else ()
    values = {normal_text(v) for call in calls for v in call.arguments.values() if isinstance(v, str)}
    for value in sorted(values, key=len, reverse=True):
        if len(value) > 1:
            text = text.replace(value, "_")
    text = re.sub(r"[\"“][^\"”]*[\"”]", "_", text)
    return re.sub(r"\S*\d\S*", "_", text)


def _most_alike(tokens: frozenset[str], known: Mapping[str, Sequence[tuple[frozenset[str], str]]]) -> str | None:
    if len(tokens) < 6:
        return None
    for token in sorted(tokens, key=len, reverse=True)[:3]:
        for other, uuid in known.get(token, ())[:200]:
            if len(tokens & other) >= _ALIKE * len(tokens | other):
                return uuid
    return None


def _finding(kind: str, instance: Instance, detail: str) -> Finding:
    return Finding(
        kind=kind,  # type: ignore[arg-type]
        uuid=instance.uuid,
        capability=instance.capability,
        domain=instance.domain,
        detail=detail,
    )
