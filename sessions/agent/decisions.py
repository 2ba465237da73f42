"""Decisions of foreign code, made into what trajectories, stores and files can hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from sessions.agent.arguments import whole_characters
from sessions.trajectory import Answer, CallTool, Decision, GiveUp, Message
from toolenv.model import ToolCall


def whole(decision: Any) -> Decision:
    """The decision with half characters replaced. Raises ``TypeError`` with a sentence where it is none."""
    if isinstance(decision, CallTool):
        return CallTool(call=_call(decision.call))
    if isinstance(decision, Answer):
        return Answer(text=_text(decision.text, "the text of the answer"))
    if isinstance(decision, GiveUp):
        return GiveUp(reason=_text(decision.reason, "the reason for giving up"))
    if isinstance(decision, Message) and decision.role in ("user", "assistant", "system"):
        return Message(role=decision.role, text=_text(decision.text, "the text of the message"))
    raise TypeError(f"{repr(decision)[:200]} is no CallTool, Answer, GiveUp or Message")


def _call(call: Any) -> ToolCall:
    if not isinstance(call, ToolCall):
        raise TypeError(f"{repr(call)[:200]} is no ToolCall")
    arguments = call.arguments
    try:
        written = json.dumps(arguments, allow_nan=False) if isinstance(arguments, Mapping) else "null"
        read = json.loads(written)
    except (TypeError, ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        raise TypeError(f"the arguments {repr(arguments)[:200]} are no JSON object")
    raw = None if call.raw_arguments is None else _text(call.raw_arguments, "raw_arguments")
    name = _text(call.name, "the name of the tool")
    return msgspec.structs.replace(call, name=name, arguments=whole_characters(read), raw_arguments=raw)


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} is {repr(value)[:100]}, not a text")
    text: str = whole_characters(value)
    return text
