"""Comparing the steps of two trajectories: equal calls whatever the names of handles, and where the first differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sessions.trajectory import Answer, CallTool, GiveUp, Message, Step
from toolenv.model import Json


def step_keys(
    steps: Sequence[Step], names: dict[Any, int] | None = None, made: dict[str, int] | None = None
) -> list[Any]:
    """One hashable key a step: what was decided, with handles replaced by the number of the call that made them.

    Two trajectories that do the same have the same keys, though their sessions counted handles differently. Openings
    have the key None. Who decided and what came of it are no part of a key.

    ``names``, handed in for both of two trajectories, numbers calls by their keys: a handle then stands for what made
    it, wherever in its trajectory that was. ``made`` is filled with the number behind every handle.
    """
    made = {} if made is None else made
    keys: list[Any] = []
    calls = 0
    for step in steps:
        if step.opening:
            keys.append(None)
            if step.result is not None and step.result.handle is not None:
                made[step.result.handle] = 0
            continue
        key = _key(step, made)
        keys.append(key)
        if isinstance(step.decision, CallTool):
            calls += 1
            if step.result is not None and step.result.handle is not None:
                made[step.result.handle] = calls if names is None else names.setdefault(key, len(names) + 1)
    return keys


def _key(step: Step, made: Mapping[str, int]) -> Any:
    decision = step.decision
    if isinstance(decision, CallTool):
        if decision.call.raw_arguments is not None:
            return ("call", decision.call.name, decision.call.raw_arguments)
        arguments = decision.call.arguments if step.executed_arguments is None else step.executed_arguments
        return ("call", decision.call.name, frozen(arguments, made))
    if isinstance(decision, Answer):
        return ("answer", decision.text)
    if isinstance(decision, GiveUp):
        return ("give_up",)
    assert isinstance(decision, Message)
    return ("message", decision.role, decision.text)


def frozen(value: Json, made: Mapping[str, int]) -> Any:
    """A value in a form that is hashable and equal where the values are; handles are replaced by their number."""
    if isinstance(value, str):
        return ("handle", made[value]) if value in made else ("text", value)
    if isinstance(value, bool) or value is None:
        return ("constant", value)
    if isinstance(value, int | float):
        # NaN is the same argument as NaN, though no number equals it.
        return ("number", value if value == value else "nan")
    if isinstance(value, Mapping):
        return ("object", tuple(sorted((str(key), frozen(item, made)) for key, item in value.items())))
    return ("list", tuple(frozen(item, made) for item in value))


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
