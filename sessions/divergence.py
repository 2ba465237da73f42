"""Comparing the steps of two trajectories: equal calls whatever the names of handles, and an alignment of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal

from sessions.trajectory import Answer, CallTool, GiveUp, Message, Step
from toolenv.model import Json, Value


class Pair(Value, frozen=True):
    """One row of an alignment: indexes from 0 into the left and the right steps, None where a side has nothing."""

    left: int | None
    right: int | None
    relation: Literal["same", "changed", "only_left", "only_right"]


def step_keys(steps: Sequence[Step]) -> list[Any]:
    """One hashable key a step: what was decided, with handles replaced by the number of the call that made them.

    Two trajectories that do the same have the same keys, though their sessions counted handles differently. Openings
    have the key None. Who decided and what came of it are no part of a key.
    """
    made: dict[str, int] = {}
    keys: list[Any] = []
    calls = 0
    for step in steps:
        if step.opening:
            keys.append(None)
            if step.result is not None and step.result.handle is not None:
                made[step.result.handle] = 0
            continue
        keys.append(_key(step, made))
        if isinstance(step.decision, CallTool):
            calls += 1
            if step.result is not None and step.result.handle is not None:
                made[step.result.handle] = calls
    return keys


def _key(step: Step, made: Mapping[str, int]) -> Any:
    decision = step.decision
    if isinstance(decision, CallTool):
        if decision.call.raw_arguments is not None:
            return ("call", decision.call.name, decision.call.raw_arguments)
        arguments = decision.call.arguments if step.executed_arguments is None else step.executed_arguments
        return ("call", decision.call.name, _frozen(arguments, made))
    if isinstance(decision, Answer):
        return ("answer", decision.text)
    if isinstance(decision, GiveUp):
        return ("give_up",)
    assert isinstance(decision, Message)
    return ("message", decision.role, decision.text)


def _frozen(value: Json, made: Mapping[str, int]) -> Any:
    if isinstance(value, str):
        return ("handle", made[value]) if value in made else ("text", value)
    if isinstance(value, bool) or value is None:
        return ("constant", value)
    if isinstance(value, int | float):
        # NaN is the same argument as NaN, though no number equals it.
        return ("number", value if value == value else "nan")
    if isinstance(value, Mapping):
        return ("object", tuple(sorted((str(key), _frozen(item, made)) for key, item in value.items())))
    return ("list", tuple(_frozen(item, made) for item in value))


def first_divergence(steps: Sequence[Step], reference: Sequence[Step], domain: str) -> int | None:
    """Index (from 0) of the first call that the reference does not have at its place; None while they agree.

    Calls are compared in order, openings left out. An answer diverges when the reference still has calls to make;
    the wording of answers is not compared. Other spellings of a name of ``domain``'s tools are that name.
    """
    from toolenv.recorded.aliases import own_name

    expected = [key for key in step_keys(reference) if key is not None and key[0] == "call"]
    names = {key[1] for key in expected}
    position = 0
    for index, key in enumerate(step_keys(steps)):
        if key is None or key[0] == "message":
            continue
        if key[0] != "call":
            return index if position < len(expected) else None
        key = (key[0], own_name(key[1], domain, names), *key[2:])
        if position >= len(expected) or key != expected[position]:
            return index
        position += 1
    return None


def aligned(left: Sequence[Step], right: Sequence[Step]) -> list[Pair]:
    """Two trajectories side by side: equal steps in one row, replaced ones in one row, the rest alone."""
    matcher = SequenceMatcher(None, step_keys(left), step_keys(right), autojunk=False)
    pairs: list[Pair] = []
    for tag, left_from, left_to, right_from, right_to in matcher.get_opcodes():
        both = min(left_to - left_from, right_to - right_from)
        relation: Literal["same", "changed"] = "same" if tag == "equal" else "changed"
        pairs += [Pair(left=left_from + n, right=right_from + n, relation=relation) for n in range(both)]
        pairs += [Pair(left=n, right=None, relation="only_left") for n in range(left_from + both, left_to)]
        pairs += [Pair(left=None, right=n, relation="only_right") for n in range(right_from + both, right_to)]
    return pairs
