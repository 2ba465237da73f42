"""Ground-truth and prediction records as the released evaluator reads them: raw, and only in the public layout.

What the release stumbles over is a ``MalformedRecord`` here (contract, rows E10 and E11): it gets a status of its own,
and the other records of the domain are scored all the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from toolenv.model import Json, ToolCall, Value

OPENER = "initialize_active_data"


class MalformedRecord(Exception):
    """A record that the released evaluator cannot score; the message says why."""


class TurnRecord(Value, frozen=True):
    """One output turn.

    ``calls`` is the turn's ``tool_call`` list, None where there is no such key (or the sequence is a list, which the
    release takes for one without calls). A call without a name has the name "". ``responses`` is the file's own
    ``tool_response`` list, None where it has none.
    """

    turn_id: Json
    query: str
    answer: Json
    calls: tuple[ToolCall, ...] | None
    responses: tuple[Json, ...] | None


def ground_truth_turns(record: Json) -> tuple[TurnRecord, ...]:
    """All turns of a ground-truth record, the last one being evaluated. Raises ``MalformedRecord``."""
    turns = _turns(record)
    if not turns:
        raise MalformedRecord("the ground truth has no output turn")
    return turns


def predicted_turn(record: Json) -> TurnRecord:
    """The one turn of a prediction. Raises ``MalformedRecord``."""
    turns = _turns(record)
    if len(turns) != 1:
        raise MalformedRecord(f"the prediction has {len(turns)} output turns, where exactly one is due")
    return turns[0]


def opened(turns: tuple[TurnRecord, ...], uuid: str, *, is_truth: bool) -> tuple[TurnRecord, ...]:
    """The turns with ``get_data(<uuid>)`` before the calls of the first turn that has calls (capability 1).

    A ground truth's ``initialize_active_data`` is taken out only where it is the very first call. Where a ground
    truth's very first call already is the opening, it is left at that: such records hold what the release would add.
    """
    opening = ToolCall(name="get_data", arguments={"tool_universe_id": uuid})
    if is_truth and turns[0].calls:
        first = turns[0].calls[0]
        if first.name == OPENER:
            turns = (_with_calls(turns[0], turns[0].calls[1:]), *turns[1:])
        elif first.name == "get_data" and first.arguments == opening.arguments:
            return turns
    for position, turn in enumerate(turns):
        if turn.calls is not None:
            changed = _with_calls(turn, (opening, *turn.calls))
            return (*turns[:position], changed, *turns[position + 1 :])
    return turns


def _with_calls(turn: TurnRecord, calls: tuple[ToolCall, ...]) -> TurnRecord:
    return TurnRecord(turn_id=turn.turn_id, query=turn.query, answer=turn.answer, calls=calls, responses=turn.responses)


def _turns(record: Json) -> tuple[TurnRecord, ...]:
    output = record.get("output") if isinstance(record, Mapping) else None
    if not isinstance(output, list):
        raise MalformedRecord("the record has no list of output turns")
    return tuple(_turn(turn) for turn in output)


def _turn(turn: Json) -> TurnRecord:
    if not isinstance(turn, Mapping):
        raise MalformedRecord("an output turn is not an object")
    sequence = turn.get("sequence", {})
    if not isinstance(sequence, Mapping | list):
        raise MalformedRecord("the sequence of an output turn is not an object")
    calls = sequence.get("tool_call") if isinstance(sequence, Mapping) and "tool_call" in sequence else None
    if isinstance(sequence, Mapping) and "tool_call" in sequence and not isinstance(calls, list):
        raise MalformedRecord("the tool calls of an output turn are not a list")
    responses = sequence.get("tool_response") if isinstance(sequence, Mapping) else None
    query = turn.get("query")
    return TurnRecord(
        turn_id=turn.get("turn_id"),
        query=query if isinstance(query, str) else "",
        answer=turn.get("answer"),
        calls=None if calls is None else tuple(_call(call) for call in calls),
        responses=tuple(responses) if isinstance(responses, list) else None,
    )


def _call(call: Json) -> ToolCall:
    if not isinstance(call, Mapping):
        raise MalformedRecord("a tool call is not an object")
    name = call.get("name")
    if not name:
        return ToolCall(name="", arguments={})
    if not isinstance(name, str):
        raise MalformedRecord("the name of a tool call is not a text")
    arguments = call.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            raise MalformedRecord(f"the arguments of {name} are a text that is not JSON") from None
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, Mapping):
        raise MalformedRecord(f"the arguments of {name} are not an object")
    return ToolCall(name=name, arguments=dict(arguments))
