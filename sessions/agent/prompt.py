"""What the harness tells a model, in words of our own."""

from __future__ import annotations

import json
from collections.abc import Sequence

from toolenv.model import Instance, Json, ToolResult

TASK = (
    "You answer questions by calling the tools you are given. Call tools until their responses hold everything that "
    "the answer needs, using values from earlier responses where a later call needs them. Never make values up. When "
    "you know the answer, reply with it in plain text, short and complete, without calling a tool. If the tools that "
    "you may use cannot give the answer, say that you cannot answer."
)

HANDLES = (
    "The data stay on the server. A table is known by its handle (such as filtered_data_1), and a response shows only "
    "a peek: the number of records and, for each column, its name, type and first three values. Pass handles on to "
    "later calls; every call that makes a table gives a new handle and leaves the old one as it was. Names of columns "
    "must be written exactly as the peek shows them."
)

POLICY = "Rules on which tools may be used; they come before everything else:"
PARALLEL_OFF = "Call one tool at a time."
OPENED = "The data for this question are open already. get_data returned:"

CUT_CALL = "Not run: your message was cut off at the token limit. Make the call again, in a shorter message."
CUT_TEXT = "Your last message was cut off at the token limit. Say it again in a shorter message."


def system_text(instance: Instance, *, parallel: bool, more: str = "") -> str:
    """The system message: the task, the handles of capability 1, the instance's policy whatever its number of turns."""
    parts = [TASK]
    if instance.capability == 1:
        parts.append(HANDLES)
    if not parallel:
        parts.append(PARALLEL_OFF)
    if more:
        parts.append(more)
    if instance.policy:
        parts.append(f"{POLICY}\n{instance.policy}")
    return "\n\n".join(parts)


def question_text(instance: Instance, opened: ToolResult | None, limit: int) -> str:
    """The last user message: the question, and the peek of the table that is open already."""
    if opened is None:
        return instance.query
    return f"{instance.query}\n\n{OPENED}\n{excerpt(opened.text, limit)}"


def answer_shown(answer: Json) -> str:
    """The answer of an earlier turn as the assistant gave it."""
    if isinstance(answer, str):
        return answer
    if answer is None:
        return ""
    return json.dumps(answer, ensure_ascii=False)


def excerpt(text: str, limit: int) -> str:
    """At most about ``limit`` characters of a text, head and tail, with a mark where the middle is left out."""
    if len(text) <= limit:
        return text
    head, tail = limit * 3 // 4, limit // 4
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[... {left_out} of {len(text)} characters left out here ...]\n{text[len(text) - tail :]}"


def unreadable(name: str, raw: str) -> str:
    """What a model is told of arguments that could not be read."""
    shown = raw if len(raw) <= 500 else raw[:500] + "..."
    return (
        f"Nothing was run: the arguments of {name} are not one JSON object. They were:\n{shown}\n"
        "Make the call again with one complete JSON object."
    )


def wrapped(raw: str) -> str:
    """Unreadable arguments inside an object, because strict endpoints refuse a history with anything else."""
    return json.dumps({"unreadable_arguments": raw}, ensure_ascii=False)


def rejection(what: str, word: str) -> str:
    """What a model is told of a proposal that a person rejected: ``what`` was not done, and the person's word."""
    return f"{what}; it was rejected. {word}".strip()


def missing_tools(count: int, limit: int) -> str:
    return f"{count} tools are there and the endpoint takes {limit}: the {limit} that fit the question best are offered"


def listed_change(before: Sequence[str], now: Sequence[str]) -> str:
    """How a list of tool names changed, as a sentence; "" where it did not."""
    added = sorted(set(now) - set(before))
    removed = sorted(set(before) - set(now))
    if not added and not removed:
        return ""
    parts = [
        f"{word} {', '.join(names[:5])}{' ...' if len(names) > 5 else ''}"
        for word, names in (("added", added), ("removed", removed))
        if names
    ]
    return f"the tools changed: {'; '.join(parts)}"
