"""Server-sent events of a streamed completion, put together into the completion they stand for.

Servers number the fragments of tool calls unreliably: a new id, or a new name after complete arguments, opens a new
call whatever the index says. A stream that ends without a finish reason was cut.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from toolenv.openai_compat.faults import error_of
from toolenv.openai_compat.replies import decode

DeltaKind = Literal["content", "reasoning", "tool_call"]
DeltaListener = Callable[[DeltaKind, str], None]
"""Told of each fragment as it arrives: its kind and its text (of a tool call its name or a piece of its arguments)."""

CUT = "cut"
"""The finish reason of a stream that ended before it gave one."""


class EventReader:
    """Turns lines of an event stream into the data of its events; comments and other fields are passed over."""

    def __init__(self) -> None:
        self._data: list[str] = []
        self.done = False

    def line(self, line: str) -> str | None:
        """The data of an event that this line ends, or None. An empty line ends an event."""
        if line.startswith("data:"):
            self._data.append(line[5:].removeprefix(" "))
            return None
        if line or not self._data:
            return None
        return self.end()

    def end(self) -> str | None:
        """The data of the event that the stream ended in, or None."""
        data, self._data = "\n".join(self._data), []
        if data.strip() == "[DONE]":
            self.done = True
            return None
        return data or None


class Assembler:
    """Collects the chunks of one completion (its first choice)."""

    def __init__(self, listener: DeltaListener | None = None) -> None:
        self._listener = listener
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[dict[str, Any]] = []
        self._by_index: dict[int, dict[str, Any]] = {}
        self._finish: str | None = None
        self._rest: dict[str, Any] = {}
        self.chunks = 0

    def add(self, data: str) -> None:
        """Take one event's data. Raises ``ProviderError`` for an error event and for data that is no JSON object."""
        chunk = decode(data.encode("utf-8", "replace"))
        if chunk.get("error"):
            raise error_of(chunk, None)
        self.chunks += 1
        for name in ("id", "model", "usage"):
            if chunk.get(name):
                self._rest[name] = chunk[name]
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, Mapping) or choice.get("index", 0) != 0:
            return
        if isinstance(choice.get("finish_reason"), str):
            self._finish = choice["finish_reason"]
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, Mapping):
            self._delta(delta)

    def body(self) -> bytes:
        """The completion as the same endpoint would have sent it in one piece."""
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._content) or None}
        if self._reasoning:
            message["reasoning_content"] = "".join(self._reasoning)
        if self._calls:
            message["tool_calls"] = [_whole(call) for call in self._calls]
        choice = {"index": 0, "message": message, "finish_reason": self._finish or CUT}
        return json.dumps({**self._rest, "choices": [choice] if self.chunks else []}).encode()

    def _delta(self, delta: Mapping[str, Any]) -> None:
        self._text("content", delta.get("content"), self._content)
        reasoning = delta.get("reasoning_content")
        self._text("reasoning", reasoning if reasoning is not None else delta.get("reasoning"), self._reasoning)
        fragments = delta.get("tool_calls")
        for fragment in fragments if isinstance(fragments, list) else ():
            if isinstance(fragment, Mapping):
                self._fragment(fragment)

    def _text(self, kind: DeltaKind, text: Any, kept: list[str]) -> None:
        if isinstance(text, str) and text:
            kept.append(text)
            self._tell(kind, text)

    def _fragment(self, fragment: Mapping[str, Any]) -> None:
        function = fragment.get("function")
        function = function if isinstance(function, Mapping) else {}
        name, arguments = function.get("name"), function.get("arguments")
        call = self._call_of(fragment.get("index"), fragment.get("id"), name)
        if isinstance(name, str) and name and name != call["name"]:
            call["name"] += name
            self._tell("tool_call", name)
        if isinstance(arguments, str) and arguments:
            call["arguments"].append(arguments)
            self._tell("tool_call", arguments)
        elif isinstance(arguments, Mapping | list):
            call["arguments"].append(json.dumps(arguments))

    def _call_of(self, index: Any, identity: Any, name: Any) -> dict[str, Any]:
        """The call that a fragment belongs to, opened where it is a new one."""
        place = index if isinstance(index, int) and not isinstance(index, bool) else max(0, len(self._calls) - 1)
        call = self._by_index.get(place)
        given = identity if isinstance(identity, str) else ""
        other = call is not None and given != "" and call["id"] not in ("", given)
        after = call is not None and isinstance(name, str) and name != "" and _is_complete(call["arguments"])
        if call is None or other or (after and given != call["id"]) or (after and not given):
            call = {"id": given, "name": "", "arguments": []}
            self._calls.append(call)
            self._by_index[place] = call
        elif given:
            call["id"] = given
        return call

    def _tell(self, kind: DeltaKind, text: str) -> None:
        if self._listener is not None:
            self._listener(kind, text)


def assembled(lines: Iterator[str], listener: DeltaListener | None = None) -> bytes:
    """The completion of a whole event stream given as lines. Raises ``ProviderError``."""
    reader, assembler = EventReader(), Assembler(listener)
    for line in lines:
        data = reader.line(line)
        if data is not None:
            assembler.add(data)
    data = reader.end()
    if data is not None:
        assembler.add(data)
    return assembler.body()


def _whole(call: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": call["name"], "arguments": "".join(call["arguments"])}
    return {"id": call["id"], "type": "function", "function": function}


def _is_complete(pieces: list[str]) -> bool:
    """Whether the arguments so far are a JSON object, so that whatever follows belongs to another call."""
    try:
        return isinstance(json.loads("".join(pieces)), dict)
    except (ValueError, RecursionError):
        return False
