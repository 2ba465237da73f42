"""What the form of the final answer begins with: the value that a person is looking at."""

from __future__ import annotations

import json

from toolenv.decoding import decoded
from toolenv.model import Json, Value
from vakra_tui.state.scene import StepRow

LONGEST_READ = 20_000
"""Characters of a response up to which it is read for a lone value."""

LONGEST_ANSWER = 2_000
"""Characters of a value that are offered; a longer one is no answer that somebody would take as it is."""


class Offered(Value, frozen=True):
    """A text for the answer's field, and where it comes from in words; both empty where nothing is offered."""

    text: str = ""
    source: str = ""


def offered(row: StepRow | None, looked_at: Json = None, where: str = "") -> Offered:
    """The value under the cursor of the step's pane (``looked_at`` and ``where`` it stands; None where none does), else
    the answer of the row, else the only value of its response.
    """
    if looked_at is not None:
        return _of(looked_at, where)
    if row is None:
        return Offered()
    if row.outcome in ("answer", "pending") and row.call is None and row.answer:
        who = "the recorded answer" if row.actor == "recording" else "the answer of this step"
        return _of(row.answer, who)
    result = row.step.result if row.step is not None else None
    if result is None or result.failed or result.handle or len(result.text) > LONGEST_READ:
        return Offered()
    try:
        value = decoded(result.text)
    except ValueError:
        return Offered()
    lone = _lone(value)
    return _of(lone, f"the only value of the response of step {row.number}") if lone is not None else Offered()


def _of(value: Json, source: str) -> Offered:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) > LONGEST_ANSWER or isinstance(value, list | dict):
        return Offered()
    return Offered(text=text, source=source)


def _lone(value: Json) -> Json:
    """The one scalar in nested lists and objects; None where there are none or several."""
    while isinstance(value, dict | list) and len(value) == 1:
        value = next(iter(value.values())) if isinstance(value, dict) else value[0]
    return None if isinstance(value, dict | list) else value
