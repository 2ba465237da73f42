"""Messages on the wire: every odd form that an endpoint sent goes back in the one that all of them take."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenv.openai_compat import Dialect
from toolenv.openai_compat.wire import arguments_text, wired


def assistant(*calls: tuple[str, Any], content: Any = None, **more: Any) -> dict[str, Any]:
    made = [{"id": identity, "type": "function", "function": {"name": "t", "arguments": a}} for identity, a in calls]
    return {"role": "assistant", "content": content, **({"tool_calls": made} if made else {}), **more}


def result(identity: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": text}


def pairs(messages: list[dict[str, Any]]) -> dict[str, str]:
    """Id of a call on the wire -> the text of its result; fails where an id is empty or comes twice."""
    ids = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    assert all(ids) and len(set(ids)) == len(ids)
    found = {message["tool_call_id"]: message["content"] for message in messages if message["role"] == "tool"}
    assert set(found) <= set(ids)
    return {identity: found[identity] for identity in ids if identity in found}


def test_ids_that_come_twice_or_are_empty_are_made_unique_in_call_and_result() -> None:
    messages = [
        assistant(("0", "{}")),
        result("0", "first"),
        assistant(("0", "{}")),
        result("0", "second"),
        assistant(("", "{}"), ("", "{}")),
        result("", "third"),
        result("", "fourth"),
        assistant(content="done"),
    ]
    kept = copy.deepcopy(messages)
    sent = wired(messages, Dialect())
    assert list(pairs(sent).values()) == ["first", "second", "third", "fourth"]
    assert messages == kept, "what the caller keeps is never changed"
    assert wired(messages, Dialect()) == sent, "the same every time"


def test_results_that_come_in_another_order_keep_their_calls() -> None:
    sent = wired([assistant(("a", "{}"), ("b", "{}")), result("b", "B"), result("a", "A")], Dialect())
    assert pairs(sent) == {"a": "A", "b": "B"}
    sent = wired([assistant(("a", "{}"), ("b", "{}")), result("x", "A"), result("y", "B")], Dialect())
    assert list(pairs(sent).values()) == ["A", "B"]


@pytest.mark.parametrize(("way", "expected"), [("null", None), ("text", "")])
def test_content_is_always_there_and_empty_in_the_dialects_way(way: Any, expected: Any) -> None:
    dialect = Dialect(empty_content=way)
    for content in (None, ""):
        assert wired([assistant(("a", "{}"), content=content)], dialect)[0]["content"] == expected
    without = {"role": "assistant", "tool_calls": assistant(("a", "{}"))["tool_calls"]}
    assert wired([without], dialect)[0]["content"] == expected
    assert wired([assistant()], dialect)[0]["content"] == "", "null is only for messages with calls"
    assert "tool_calls" not in wired([{**assistant(), "tool_calls": []}], dialect)[0]


def test_reasoning_is_never_sent_back() -> None:
    sent = wired([assistant(content="x", reasoning_content="long", reasoning="long")], Dialect())
    assert set(sent[0]) == {"role", "content"}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"a": 1}, '{"a": 1}'),
        ('{"a": 1}', '{"a": 1}'),
        ('"{\\"a\\": 1}"', '{"a": 1}'),
        ("", "{}"),
        (None, "{}"),
        ("null", "{}"),
        ("{broken", "{broken"),
        ('"text"', '"text"'),
    ],
)
def test_arguments_are_one_json_text(arguments: Any, text: str) -> None:
    assert arguments_text(arguments) == text


def test_instructions_get_the_dialects_role() -> None:
    for role in ("system", "developer", "user"):
        sent = wired([{"role": "system", "content": "s"}], Dialect(system_role=role))  # type: ignore[arg-type]
        assert sent[0]["role"] == role


@given(
    st.lists(
        st.lists(st.sampled_from(["", "0", "call_0", "call_1", "a"]), min_size=1, max_size=3), min_size=1, max_size=5
    )
)
def test_every_call_keeps_its_own_result(turns: list[list[str]]) -> None:
    messages: list[dict[str, Any]] = []
    for at, identities in enumerate(turns):
        messages.append(assistant(*((identity, json.dumps({"n": at})) for identity in identities)))
        messages += [result(identity, f"{at}.{place}") for place, identity in enumerate(identities)]
    found = pairs(wired(messages, Dialect()))
    assert list(found.values()) == [f"{at}.{place}" for at, ids in enumerate(turns) for place in range(len(ids))]
