"""What an agent proposes, as a person decides about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sessions.agent.prompt import rejection
from sessions.trajectory import Answer, CallTool, Check, Decision, GiveUp
from toolenv.model import Json, Value
from vakra_tui.state.form import raw_line

if TYPE_CHECKING:
    from sessions.store.records import RequestRecord

SHOWN_TO_THE_MODEL = 1000
"""Characters of a rejected proposal that are repeated to the model."""


class Offer(Value, frozen=True):
    """A proposed step. ``executed`` are the arguments as they will be executed where the schema's types change them.

    ``request`` is what was asked for it, None where that is not known (an agent of somebody else).
    """

    number: int
    agent: str
    decision: Decision
    executed: Mapping[str, Json] | None = None
    checks: tuple[Check, ...] = ()
    request: RequestRecord | None = None


def rejected(decision: Decision, word: str) -> str:
    """What a model is told of a proposal that a person rejected, with the person's word."""
    if isinstance(decision, CallTool):
        return rejection(f"The call {raw_line(decision.call)[:SHOWN_TO_THE_MODEL]} was not run", word)
    if isinstance(decision, Answer):
        return rejection(f"The answer {decision.text[:SHOWN_TO_THE_MODEL]!r} was not accepted", word)
    why = decision.reason if isinstance(decision, GiveUp) else decision.text
    return rejection(f"Your last message was not accepted ({why[:SHOWN_TO_THE_MODEL]})", word)
