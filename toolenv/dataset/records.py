"""From decoded records, in every spelling that public data use, to instances and predictions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from toolenv.decoding import decoded, seconds_of
from toolenv.model import GroundTruth, GroundTruthTurn, Instance, Json, Prediction, ToolCall, Turn

_RECORD_KEYS: Final = frozenset(
    {
        "uuid",
        "domain",
        "num_turns",
        "dialogue",
        "turns",
        "tools",
        "additional_instructions",
        "output",
        "ground_truth",
        "query",
        "status",
        "error",
        "duration_s",
    }
)
_TURN_KEYS: Final = frozenset({"turn_id", "query", "answer", "sequence", "gold_sequence", "tool_call", "tool_response"})


class _Notes(list[str]):
    """What was odd in a record, each said once."""

    def say(self, sentence: str) -> None:
        if sentence not in self:
            self.append(sentence)


def instance_from(
    capability: int,
    domain: str,
    uuid: str,
    input_record: Mapping[str, Json] | None,
    output_record: Mapping[str, Json] | None,
) -> Instance:
    """Pair an input and an output record, either of which may be missing.

    A record without ground truth makes an instance without it. Never raises on odd content: what could not be
    understood is left out and said in ``problems``.
    """
    notes = _Notes()
    truth = _ground_truth(output_record, notes)
    turns = _dialogue(input_record, notes) if input_record is not None else ()
    if not turns:
        turns = _dialogue_of_output(output_record)
    if not turns:
        notes.say("the record has no turn with a query")
        turns = (Turn(turn_id=0, query=""),)
    for record in (input_record, output_record):
        named = record.get("domain") if record is not None else None
        if named is not None and named != domain:
            notes.say(f"the record names the domain {named!r}, but lies in the file of {domain}")
    return Instance(
        uuid=uuid,
        capability=capability,
        domain=domain,
        turns=turns,
        policy=_policy(input_record, output_record, notes),
        universe_id=uuid if capability == 1 else None,
        ground_truth=truth,
        author_keys=_author_keys(output_record, input_record),
        problems=tuple(notes),
    )


def prediction_from(capability: int | None, domain: str, uuid: str, record: Mapping[str, Json]) -> Prediction:
    """Read one record of a run; ``output`` may also be named ``ground_truth`` as in older exports.

    With several output turns the last one is taken, and ``problems`` says so.
    """
    notes = _Notes()
    turns = _turns(record, notes)
    if not turns:
        notes.say("the record has no output turn")
    elif len(turns) > 1:
        notes.say(f"the record has {len(turns)} output turns, where exactly one is due; the last one is shown")
    turn = turns[-1] if turns else {}
    calls, responses = _sequence(turn, notes)
    answer = turn.get("answer")
    if answer is not None and not isinstance(answer, str):
        notes.say(f"the answer is {kind_of(answer)}, not text; its JSON text is taken")
    named = record.get("domain")
    if named is not None and named != domain:
        notes.say(f"the record names the domain {named!r}, but lies in the file of {domain}")
    return Prediction(
        uuid=uuid,
        domain=domain,
        capability=capability,
        query=_text(turn.get("query")),
        answer=_text(answer),
        calls=calls,
        turn_id=_turn_id(turn, 0, notes),
        turns=len(turns),
        status=_text(record.get("status")) or "success",
        error=_text(record.get("error")),
        duration_s=seconds_of(record.get("duration_s")),
        responses=responses,
        problems=tuple(notes),
    )


def calls_from(sequence: Json) -> tuple[tuple[ToolCall, ...], tuple[Json, ...] | None, tuple[str, ...]]:
    """(calls, responses, what was odd) of one ``sequence`` in any of its spellings."""
    notes = _Notes()
    calls, responses = _sequence({"sequence": sequence}, notes)
    return calls, responses, tuple(notes)


# --- turns -----------------------------------------------------------------------------------------------------------


def _turns(record: Mapping[str, Json] | None, notes: _Notes) -> list[Mapping[str, Json]]:
    """The output turns of a record, under either of their names."""
    if record is None:
        return []
    output = record.get("output")
    if output is None:
        output = record.get("ground_truth")
    if output is None:
        return []
    if isinstance(output, dict):
        output = [output]
    if not isinstance(output, list):
        notes.say(f"output is {kind_of(output)}, where a list of turns is due")
        return []
    turns: list[Mapping[str, Json]] = [turn for turn in output if isinstance(turn, dict)]
    if len(turns) < len(output):
        notes.say("output holds a turn that is no object")
    return turns


def _ground_truth(record: Mapping[str, Json] | None, notes: _Notes) -> GroundTruth | None:
    turns = _turns(record, notes)
    if not turns:
        if record is not None and ("output" in record or "ground_truth" in record):
            notes.say("the ground truth has no turn")
        return None
    made = []
    for position, turn in enumerate(turns):
        calls, responses = _sequence(turn, notes)
        made.append(
            GroundTruthTurn(
                turn_id=_turn_id(turn, position, notes),
                query=_text(turn.get("query")),
                answer=turn.get("answer"),
                calls=calls,
                responses=responses,
            )
        )
    return GroundTruth(turns=tuple(made))


def _dialogue(record: Mapping[str, Json], notes: _Notes) -> tuple[Turn, ...]:
    dialogue = record.get("dialogue", record.get("turns"))
    if isinstance(dialogue, dict):
        dialogue = dialogue.get("turns")
    if dialogue is None and isinstance(record.get("query"), str):
        dialogue = [{"turn_id": 0, "query": record["query"]}]
    if not isinstance(dialogue, list):
        if dialogue is not None:
            notes.say(f"the dialogue is {kind_of(dialogue)}, where a list of turns is due")
        return ()
    turns = []
    for position, turn in enumerate(dialogue):
        if isinstance(turn, dict) and isinstance(turn.get("query"), str):
            last = position == len(dialogue) - 1
            answer = None if last else turn.get("answer")
            turns.append(Turn(turn_id=_turn_id(turn, position, notes), query=turn["query"], answer=answer))
        else:
            notes.say(f"turn {position + 1} of the dialogue has no query")
    return tuple(turns)


def _dialogue_of_output(record: Mapping[str, Json] | None) -> tuple[Turn, ...]:
    """The dialogue as the ground truth shows it, where there is no input record; the answer due is not given away."""
    silent = _Notes()
    turns = _turns(record, silent)
    return tuple(
        Turn(
            turn_id=_turn_id(turn, position, silent),
            query=_text(turn.get("query")),
            answer=turn.get("answer") if position < len(turns) - 1 else None,
        )
        for position, turn in enumerate(turns)
    )


def _turn_id(turn: Mapping[str, Json], position: int, notes: _Notes) -> int:
    value = turn.get("turn_id")
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if value is not None:
        notes.say(f"turn_id is {kind_of(value)}, where a whole number is due")
    return position


def _policy(input_record: Mapping[str, Json] | None, output_record: Mapping[str, Json] | None, notes: _Notes) -> str:
    for record in (input_record, output_record):
        value = record.get("additional_instructions") if record is not None else None
        if isinstance(value, str):
            return value
        if value is not None:
            notes.say(f"additional_instructions is {kind_of(value)}, where text is due")
    return ""


def _author_keys(output_record: Mapping[str, Json] | None, input_record: Mapping[str, Json] | None) -> dict[str, Json]:
    """Keys that only some datasets have; those of the evaluated turn beside the record's, all under ``turns``."""
    found: dict[str, Json] = {}
    for record in (input_record, output_record):
        if record is not None:
            found.update((name, value) for name, value in record.items() if name not in _RECORD_KEYS)
    turns = [
        {name: value for name, value in turn.items() if name not in _TURN_KEYS}
        for turn in _turns(output_record, _Notes())
    ]
    if any(turns):
        for name, value in turns[-1].items():
            found.setdefault(name, value)
        found["turns"] = turns
    return found


