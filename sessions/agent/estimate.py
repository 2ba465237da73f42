"""What an agent is expected to ask, before anything is asked."""

from __future__ import annotations

from toolenv.model import Instance

USUAL_CALLS = 4
"""Calls of an instance without a reference path."""

TOKENS_OF_TOOLS = {1: 3_000, 2: 9_000, 3: 9_000, 4: 9_000}
"""Of a usual tool list, by capability; 128 endpoints with one or two parameters make about so many."""

TOKENS_OF_A_RESULT = 250
TOKENS_OF_INSTRUCTIONS = 400


def expected_of(instance: Instance) -> tuple[int, int]:
    """(completions, tokens sent) for one instance: one completion a call of the reference path and one to answer.

    Every completion is sent everything before it.
    """
    calls = USUAL_CALLS
    if instance.ground_truth is not None:
        calls = len(instance.ground_truth.evaluated.calls)
    asked = calls + 1
    fixed = TOKENS_OF_INSTRUCTIONS + TOKENS_OF_TOOLS[instance.capability]
    fixed += sum(len(turn.query) for turn in instance.turns) // 4 + len(instance.policy) // 4
    return asked, asked * fixed + TOKENS_OF_A_RESULT * asked * (asked - 1) // 2
