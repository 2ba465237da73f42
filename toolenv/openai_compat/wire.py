"""Messages as they go over the wire: what one endpoint sent in its own way is sent back in the way all of them take.

The messages that a caller keeps are never changed; what differs on the wire is made here, the same way every time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolenv.openai_compat.replies import sendable
from toolenv.openai_compat.settings import Dialect

_NEVER_SENT_BACK = frozenset({"reasoning_content", "reasoning", "reasoning_details"})


def wired(messages: Sequence[Mapping[str, Any]], dialect: Dialect) -> list[dict[str, Any]]:
    """The messages in an endpoint's dialect.

    Instructions get its role for them; an assistant's ``content`` is always there, and beside tool calls empty in the
    dialect's way; arguments are a JSON text that decodes to an object in one step; reasoning is left out; ids of tool
    calls that are empty or come twice are made unique, in the call and in its result alike.
    """
    taken: set[str] = set()
    open_calls: list[tuple[str, str]] = []
    sent: list[dict[str, Any]] = []
    for message in messages:
        copy = {
            name: sendable(value) if isinstance(value, str) else value
            for name, value in message.items()
            if name not in _NEVER_SENT_BACK
        }
        role = copy.get("role")
        if role == "system":
            copy["role"] = dialect.system_role
        elif role == "assistant":
            open_calls = _call_ids(copy, taken, open_calls)
            _with_content(copy, dialect)
        elif role == "tool":
            copy["tool_call_id"] = _result_id(copy.get("tool_call_id"), open_calls)
        sent.append(copy)
    return _merged(sent) if dialect.system_role == "user" else sent


def _merged(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """User messages that follow each other made one, for endpoints that want roles to alternate."""
    merged: list[dict[str, Any]] = []
    for message in messages:
        texts = [one.get("content") for one in (*merged[-1:], message)]
        if (
            merged
            and merged[-1].get("role") == message.get("role") == "user"
            and all(isinstance(t, str) for t in texts)
        ):
            merged[-1] = {**merged[-1], "content": f"{texts[0]}\n\n{texts[1]}"}
        else:
            merged.append(message)
    return merged


def arguments_text(arguments: Any) -> str:
    """Arguments as one JSON text. An object encoded twice is unwrapped once; what is no JSON stays as it is."""
    if arguments is None or arguments == "":
        return "{}"
    if not isinstance(arguments, str):
        return json.dumps(arguments, ensure_ascii=False)
    once = _decoded(arguments)
    if once is None:
        return "{}" if arguments.strip() in ("", "null") else sendable(arguments)
    return once if isinstance(once, str) and isinstance(_decoded(once), dict) else sendable(arguments)


def _call_ids(message: dict[str, Any], taken: set[str], before: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Give an assistant message's calls ids of their own; (id as written, id on the wire) of each, in order."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not calls:
        message.pop("tool_calls", None)
        return before
    made: list[tuple[str, str]] = []
    wired_calls = []
    for call in calls:
        written = call.get("id") if isinstance(call, Mapping) else None
        written = written if isinstance(written, str) else ""
        given, number = written, len(taken)
        while not given or given in taken:
            given = f"call_{number}"
            number += 1
        taken.add(given)
        made.append((written, given))
        function = dict(call.get("function") or {}) if isinstance(call, Mapping) else {}
        function["arguments"] = arguments_text(function.get("arguments"))
        wired_calls.append({"id": given, "type": "function", "function": function})
    message["tool_calls"] = wired_calls
    return made


def _result_id(written: Any, open_calls: list[tuple[str, str]]) -> str:
    """The id on the wire for a result: that of the first open call with the same written id, else of the first one."""
    for position, (before, given) in enumerate(open_calls):
        if before == written:
            del open_calls[position]
            return given
    if open_calls:
        return open_calls.pop(0)[1]
    return written if isinstance(written, str) else ""


def _with_content(message: dict[str, Any], dialect: Dialect) -> None:
    if message.get("content"):
        return
    beside_calls = "tool_calls" in message
    message["content"] = None if beside_calls and dialect.empty_content == "null" else ""


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
