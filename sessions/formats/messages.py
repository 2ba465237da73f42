"""Chat messages (OpenAI's form and its relatives) as calls with their responses, and an answer.

Ids of calls are not unique in the wild: they restart with every turn, or are empty. Results are therefore paired within
the turn that made the calls: by id where it is the only one of its turn, else by position.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sessions.formats.model import Entry, Exchange, Imported, call_of, instance_of, text_of, trajectory_of
from sessions.trajectory import Message
from toolenv.model import Instance, Json, ToolCall, Turn

KNOWN = frozenset({"uuid", "id", "domain", "capability", "messages", "tools", "query", "answer", "turn_id"})


@dataclass
class Dialogue:
    """A list of messages, understood. ``entries`` are those behind the last question."""

    context: list[Turn] = field(default_factory=list)
    query: str = ""
    system: str = ""
    entries: list[Entry] = field(default_factory=list)
    answer: str | None = None
    problems: list[str] = field(default_factory=list)


def read_messages(messages: Sequence[Json]) -> Dialogue:
    """Understand a list of messages. Never raises; what could not be understood is said in ``problems``."""
    told = Dialogue()
    understood: list[Mapping[str, Json]] = []
    for number, message in enumerate(messages, start=1):
        if isinstance(message, Mapping) and isinstance(message.get("role"), str):
            understood.append(message)
        else:
            told.problems.append(f"message {number}: an object with a role was expected; it is left out")
    asked = [index for index, message in enumerate(understood) if message["role"] == "user"]
    last = asked[-1] if asked else -1
    if not asked:
        told.problems.append("there is no message of a user, so the question is not known")
    for index in asked[:-1]:
        query, answer = text_of(understood[index].get("content")) or "", None
        for message in understood[index + 1 : asked[asked.index(index) + 1]]:
            if message["role"] == "assistant" and text_of(message.get("content")) and not message.get("tool_calls"):
                answer = text_of(message.get("content"))
            if message.get("tool_calls"):
                _say(told, "calls of earlier turns are context and are not taken over")
        told.context.append(Turn(turn_id=len(told.context), query=query, answer=answer))
    told.query = (text_of(understood[last].get("content")) or "") if asked else ""
    for message in understood[: max(last, 0)]:
        if message["role"] in ("system", "developer"):
            told.system = "\n".join(filter(None, (told.system, text_of(message.get("content")))))
    _follow(told, understood[last + 1 :])
    return told


def _follow(told: Dialogue, messages: Sequence[Mapping[str, Json]]) -> None:
    index = 0
    while index < len(messages):
        message = messages[index]
        index += 1
        role = str(message["role"])
        text = text_of(message.get("content"))
        if role == "assistant":
            calls = list(_calls(message, told))
            results: list[Mapping[str, Json]] = []
            while index < len(messages) and messages[index]["role"] in ("tool", "function"):
                results.append(messages[index])
                index += 1
            if not calls:
                if told.answer is not None:
                    told.entries.append(Message(role=role, text=told.answer))
                told.answer = text or ""
                _unclaimed(told, results)
                continue
            if told.answer is not None:
                told.entries.append(Message(role=role, text=told.answer))
                told.answer = None
            if text:
                told.entries.append(Message(role=role, text=text))
            told.entries.extend(_paired(calls, results, told))
        elif role in ("tool", "function"):
            _unclaimed(told, [message])
        elif text:
            told.entries.append(Message(role=role, text=text))


def _calls(message: Mapping[str, Json], told: Dialogue) -> Iterator[ToolCall]:
    calls = message.get("tool_calls")
    if calls is None and isinstance(message.get("function_call"), Mapping):
        calls = [{"function": message["function_call"]}]
    if calls is None:
        return
    if not isinstance(calls, list):
        _say(told, "tool_calls: a list was expected; it is left out")
        return
    for call in calls:
        if not isinstance(call, Mapping):
            _say(told, "tool_calls: an object was expected for each call; others are left out")
            continue
        function = call.get("function")
        if isinstance(function, Mapping):
            yield call_of(function.get("name"), function.get("arguments"), call.get("id"))
        else:
            name = function if isinstance(function, str) else call.get("name")
            yield call_of(name, call.get("arguments", call.get("args")), call.get("id"))


def _paired(calls: Sequence[ToolCall], results: Sequence[Mapping[str, Json]], told: Dialogue) -> Iterator[Exchange]:
    ids = Counter(call.id for call in calls)
    given = Counter(result.get("tool_call_id") for result in results)
    taken: dict[int, int] = {}
    for position, call in enumerate(calls):
        if call.id and ids[call.id] == 1 and given[call.id] == 1:
            taken[position] = next(n for n, result in enumerate(results) if result.get("tool_call_id") == call.id)
    free = [number for number in range(len(results)) if number not in taken.values()]
    for position in range(len(calls)):
        if position not in taken and free:
            taken[position] = free.pop(0)
    for position, call in enumerate(calls):
        if position in taken:
            yield _exchange(call, results[taken[position]])
        else:
            yield Exchange(call=call)
    _unclaimed(told, [results[number] for number in free])


def _exchange(call: ToolCall, result: Mapping[str, Json]) -> Exchange:
    error = result.get("error")
    if isinstance(error, Mapping):
        text = text_of(error.get("message")) or text_of(result.get("content")) or ""
        return Exchange(call=call, text=text, is_error=True)
    said = text_of(result.get("content", result.get("result")))
    return Exchange(call=call, text=said or "", is_error=result.get("is_error") is True)


def _unclaimed(told: Dialogue, results: Sequence[Mapping[str, Json]]) -> None:
    if results:
        _say(told, "a tool's result belongs to no call before it and is left out")


def _say(told: Dialogue, sentence: str) -> None:
    if sentence not in told.problems:
        told.problems.append(sentence)


def imported(record: Mapping[str, Json] | Sequence[Json], name: str, form: str, default_uuid: str) -> Imported:
    """One message list, alone or in an object that says what it belongs to."""
    about: Mapping[str, Json] = record if isinstance(record, Mapping) else {}
    messages = about.get("messages") if isinstance(record, Mapping) else record
    told = read_messages(messages if isinstance(messages, Sequence) and not isinstance(messages, str) else [])
    if isinstance(record, Mapping) and not isinstance(messages, list):
        told.problems.append("messages: a list was expected")
    uuid = about.get("uuid") or about.get("id")
    capability = about.get("capability")
    instance: Instance = instance_of(
        uuid if isinstance(uuid, str) else default_uuid,
        str(about["domain"]) if isinstance(about.get("domain"), str) else "",
        told.query,
        context=told.context,
        capability=capability if isinstance(capability, int) and not isinstance(capability, bool) else None,
        policy=told.system,
    )
    answer = told.answer
    if answer is None and isinstance(about.get("answer"), str):
        answer = str(about["answer"])
    gave_up = "The messages end without an answer." if answer is None else None
    return Imported(
        name=name,
        form=form,
        trajectory=trajectory_of(instance, told.entries, answer, gave_up=gave_up),
        extra={key: value for key, value in about.items() if key not in KNOWN},
        problems=tuple(f"{name}: {problem}" for problem in told.problems),
    )