# --- calls -----------------------------------------------------------------------------------------------------------


def _sequence(turn: Mapping[str, Json], notes: _Notes) -> tuple[tuple[ToolCall, ...], tuple[Json, ...] | None]:
    """The calls of a turn and the responses that stand beside them (None where there are none at all)."""
    sequence = turn.get("sequence")
    if sequence is None:
        sequence = turn.get("gold_sequence")
    if sequence is None and ("tool_call" in turn or "tool_response" in turn):
        sequence = turn
    if sequence is None:
        return (), None
    if isinstance(sequence, dict):
        parts: list[Json] = [sequence]
    elif isinstance(sequence, list):
        parts = sequence
        if turn.get("gold_sequence") is not sequence:
            notes.say(f"the sequence is a list of {len(parts)} parts and is read as their concatenation")
    else:
        notes.say(f"the sequence is {kind_of(sequence)}, where an object is due")
        return (), None
    calls: list[ToolCall] = []
    responses: list[Json] = []
    any_response = False
    for part in parts:
        if not isinstance(part, dict):
            notes.say(f"a part of the sequence is {kind_of(part)}, where an object is due")
            continue
        if "tool_call" not in part and "name" in part:
            part = {"tool_call": part, **({"tool_response": part["tool_response"]} if "tool_response" in part else {})}
        found = part.get("tool_response")
        any_response |= found is not None
        for call, response in _paired(part.get("tool_call"), found, notes):
            calls.append(call)
            responses.append(response)
    return tuple(calls), tuple(responses) if any_response else None


