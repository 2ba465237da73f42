"""Results of VAKRA's own runner: records with a ``trajectory`` of typed messages.

A record is ``{uuid, domain, query, answer, status, error, duration_s, turn_id, tool_calls, trajectory}``. Entries of
the trajectory are ``{type, content}`` with the types ``SystemMessage``, ``HumanMessage``, ``AIMessage`` (with
``tool_calls`` of ``{id, name, args}``) and ``ToolMessage`` (with ``tool_name``, ``tool_call_id``, ``result``). Where
the trajectory is empty, ``tool_calls`` of ``{tool_name, arguments, result}`` tell the calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sessions.formats.messages import read_messages
from sessions.formats.model import Entry, Exchange, Imported, call_of, instance_of, text_of, trajectory_of
from toolenv.model import Json

KNOWN = frozenset(
    {"uuid", "domain", "query", "answer", "status", "error", "duration_s", "turn_id", "tool_calls", "trajectory"}
    | {"context", "capability"}
)
ROLES = {"SystemMessage": "system", "HumanMessage": "user", "AIMessage": "assistant", "ToolMessage": "tool"}


def is_runner_record(record: Json) -> bool:
    return (
        isinstance(record, Mapping) and ("trajectory" in record or "tool_calls" in record) and "messages" not in record
    )


def imported(record: Mapping[str, Json], name: str, default_uuid: str) -> Imported:
    """One record of the runner."""
    written = record.get("trajectory")
    problems: list[str] = []
    if written is not None and not isinstance(written, list):
        problems.append("trajectory: a list was expected")
    told = read_messages([_message(entry) for entry in written] if isinstance(written, list) else [])
    if isinstance(written, list) and written:
        problems.extend(told.problems)
    entries: list[Entry] = list(told.entries)
    if not any(isinstance(entry, Exchange) for entry in entries):
        entries.extend(_listed(record.get("tool_calls"), problems))
    answer = record.get("answer", told.answer)
    query = record.get("query")
    uuid = record.get("uuid")
    capability = record.get("capability")
    if not isinstance(uuid, str):
        problems.append("uuid: text was expected")
    instance = instance_of(
        uuid if isinstance(uuid, str) else default_uuid,
        text_of(record.get("domain")) or "",
        query if isinstance(query, str) and query else told.query,
        context=told.context,
        capability=capability if isinstance(capability, int) and not isinstance(capability, bool) else None,
        policy=told.system,
    )
    failed = record.get("status") not in (None, "success") and not answer
    return Imported(
        name=name,
        form="vakra",
        trajectory=trajectory_of(
            instance,
            entries,
            None if failed else text_of(answer) or "",
            gave_up=text_of(record.get("error")) or "" if failed else None,
        ),
        extra={key: value for key, value in record.items() if key not in KNOWN},
        problems=tuple(f"{name}: {problem}" for problem in problems),
    )


def _message(entry: Json) -> Json:
    """An entry as a chat message; what is none stays as it is and is told by the reader."""
    if not isinstance(entry, Mapping):
        return entry
    role = ROLES.get(str(entry.get("type")))
    if role is None:
        return entry
    message: dict[str, Json] = {"role": role, "content": entry.get("content")}
    if role == "assistant" and entry.get("tool_calls"):
        message["tool_calls"] = entry["tool_calls"]
    if role == "tool":
        message["tool_call_id"] = entry.get("tool_call_id")
        message["content"] = entry.get("result", entry.get("content"))
    return message


def _listed(calls: Json, problems: list[str]) -> Sequence[Exchange]:
    if calls is None:
        return []
    if not isinstance(calls, list):
        problems.append("tool_calls: a list was expected")
        return []
    found = []
    for call in calls:
        if not isinstance(call, Mapping):
            problems.append("tool_calls: an object was expected for each call")
            continue
        name = call.get("tool_name", call.get("name"))
        arguments = call.get("arguments", call.get("args"))
        found.append(Exchange(call=call_of(name, arguments, call.get("id")), text=text_of(call.get("result"))))
    return found
