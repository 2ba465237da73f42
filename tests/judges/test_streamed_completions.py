"""Streamed completions: fragments put together, cut streams, errors inside a stream, endpoints that do not stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import Response
from hypothesis import given
from hypothesis import strategies as st

from toolenv.openai_compat import Client, EndpointError, EndpointSettings
from toolenv.openai_compat.faults import ProviderError
from toolenv.openai_compat.replies import decode, read_completion
from toolenv.openai_compat.settings import RetryPolicy
from toolenv.openai_compat.streams import CUT, assembled

QUICK = RetryPolicy(first_wait_s=0.001, longest_backoff_s=0.002, max_attempts=4)
ASK = [{"role": "user", "content": "q"}]


def chunk(finish: str | None = None, usage: Any = None, **delta: Any) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return json.dumps({"id": "c", "model": "fake", "choices": [choice], **({"usage": usage} if usage else {})})


def fragment(index: int | None = 0, arguments: Any = None, name: Any = None, identity: Any = None) -> str:
    call = {"index": index, "id": identity, "function": {"name": name, "arguments": arguments}}
    return chunk(tool_calls=[{key: value for key, value in call.items() if value is not None}])


def lines(*events: str, done: bool = True) -> Iterator[str]:
    for event in events:
        yield f"data: {event}"
        yield ""
    if done:
        yield "data: [DONE]"
        yield ""


def completed(*events: str, done: bool = True) -> Any:
    return read_completion(decode(assembled(lines(*events, done=done))))


def calls_of(found: Any) -> list[tuple[str, str, Any]]:
    return [(call.id, call.name, call.arguments) for call in found.tool_calls]


def test_text_reasoning_usage_and_finish_reason() -> None:
    found = completed(
        chunk(role="assistant", content=None),
        chunk(reasoning_content="hm "),
        chunk(reasoning="hm"),
        chunk(content="4"),
        chunk(content="2"),
        chunk("stop"),
        json.dumps({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}),
    )
    assert (found.content, found.reasoning, found.finish_reason) == ("42", "hm hm", "stop")
    assert found.body["usage"] == {"prompt_tokens": 3, "completion_tokens": 2}


def test_arguments_in_fragments_are_put_together_by_index() -> None:
    found = completed(
        fragment(0, "", "first", "a"),
        fragment(1, '{"y', "second", "b"),
        fragment(0, '{"x": 1}'),
        fragment(1, '": 2}'),
        chunk("tool_calls"),
    )
    assert calls_of(found) == [("a", "first", '{"x": 1}'), ("b", "second", '{"y": 2}')]


def test_two_calls_under_one_index_stay_two() -> None:
    found = completed(
        fragment(0, '{"t": "A"}', "wins", "a"), fragment(0, '{"t": "B"}', "wins", "b"), chunk("tool_calls")
    )
    assert calls_of(found) == [("a", "wins", '{"t": "A"}'), ("b", "wins", '{"t": "B"}')]
    found = completed(fragment(0, '{"t": "A"}', "wins"), fragment(0, '{"t": "B"}', "wins"), chunk("tool_calls"))
    assert calls_of(found) == [("", "wins", '{"t": "A"}'), ("", "wins", '{"t": "B"}')]


def test_a_name_repeated_in_every_fragment_and_no_index_at_all() -> None:
    found = completed(
        fragment(None, '{"t": ', "wins", "a"), fragment(None, '"A"}', "wins", "a"), fragment(None, "{}", "list", "b")
    )
    assert calls_of(found) == [("a", "wins", '{"t": "A"}'), ("b", "list", "{}")]


def test_arguments_given_as_an_object() -> None:
    assert calls_of(completed(fragment(0, {"t": 1}, "wins", "a"), chunk("tool_calls"))) == [("a", "wins", '{"t": 1}')]


def test_comments_other_fields_and_data_over_several_lines() -> None:
    def stream() -> Iterator[str]:
        yield ": keep alive"
        yield ""
        yield "event: message"
        yield 'data: {"choices": [{"index": 0,'
        yield 'data:  "delta": {"content": "x"}, "finish_reason": "stop"}]}'
        yield ""

    assert read_completion(decode(assembled(stream()))).content == "x"


def test_a_stream_without_a_finish_reason_was_cut() -> None:
    assert completed(chunk(content="half"), done=False).finish_reason == CUT
    assert completed(chunk(content="half")).finish_reason == CUT
    with pytest.raises(ProviderError, match="no choice"):
        completed(done=False)


def test_an_error_inside_a_stream_is_the_endpoints() -> None:
    with pytest.raises(ProviderError, match="overloaded") as caught:
        completed(chunk(content="x"), json.dumps({"error": {"message": "overloaded", "code": 503}}))
    assert caught.value.kind == "server"
    with pytest.raises(ProviderError, match="no JSON"):
        completed('{"choices": [')


@given(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=6), st.integers(1, 4))
def test_any_split_of_the_arguments_gives_the_same_call(parts: list[str], pieces: int) -> None:
    whole = json.dumps({str(at): part for at, part in enumerate(parts)})
    size = max(1, len(whole) // pieces)
    cut = [whole[at : at + size] for at in range(0, len(whole), size)]
    events = [fragment(0, cut[0], "tool", "id"), *(fragment(0, piece) for piece in cut[1:]), chunk("tool_calls")]
    assert calls_of(completed(*events)) == [("id", "tool", whole)]


# Over HTTP ------------------------------------------------------------------------------------------------------------


def streamed(*events: str, done: bool = True) -> Response:
    return Response("\n".join(lines(*events, done=done)) + "\n", media_type="text/event-stream")


async def heard(endpoint: Any) -> tuple[Any, list[tuple[str, str]]]:
    deltas: list[tuple[str, str]] = []
    asking = Client(EndpointSettings(model="m", base_url=endpoint.base_url, retries=QUICK))
    try:
        reply = await asking.chat(
            ASK, parameters={"temperature": 0}, on_delta=lambda kind, text: deltas.append((kind, text))
        )
        return reply, deltas
    finally:
        await asking.aclose()


async def test_a_stream_over_http_is_told_and_kept(endpoint: Any) -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    endpoint.default = lambda body: streamed(chunk(content="4"), chunk(content="2"), chunk("stop", usage))
    reply, deltas = await heard(endpoint)
    assert deltas == [("content", "4"), ("content", "2")]
    assert (reply.content, reply.finish_reason, reply.usage.tokens) == ("42", "stop", 5)
    assert reply.exchange.response.startswith("data: ")
    body = endpoint.asked[-1]
    assert (body["stream"], body["temperature"], body["stream_options"]) == (True, 0, {"include_usage": True})


async def test_an_endpoint_that_does_not_stream_answers_all_the_same(endpoint: Any, said: Any) -> None:
    endpoint.default = lambda body: said("whole")
    reply, deltas = await heard(endpoint)
    assert (reply.content, deltas) == ("whole", [])


async def test_stream_options_are_dropped_where_they_are_refused(endpoint: Any, failed: Any) -> None:
    endpoint.default = lambda body: (
        failed(400, "unknown field stream_options")
        if "stream_options" in body
        else streamed(chunk("stop", content="x"))
    )
    reply, _ = await heard(endpoint)
    assert reply.content == "x"


async def test_a_limit_before_the_stream_is_waited_out_and_a_break_inside_is_not_repeated(
    endpoint: Any, failed: Any
) -> None:
    endpoint.script = [lambda body: failed(429, "slow down", {"retry-after-ms": "1"})]
    endpoint.default = lambda body: streamed(chunk("stop", content="x"))
    reply, _ = await heard(endpoint)
    assert reply.exchange.attempts == 2
    endpoint.requests.clear()
    endpoint.default = lambda body: streamed(chunk(content="x"), json.dumps({"error": {"message": "overloaded"}}))
    with pytest.raises(EndpointError, match="begun to answer"):
        await heard(endpoint)
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize(
    "message",
    [
        {"content": 12, "tool_calls": "x"},
        {"content": {"text": "42"}},
        {"content": None, "tool_calls": {"name": "f"}},
        {"content": None, "tool_calls": [{"id": "1"}, 7]},
    ],
)
def test_a_message_of_another_shape_is_malformed_and_not_empty(message: dict[str, object]) -> None:
    with pytest.raises(ProviderError, match="the message has"):
        read_completion({"choices": [{"message": message}]})


@pytest.mark.parametrize(
    "message", [{"content": None}, {"content": "", "tool_calls": []}, {"content": [], "tool_calls": None}]
)
def test_a_message_without_words_is_empty(message: dict[str, object]) -> None:
    completion = read_completion({"choices": [{"message": message}]})
    assert not completion.content and not completion.tool_calls


def test_a_message_that_says_something_is_read_whatever_stands_beside_it() -> None:
    assert read_completion({"choices": [{"message": {"content": "42", "tool_calls": "x"}}]}).content == "42"