def _paired(written: Json, found: Json, notes: _Notes) -> Iterator[tuple[ToolCall, Json]]:
    """Calls with their responses: a call alone, a list, or a list of lists with responses nested alike."""
    if written is None:
        return
    entries = written if isinstance(written, list) else [written]
    if not isinstance(found, list) or (not isinstance(written, list) and len(entries) == 1 and len(found) != 1):
        found = [] if found is None else [found]
    for position, entry in enumerate(entries):
        response = found[position] if position < len(found) else None
        if isinstance(entry, list):
            nested = response if isinstance(response, list) and len(response) == len(entry) else None
            yield from _paired(entry, nested if nested is not None else [response], notes)
            continue
        call = _call(entry, position, notes)
        if call is not None:
            yield call, response


def _call(entry: Json, position: int, notes: _Notes) -> ToolCall | None:
    if isinstance(entry, dict) and isinstance(entry.get("function"), dict) and "name" not in entry:
        entry = {**entry, **entry["function"]}
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not name:
        notes.say(f"call {position + 1} has no name and was left out")
        return None
    arguments = entry.get("arguments", entry.get("args"))
    raw: str | None = None
    if isinstance(arguments, str):
        raw, arguments = _arguments_in_text(arguments)
        if raw is not None:
            notes.say(f"the arguments of call {position + 1} ({name}) are text that is no JSON object")
    elif arguments is None:
        arguments = {}
    elif not isinstance(arguments, dict):
        raw = json.dumps(arguments)
        notes.say(f"the arguments of call {position + 1} ({name}) are {kind_of(arguments)}, where an object is due")
        arguments = {}
    label, call_id = entry.get("label"), entry.get("id")
    return ToolCall(
        name=name,
        arguments=arguments,
        raw_arguments=raw,
        id=call_id if isinstance(call_id, str) else None,
        label=label if isinstance(label, str) else None,
    )


def _arguments_in_text(text: str) -> tuple[str | None, dict[str, Json]]:
    """(text that is no object, arguments) of arguments that came as JSON text; no text at all is no arguments."""
    if not text.strip():
        return None, {}
    try:
        arguments = decoded(text)
    except ValueError:
        return text, {}
    return (None, arguments) if isinstance(arguments, dict) else (text, {})


def _text(value: Json) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def kind_of(value: Json) -> str:
    """How a sentence names the type of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list) else "an object"
