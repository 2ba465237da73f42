"""Calls that compute from literal values alone, and whether those values came from anywhere.

Such a call (``Calculator``) prints whatever its arguments say. Where none of its numbers was ever seen, its result says
nothing about the data: ``Calculator(300, 40, add)`` does not show that there are 340 rows (row E5 of the contract's
list of evaluator bugs).
"""

from __future__ import annotations

from collections.abc import Iterator

from sessions.dataflow.calls import MadeCalls
from sessions.dataflow.facts import facts_of
from toolenv.model import Instance
from toolenv.values import Atom, Key, ValueIndex, atoms, key, numbers_in, occurs

LITERAL_TOOLS = frozenset({"Calculator", "select_unique_values", "truncate"})
"""The tools of capability 1 that take literal values and never a handle (contract, section 1.7)."""

CONVENTIONAL = frozenset({0, 1, 2, 10, 100, 1000})
"""Numbers that a computation brings along (a percentage, a half, a unit); they say nothing about its other inputs."""


def computes_from_nowhere(instance: Instance, calls: MadeCalls) -> Iterator[int]:
    """The numbers of the calls of literal tools of whose values none was seen in the dialogue or in a response."""
    if instance.capability != 1 or not any(made.call.name in LITERAL_TOOLS for made in calls.scored):
        return
    texts = [text for turn in instance.turns for text in (turn.query, *map(str, atoms(turn.answer)))]
    seen = ValueIndex(number for text in texts for _, _, number in numbers_in(text))
    every = (calls.opening, *calls.calls) if calls.opening is not None else calls.calls
    for made in every:
        if made.call.name in LITERAL_TOOLS and made.scored and not made.failed:
            inputs = [atom for name, value in made.arguments.items() if _is_input(name) for atom in atoms(value)]
            telling = [atom for atom in inputs if key(atom) not in CONVENTIONAL] or inputs
            if telling and not any(_is_known(atom, seen, texts) for atom in telling):
                yield made.number
                continue
        found = facts_of(made)
        if found is not None:
            seen.update(found.printed)
            seen.update(found.lengths)


def _is_input(name: str) -> bool:
    return name.startswith("input") or name.endswith("_array")


def _is_known(atom: Atom, seen: ValueIndex, texts: list[str]) -> bool:
    k = key(atom)
    return k in seen or _rounds(k, seen) or any(occurs(atom, text) for text in texts)


def _rounds(k: Key, seen: ValueIndex) -> bool:
    """Whether a number is a rounded copy of one that was seen."""
    if not isinstance(k, float):
        return False
    text = repr(k)
    if "e" in text:
        return False
    half = 0.5 * 10.0 ** -len(text.partition(".")[2])
    return any(isinstance(other, float) and abs(other - k) <= half * (1 + 1e-9) for other in seen)
