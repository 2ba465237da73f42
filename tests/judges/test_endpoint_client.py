"""The shared client against a real server: retries, refusals, odd bodies, secrets."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from email.utils import formatdate
from typing import Any

import pytest
from fastapi import Response

from tests.judges.endpoint_asking import ASK, QUICK, WANTED, ask, client
from toolenv.errors import DataError
from toolenv.openai_compat import Budget, Client, Dialect, EndpointError, EndpointSettings, Prices
from toolenv.openai_compat.exchange import redact
from toolenv.openai_compat.sending import Waiting
from toolenv.openai_compat.settings import (
    PLACEHOLDER_KEY,
    RetryPolicy,
    dialect_from_environment,
    key_from_environment,
    prices_from_environment,
)
from toolenv.openai_compat.waits import requested_wait


async def test_a_reply_its_usage_and_its_exchange(endpoint: Any) -> None:
    reply = await ask(endpoint, api_key="sk-secret-secret-secret")
    assert reply.content == '{"ruling": "pass", "reason": "same"}'
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.estimated) == (10, 5, False)
    assert reply.exchange.request["messages"] == ASK
    assert reply.exchange.status == 200
    assert endpoint.authorizations[0] == "Bearer sk-secret-secret-secret"
    assert [len(endpoint.requests), len(endpoint.asked)] == [2, 1]


async def test_one_probe_however_many_ask_at_once(endpoint: Any) -> None:
    asking = client(endpoint, concurrency=3)
    await asyncio.gather(*(asking.chat(ASK, parameters=WANTED) for _ in range(20)))
    await asking.aclose()
    assert len(endpoint.requests) == 21
    assert endpoint.most_in_flight <= 3


@pytest.mark.parametrize("refused", ["response_format", "temperature", "seed"])
async def test_a_refused_optional_parameter_is_dropped_and_reported(
    endpoint: Any, failed: Any, said: Any, refused: str
) -> None:
    def answer(body: dict[str, Any]) -> Any:
        if refused in body:
            return failed(400, f"Unsupported parameter: '{refused}' is not supported with this model.")
        return said("fine")

    endpoint.answer_probes, endpoint.default = False, answer
    asking = client(endpoint)
    assert (await asking.chat(ASK, parameters=WANTED)).content == "fine"
    await asking.chat(ASK, parameters=WANTED)
    await asking.aclose()
    assert list(asking.dropped) == [refused]
    assert len(endpoint.requests) == 4, "probe, probe without, two questions"
    assert set(endpoint.requests[-1]) >= set(WANTED) - {refused}


async def test_a_refusal_that_names_nothing_is_narrowed_down(endpoint: Any, failed: Any, said: Any) -> None:
    endpoint.answer_probes = False
    endpoint.default = lambda body: failed(422, "unprocessable") if "seed" in body else said("fine")
    asking = client(endpoint)
    assert (await asking.chat(ASK, parameters=WANTED)).content == "fine"
    await asking.aclose()
    assert list(asking.dropped) == ["seed"]


async def test_two_refused_parameters_without_a_name(endpoint: Any, failed: Any, said: Any) -> None:
    endpoint.answer_probes = False
    endpoint.default = lambda body: failed(400, "no") if {"seed", "response_format"} & set(body) else said("fine")
    asking = client(endpoint)
    assert (await asking.chat(ASK, parameters=WANTED)).content == "fine"
    await asking.aclose()
    assert list(asking.dropped) == ["response_format", "seed"]


async def test_the_limit_on_tokens_goes_under_the_name_that_is_taken(endpoint: Any, failed: Any, said: Any) -> None:
    def answer(body: dict[str, Any]) -> Any:
        if "max_tokens" in body:
            return failed(400, "Use 'max_completion_tokens' instead of 'max_tokens'.", param="max_tokens")
        return said("fine")

    endpoint.answer_probes, endpoint.default = False, answer
    asking = client(endpoint)
    await asking.chat(ASK, parameters=WANTED)
    await asking.aclose()
    assert asking.dropped == {}
    assert endpoint.requests[-1]["max_completion_tokens"] == 100


async def test_a_parameter_refused_after_the_probe_is_dropped_too(endpoint: Any, failed: Any, said: Any) -> None:
    endpoint.script = [lambda body: failed(400, "response_format json_object is not available")]
    asking = client(endpoint)
    await asking.chat(ASK, parameters=WANTED)
    await asking.aclose()
    assert list(asking.dropped) == ["response_format"]
    assert len(endpoint.asked) == 2


@pytest.mark.parametrize(
    "headers",
    [
        {"retry-after-ms": "1"},
        {"retry-after": "0"},
        {"retry-after": formatdate(0, usegmt=True)},
        {"retry-after": "soon"},
        {"retry-after": "-1"},
        {},
    ],
)
@pytest.mark.parametrize("status", [429, 503])
async def test_rate_limits_and_server_errors_are_waited_out(
    endpoint: Any, failed: Any, headers: Any, status: int
) -> None:
    endpoint.script = [lambda body: failed(status, "slow down", headers)] * (20 if headers.get("retry-after-ms") else 6)
    heard: list[Waiting] = []
    asking = Client(EndpointSettings(model="m", base_url=endpoint.base_url, retries=QUICK), listener=heard.append)
    reply = await asking.chat(ASK, parameters=WANTED)
    await asking.aclose()
    failures = 20 if headers.get("retry-after-ms") else 6
    assert reply.exchange.attempts == failures + 1
    assert len(heard) == asking.retried == len(reply.exchange.failures) == failures


async def test_an_absurd_wait_ends_the_request_with_a_clear_sentence(endpoint: Any, failed: Any) -> None:
    endpoint.default = lambda body: failed(429, "come back tomorrow", {"retry-after": "86400"})
    with pytest.raises(EndpointError, match="86400 seconds") as caught:
        await ask(endpoint)
    assert (caught.value.kind, caught.value.status) == ("rate_limited", 429)
    assert len(endpoint.asked) <= 1  # the question by which the client learns the endpoint comes first


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 501])
async def test_a_refused_request_is_sent_once(endpoint: Any, failed: Any, status: int) -> None:
    endpoint.default = lambda body: failed(
        status, "messages.1.content: invalid type null", type="invalid_request_error"
    )
    with pytest.raises(EndpointError, match=r"messages\.1\.content") as caught:
        await ask(endpoint)
    assert (caught.value.kind, caught.value.status) == ("refused", status)
    assert len(endpoint.asked) <= 1  # the question by which the client learns the endpoint comes first


@pytest.mark.parametrize(("key", "told"), [({}, True), ({"api_key": "of-somebody"}, False)])
async def test_where_a_key_is_wanted_and_none_is_set_the_variables_are_named(
    endpoint: Any, failed: Any, key: dict[str, str], told: bool
) -> None:
    endpoint.default = lambda body: failed(401, "who are you")
    asking = client(endpoint, **key)
    with pytest.raises(EndpointError, match="who are you") as caught:
        await asking.chat(ASK)
    await asking.aclose()
    assert ("No key is set; one is read from VAKRA_TUI_JUDGE_API_KEY" in str(caught.value)) == told


async def test_a_spent_quota_is_not_tried_again(endpoint: Any, failed: Any) -> None:
    endpoint.default = lambda body: failed(429, "pay first", code="insufficient_quota")
    with pytest.raises(EndpointError, match="pay first"):
        await ask(endpoint)
    assert len(endpoint.asked) <= 1  # the question by which the client learns the endpoint comes first


async def test_a_prompt_that_is_too_long_is_told_apart(endpoint: Any, failed: Any) -> None:
    endpoint.default = lambda body: failed(
        400, "maximum context length is 131072 tokens, you sent 402113", code="context_length_exceeded"
    )
    with pytest.raises(EndpointError, match="402113") as caught:
        await ask(endpoint)
    assert caught.value.kind == "too_long"


ODD = {
    "null choices": (
        {"id": "", "choices": None, "error": {"code": "quota", "message": "no requests left today"}},
        "no requests left today",
    ),
    "empty choices": ({"id": "x", "choices": [], "usage": None}, "no choice"),
    "html": ("<html><title>502 Bad Gateway</title></html>", "HTML"),
    "not json": ('{"id": "x", "choi', "no JSON"),
    "empty": ("", "nothing"),
    "array": ("[1, 2]", "list"),
    "no message": ({"choices": [{"finish_reason": "stop"}]}, "no choice"),
    "odd choice": ({"choices": ["text"]}, "no choice"),
}


@pytest.mark.parametrize("name", ODD)
async def test_a_200_that_is_no_completion_is_an_error_of_the_endpoint(endpoint: Any, name: str) -> None:
    body, words = ODD[name]
    text = body if isinstance(body, str) else json.dumps(body)
    endpoint.default = lambda _: Response(text, media_type="application/json")
    with pytest.raises(EndpointError, match=words):
        await ask(endpoint)
    assert len(endpoint.asked) <= 3


async def test_a_rate_limit_inside_a_200_is_waited_out(endpoint: Any) -> None:
    endpoint.script = [lambda body: {"choices": None, "error": {"code": 429, "message": "rate limited"}}] * 5
    assert (await ask(endpoint)).exchange.attempts == 6


async def test_a_body_cut_off_is_tried_again(endpoint: Any, said: Any) -> None:
    def cut(body: dict[str, Any]) -> Response:
        return Response(json.dumps(said("x"))[:40], headers={"content-length": "400"}, media_type="application/json")

    endpoint.script = [cut, cut]
    assert (await ask(endpoint)).exchange.attempts == 3


async def test_server_errors_end_when_patience_ends(endpoint: Any, failed: Any) -> None:
    endpoint.default = lambda body: failed(500, "still broken")
    asking = client(endpoint, retries=RetryPolicy(first_wait_s=0.001, longest_backoff_s=0.001, max_attempts=4))
    for _ in range(3):
        with pytest.raises(EndpointError, match="Tried 4 times"):
            await asking.chat(ASK)
    assert len(endpoint.asked) == 12
    with pytest.raises(EndpointError, match="Tried 1 times"):
        await asking.chat(ASK)
    endpoint.script = [endpoint.take({})]
    endpoint.default = lambda body: {"choices": [{"message": {"content": "well again"}}]}
    endpoint.script = []
    assert (await asking.chat(ASK)).content == "well again"
    endpoint.script = [lambda body: failed(500)] * 2
    assert (await asking.chat(ASK)).exchange.attempts == 3
    await asking.aclose()


async def test_an_endpoint_that_never_answers_is_left_alone_and_then_tried(endpoint: Any, failed: Any) -> None:
    policy = RetryPolicy(first_wait_s=0.001, max_attempts=1)
    asking = client(endpoint, retries=policy)
    await asking.probe({})
    endpoint.default = lambda body: failed(500, "broken for good")
    for _ in range(8):
        with pytest.raises(EndpointError, match="broken for good"):
            await asking.chat(ASK)
    with pytest.raises(EndpointError, match=r"last 8 requests; it was not asked again.*broken for good"):
        await asking.chat(ASK)
    assert len(endpoint.asked) == 8
    await asking.aclose()
    asking = client(endpoint, retries=RetryPolicy(first_wait_s=0.001, max_attempts=1, rest_s=0))
    for _ in range(9):
        with pytest.raises(EndpointError):
            await asking.chat(ASK)
    assert len(endpoint.asked) == 17, "after the rest one is sent as a trial"
    await asking.aclose()


async def test_a_failed_probe_can_be_forgotten(endpoint: Any, failed: Any) -> None:
    endpoint.answer_probes = False
    endpoint.script = [lambda body: failed(401, "bad key")]
    asking = client(endpoint)
    for _ in range(3):
        with pytest.raises(EndpointError, match="bad key"):
            await asking.chat(ASK)
    assert len(endpoint.requests) == 1
    asking.forget_failure()
    assert (await asking.chat(ASK)).content
    await asking.aclose()


async def test_a_server_that_is_down_is_named_and_asked_by_one_probe_only() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    asking = Client(EndpointSettings(model="m", base_url=f"http://user:password@127.0.0.1:{port}/v1", retries=QUICK))
    found = await asyncio.gather(*(asking.chat(ASK, parameters=WANTED) for _ in range(50)), return_exceptions=True)
    await asking.aclose()
    assert {type(error) for error in found} == {EndpointError}
    assert len({str(error) for error in found}) == 1
    assert "cannot be reached" in str(found[0])
    assert "password" not in str(found[0])
    assert len(asking.exchanges) == 1


async def test_a_slow_server_is_a_timeout(endpoint: Any) -> None:
    release = threading.Event()

    def never(body: dict[str, Any]) -> Any:
        release.wait(120)
        return {}

    endpoint.default = never
    asking = client(endpoint)
    try:
        with pytest.raises(EndpointError) as caught:
            await ask(endpoint, timeout_s=0.05, retries=RetryPolicy(first_wait_s=0.001, short_attempts=2))
        assert caught.value.kind == "timeout"
        asking = client(endpoint)
        with pytest.raises(EndpointError, match=r"0\.05 seconds"):
            await asking.chat(ASK, deadline_s=0.05)
    finally:
        release.set()
        await asking.aclose()


async def test_a_cancelled_request_frees_its_place_and_its_reservation(endpoint: Any) -> None:
    release = threading.Event()
    started = asyncio.Event()
    loop = asyncio.get_running_loop()

    def hang(body: dict[str, Any]) -> Any:
        loop.call_soon_threadsafe(started.set)
        release.wait(120)
        return {}

    endpoint.script = [hang]
    asking = client(endpoint, concurrency=1, budget=Budget(max_tokens=2000))
    hanging = asyncio.ensure_future(asking.chat(ASK, parameters={"max_tokens": 1500}))
    await started.wait()
    hanging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging
    release.set()
    assert (await asking.chat(ASK, parameters={"max_tokens": 1500})).content
    await asking.aclose()


async def test_secrets_are_not_kept(endpoint: Any, failed: Any) -> None:
    key = "my-very-own-key"
    endpoint.default = lambda body: failed(401, f"Incorrect API key provided: {key}, Bearer abcdefgh12345")
    asking = client(endpoint, api_key=key)
    with pytest.raises(EndpointError) as caught:
        await asking.chat([{"role": "user", "content": f"the key is {key}"}])
    await asking.aclose()
    kept = str(caught.value) + repr(asking.exchanges) + repr(asking.settings) + repr(caught.value.exchange)
    assert key not in kept
    assert "abcdefgh12345" not in kept
    assert "[redacted]" in kept
    assert "tok" not in redact("https://h/v1?api_key=tok")


async def test_content_in_parts_reasoning_apart_and_half_characters(endpoint: Any, said: Any) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b\ud800"}]
    endpoint.default = lambda body: said(parts, reasoning_content="thinking")
    reply = await ask(endpoint)
    assert (reply.content, reply.completion.reasoning) == ("ab?", "thinking")
    asking = client(endpoint)
    await asking.chat([{"role": "user", "content": "half \udc00 character"}])
    await asking.aclose()
    assert endpoint.requests[-1]["messages"][0]["content"] == "half ? character"


async def test_a_dialect_is_a_setting(endpoint: Any) -> None:
    dialect = Dialect(token_limit="none", system_role="developer", omit=frozenset({"seed"}), extra_body={"top_k": 1})
    asking = client(endpoint, dialect=dialect)
    await asking.chat([{"role": "system", "content": "s"}, *ASK], parameters=WANTED)
    await asking.aclose()
    body = endpoint.requests[-1]
    assert [message["role"] for message in body["messages"]] == ["developer", "user"]
    assert body["top_k"] == 1
    assert not {"seed", "max_tokens", "max_completion_tokens"} & set(body)


async def test_an_endpoint_without_a_system_role_gets_instructions_from_the_user(
    endpoint: Any, failed: Any, said: Any
) -> None:
    def answer(body: dict[str, Any]) -> Any:
        roles = [message["role"] for message in body["messages"]]
        return failed(400, "System role not supported") if "system" in roles else said(str(roles))

    endpoint.default = answer
    asking = client(endpoint)
    for _ in range(2):
        assert (await asking.chat([{"role": "system", "content": "s"}, *ASK])).content == "['user']"
    await asking.aclose()
    assert endpoint.asked[-1]["messages"] == [{"role": "user", "content": "s\n\nsay pass"}]
    assert list(asking.dropped) == ["system role"]
    assert len(endpoint.asked) == 3


async def test_embeddings_come_in_the_order_of_their_texts(endpoint: Any) -> None:
    endpoint.default = lambda body: {"data": [{"index": 1, "embedding": [1, 0]}, {"index": 0, "embedding": [0, 1.5]}]}
    asking = client(endpoint)
    assert await asking.embeddings(["a", "b"]) == [[0.0, 1.5], [1.0, 0.0]]
    assert await asking.embeddings([]) == []
    endpoint.default = lambda body: {"data": [{"index": 0, "embedding": [1]}]}
    with pytest.raises(EndpointError, match="1 embeddings came back for 2 texts"):
        await asking.embeddings(["a", "b"])
    await asking.aclose()


def test_every_form_of_retry_after() -> None:
    now = 1_700_000_000.0
    assert requested_wait({"Retry-After": "3"}) == 3.0
    assert requested_wait({"retry-after": "0.5"}) == 0.5
    assert requested_wait({"Retry-After-Ms": "250", "Retry-After": "9"}) == 0.25
    assert requested_wait({"Retry-After": formatdate(now + 7, usegmt=True)}, now) == pytest.approx(7, abs=1)
    assert requested_wait({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, now) == 0.0
    assert requested_wait({"Retry-After": "86400"}) == 86400.0
    for garbled in ("soon", "-1", "inf", "nan", "", "1e999", "Wed, 99 Foo 2015", "٣ days"):
        assert requested_wait({"Retry-After": garbled}) is None
    assert requested_wait({}) is None


def test_keys_and_prices_come_from_the_environment() -> None:
    both = {"OPENAI_API_KEY": "general", "VAKRA_TUI_JUDGE_API_KEY": "own"}
    assert key_from_environment("judge", both) == "own"
    assert key_from_environment("agent", both) == "general"
    assert key_from_environment("agent", {"VAKRA_TUI_AGENT_API_KEY": " "}) == PLACEHOLDER_KEY
    assert prices_from_environment("judge", {"VAKRA_TUI_JUDGE_PRICES": "2.5/10"}) == Prices(
        input_per_million=2.5, output_per_million=10
    )
    assert prices_from_environment("judge", {}) is None
    assert dialect_from_environment("judge", {}) == Dialect()
    given = {"VAKRA_TUI_JUDGE_DIALECT": '{"system_role": "user", "omit": ["seed"], "extra_body": {"top_k": 1}}'}
    assert dialect_from_environment("judge", given) == Dialect(
        system_role="user", omit=frozenset({"seed"}), extra_body={"top_k": 1}
    )
    for odd in ("{", '{"role": 1}', '{"system_role": "king"}', '{"max_tools": 0}', "[]"):
        with pytest.raises(DataError, match="VAKRA_TUI_JUDGE_DIALECT"):
            dialect_from_environment("judge", {"VAKRA_TUI_JUDGE_DIALECT": odd})
    for broken in ("two words", "naïve-key", "line\nbreak"):
        with pytest.raises(DataError, match="OPENAI_API_KEY") as caught:
            key_from_environment("agent", {"OPENAI_API_KEY": broken})
        assert broken not in str(caught.value)
    for odd in ("2", "a/b", "1/2/3", "-1/2", "nan/1"):
        with pytest.raises(DataError, match="VAKRA_TUI_JUDGE_PRICES"):
            prices_from_environment("judge", {"VAKRA_TUI_JUDGE_PRICES": odd})


@pytest.mark.parametrize(
    "address",
    [
        "",
        "localhost:8000/v1",
        "ftp://h/v1",
        "no url",
        "http://",
        "http://h:99999/v1",
        "http://[::1/v1",
        "http://h\n/v1",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_before_anything_is_sent(address: str) -> None:
    with pytest.raises(DataError, match="cannot be the address of an endpoint"):
        EndpointSettings(model="m", base_url=address)
