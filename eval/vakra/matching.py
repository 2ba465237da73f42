"""What the released evaluator compares: responses by list membership, answers flattened (contract, 3.4 to 3.6)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from eval.vakra.records import MalformedRecord, TurnRecord
from eval.vakra.replay import ReplayedTurn, is_retriever
from toolenv.model import Json

WINDOW = 20
"""How many of the last predicted responses the release looks at (row E8)."""


def predicted_responses(turn: TurnRecord, replayed: Sequence[ReplayedTurn], capability: int) -> list[str]:
    """The responses injected into a predicted turn, one a call: padded with None (empty text) or cut."""
    fresh: list[Json] = list(replayed[0].texts) if replayed else []
    calls = _kept_calls(turn, capability)
    if capability == 4 and _has_retriever([call.name for call in turn.calls or ()]):
        fresh = []
        for made in replayed[0].calls if replayed else ():
            if made.result is not None:
                fresh.append(_passages(made.text) if is_retriever(made.call.name) else made.text)
    return [_compared(response) for response in _padded(fresh, calls)]


def expected_responses(turns: Sequence[TurnRecord], replayed: Sequence[ReplayedTurn], capability: int) -> list[str]:
    """The responses of the evaluated ground-truth turn.

    Turns are paired with what was executed by position, although turns without calls were not executed: they shift it
    (row E11). From the first turn with a retriever call on, the file's own list is overwritten in place. Raises
    ``MalformedRecord`` where the release fails on a missing or short list.
    """
    sticky = False
    responses: list[Json] = []
    for position, turn in enumerate(turns):
        calls = turn.calls or ()
        fresh = replayed[position] if position < len(replayed) else None
        sticky = sticky or (capability == 4 and _has_retriever([call.name for call in calls]))
        if sticky and calls:
            responses = _overwritten(turn, fresh)
        else:
            responses = _padded(list(fresh.texts) if fresh is not None else [], len(calls))
    return [_compared(response) for response in responses]


def missing_responses(expected: Sequence[str], predicted: Sequence[str], window: int = WINDOW) -> list[str]:
    """The expected responses that are not among the last predicted ones; order and number do not matter."""
    seen = set(predicted[-window:])
    return [response for response in expected if response not in seen]


def flattened(answer: Json) -> list[str]:
    """A ground-truth answer as the release reads it: of a nested list the first element of each row (row E15)."""
    if answer is None:
        return []
    if not isinstance(answer, list):
        return [_folded(answer)]
    return [_folded(item[0] if isinstance(item, list) and item else "" if item == [] else item) for item in answer]


def answer_text(answer: Json) -> str:
    """The flattened answer as one text, in lower case, white space folded."""
    return _folded(", ".join(flattened(answer)))


def _folded(value: Json) -> str:
    return " ".join(str(value).lower().split())


def _kept_calls(turn: TurnRecord, capability: int) -> int:
    """How many calls a predicted turn counts: in capability 1 the opening even where it was never executed."""
    if turn.calls is None:
        return 1 if capability == 1 else 0
    return len(turn.calls)


def _padded(responses: list[Json], length: int) -> list[Json]:
    return [*responses[:length], *([None] * (length - len(responses)))]


def _overwritten(turn: TurnRecord, fresh: ReplayedTurn | None) -> list[Json]:
    if turn.responses is None:
        raise MalformedRecord("a ground-truth turn at or after a retriever call has no recorded responses")
    calls = turn.calls or ()
    if len(turn.responses) < len(calls):
        raise MalformedRecord("a ground-truth turn with a retriever call has fewer recorded responses than calls")
    kept = list(turn.responses)
    for position, call in enumerate(calls):
        if is_retriever(call.name):
            kept[position] = _texts(kept[position])
        else:
            made = fresh.calls[position] if fresh is not None and position < len(fresh.calls) else None
            kept[position] = made.text if made is not None else None
    return kept


def _texts(passages: Json) -> Json:
    if not isinstance(passages, list):
        return passages
    return [passage["text"] if isinstance(passage, Mapping) and "text" in passage else passage for passage in passages]


def _passages(text: str) -> list[Json]:
    """The texts in a retriever's response; none where it failed."""
    try:
        found = json.loads(text)
        return [passage["text"] for passage in found["results"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []


def _compared(response: Json) -> str:
    return "" if response is None else response if isinstance(response, str) else str(response)


def _has_retriever(names: Sequence[str]) -> bool:
    return any(is_retriever(name) for name in names)
