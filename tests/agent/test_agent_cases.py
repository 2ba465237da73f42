"""What endpoints do besides (cases LLM-12 to LLM-21, MCP-09 to MCP-14), each for its whole kind, over real HTTP."""

from __future__ import annotations

import json
from email.utils import formatdate
from typing import Any

import pytest
from agent_endpoint import USAGE, Body, Endpoint, calls, completion, failure, results_of, text, tools_of
from agent_harness import Run, assistant_calls
from agent_toy import TEAMS, WINS, ToyEnvironment, instance

from sessions.trajectory import Answer, GiveUp
from toolenv.model import ToolSpec, Turn
from toolenv.openai_compat import Dialect


async def test_content_is_always_there(run: Run, endpoint: Endpoint) -> None:
    for dialect, beside in ((Dialect(), None), (Dialect(empty_content="text"), "")):
        endpoint.says(calls(("list_teams", {})), text("done"))
        await run(dialect=dialect)
        message = endpoint.requests[-1]["messages"][2]
        assert message["role"] == "assistant" and message["content"] == beside


async def test_headers_and_queries_of_a_dialect(run: Run, endpoint: Endpoint) -> None:
    endpoint.says(text("done"))
    await run(dialect=Dialect(extra_headers={"Api-Key": "k"}, extra_query={"api-version": "2"}))
    query, headers = endpoint.heads[-1]
    assert query == "api-version=2" and headers["api-key"] == "k"
    for name, value in (("a b", "x"), ("ok", "two\nlines"), ("ok", "\u00e9")):
        with pytest.raises(ValueError, match="cannot be sent"):
            Dialect(extra_headers={name: value})


@pytest.mark.parametrize(
    "said",
    [
        {"id": "", "choices": None, "error": {"code": "quota_exceeded", "message": "no requests left today"}},
        {"id": "x", "choices": [], "model": "", "usage": None},
        b"<html><title>502 Bad Gateway</title></html>",
        b"",
        b"[]",
    ],
)
async def test_error_in_a_good_status(run: Run, endpoint: Endpoint, said: Any) -> None:
    endpoint.default = lambda body: said
    done = await run()
    assert done.status == "endpoint" and done.failed
    if isinstance(said, dict) and said.get("error"):
        assert "no requests left today" in done.detail and len(endpoint.requests) == 1
    assert done.requests[-1].error == done.detail


async def test_rate_limit_in_a_good_status_is_tried_again(run: Run, endpoint: Endpoint) -> None:
    endpoint.says({"choices": None, "error": {"code": 429, "message": "rate limit"}}, text("nine"))
    done = await run()
    assert done.status == "answered" and done.requests[0].usage["attempts"] == 2


async def test_budget_spent_on_reasoning(run: Run, endpoint: Endpoint) -> None:
    endpoint.says(text(None, "length", reasoning_content="Let me think ..."))
    done = await run()
    assert done.status == "no answer (budget spent on reasoning)"
    assert done.prediction.answer == "" and len(endpoint.requests) == 1


async def test_reasoning_is_kept_and_never_sent_back(run: Run, endpoint: Endpoint) -> None:
    said = calls(("list_teams", {}))
    said["choices"][0]["message"]["reasoning_content"] = "SECRET-THOUGHT"
    endpoint.says(said, text("nine"))
    done = await run()
    assert "SECRET-THOUGHT" not in json.dumps(endpoint.requests[1])
    assert "SECRET" in json.dumps(done.requests[0].response).replace('", "', "")


@pytest.mark.parametrize(
    ("header", "ends"),
    [
        ("0", False),
        ("0.01", False),
        (formatdate(1445412480, usegmt=True), False),
        ("86400", True),
        ("soon", False),
        (None, False),
        ("-1", False),
    ],
)
async def test_forms_of_retry_after(run: Run, endpoint: Endpoint, header: str | None, ends: bool) -> None:
    endpoint.says(failure(429, "slow down", {"retry-after": header} if header is not None else {}), text("nine"))
    done = await run()
    assert done.status == ("endpoint" if ends else "answered")


async def test_a_refusal_is_sent_once(run: Run, endpoint: Endpoint) -> None:
    endpoint.default = lambda body: failure(400, "messages.1.content: invalid type null", type="invalid_request_error")
    done = await run()
    assert len(endpoint.requests) == 1
    assert done.status == "endpoint" and "messages.1.content: invalid type null" in done.detail
    assert "empty_content" in done.detail


async def test_a_refusal_of_too_many_tools_says_what_to_do(run: Run, endpoint: Endpoint) -> None:
    words = "Invalid 'tools': array too long. Expected an array with maximum length 1, but got 2."
    endpoint.default = lambda body: failure(400, words, type="invalid_request_error", param="tools")
    done = await run()
    assert done.status == "endpoint" and len(endpoint.requests) == 1
    assert words.rstrip(".") in done.detail and "2 tools were sent; set max_tools" in done.detail


@pytest.mark.parametrize("where", ["tools[0].function.name", "tools.3.function.name"])
async def test_a_refusal_of_one_tool_is_not_about_their_number(run: Run, endpoint: Endpoint, where: str) -> None:
    words = f"Invalid '{where}': string too long. Expected a string with maximum length 64"
    endpoint.default = lambda body: failure(400, words, type="invalid_request_error")
    done = await run()
    assert done.status == "endpoint" and words in done.detail and "max_tools" not in done.detail


async def test_a_refused_parameter_is_left_out(run: Run, endpoint: Endpoint) -> None:
    def answer(body: Body) -> Any:
        return failure(400, "seed is not supported", param="seed") if "seed" in body else text("nine")

    endpoint.default = answer
    assert (await run()).status == "answered"


async def test_lists_beyond_the_limit(run: Run, endpoint: Endpoint) -> None:
    tools = [ToolSpec(name=f"tool_{n:03d}", description="t", input_schema={"type": "object"}) for n in range(441)]
    documents = ToolSpec(name="query_teams", input_schema={"type": "object"}, source="RAG")
    environment = ToyEnvironment(*tools[:300], WINS, *tools[300:], documents)
    endpoint.says(text("9"), text("9"), text("9"))
    done = await run(environment, about=instance("How many wins had the team in the season 2010?"))
    sent = tools_of(endpoint.requests[0])
    assert len(sent) == 128 and {"get_team_wins", "query_teams"} <= set(sent)
    assert done.requests[0].usage["tools_sent"] == list(sent)
    assert "443 tools" in str(done.requests[0].usage["notes"]) and "128" in str(done.requests[0].usage["notes"])
    await run(environment, about=instance("How many wins had the team in the season 2010?"))
    assert tools_of(endpoint.requests[1]) == sent
    await run(environment, max_tools=10)
    assert len(tools_of(endpoint.requests[2])) == 10


async def test_long_and_odd_names(run: Run, endpoint: Endpoint) -> None:
    long = "get_male_to_female_ratio_by_game_v1_olympics_male_to_female_ratio_by_game_get"
    names = [long, f"{long}_v2", "get wins/α", "ok_name"]
    environment = ToyEnvironment(*(ToolSpec(name=name, input_schema={"type": "object"}) for name in names))
    endpoint.default = lambda body: (
        text("x") if len(results_of(body)) == 4 else calls((tools_of(body)[len(results_of(body))], {}))
    )
    done = await run(environment)
    sent = tools_of(endpoint.requests[0])
    assert len(set(sent)) == 4 and all(len(name) <= 64 and name.isascii() for name in sent) and "ok_name" in sent
    assert [name for name, _ in environment.session.made] == names
    assert [call.name for call in done.prediction.calls] == names
    assert {call["function"]["name"] for call in assistant_calls(endpoint.requests[-1])} == set(sent)


@pytest.mark.parametrize("stream", [True])
async def test_a_stream_that_breaks_off_is_asked_for_again(run: Run, endpoint: Endpoint) -> None:
    part = '{"choices": [{"index": 0, "delta": {"content": "The ans"}, "finish_reason": null}]}'
    endpoint.says(f"data: {part}\n\n".encode(), text("nine"))
    done = await run()
    assert done.status == "answered" and done.prediction.answer == "nine" and len(done.requests) == 2
    endpoint.default = lambda body: f"data: {part}\n\n".encode()
    assert (await run()).status == "endpoint"


async def test_long_results_are_shown_in_part(run: Run, endpoint: Endpoint) -> None:
    whole = json.dumps({"rows": ["x" * 50] * 60_000})
    environment = ToyEnvironment(answers={"list_teams": whole})
    endpoint.says(calls(("list_teams", {})), text("x"))
    done = await run(environment, max_result_characters=2000)
    shown = results_of(endpoint.requests[1])[0]
    assert len(shown) < 2200 and str(len(whole)) in shown
    assert done.executed.trajectory.steps[0].result.text == whole


async def test_tools_are_listed_anew(run: Run, endpoint: Endpoint) -> None:
    environment = ToyEnvironment(
        *(ToolSpec(name=n, input_schema={"type": "object"}) for n in ("open_universe", "old_tool"))
    )
    endpoint.says(calls(("open_universe", {})), calls(("query_universe", {})), text("x"))
    done = await run(environment)
    assert tools_of(endpoint.requests[0]) == ["open_universe", "old_tool"]
    assert tools_of(endpoint.requests[1]) == ["open_universe", "query_universe"]
    assert "added query_universe; removed old_tool" in str(done.requests[1].usage["notes"])


async def test_schemas_are_strict(run: Run, endpoint: Endpoint) -> None:
    odd = ToolSpec(name="odd", input_schema={"properties": {"ids": {"type": "array"}, "x": True}})
    endpoint.says(text("x"))
    await run(ToyEnvironment(odd, ToolSpec(name="none", input_schema={})))
    first, second = (tool["function"]["parameters"] for tool in endpoint.requests[0]["tools"])
    assert first["type"] == "object" and "items" in first["properties"]["ids"] and first["properties"]["x"] == {}
    assert second == {"type": "object", "properties": {}}


async def test_policy_and_context_are_told(run: Run, endpoint: Endpoint) -> None:
    turns = (Turn(turn_id=0, query="first?", answer=["one", 2]), Turn(turn_id=1, query="second?"))
    for about in (
        instance(capability=4, policy="Use no documents."),
        instance(capability=4, policy="Use no documents.", turns=turns),
    ):
        endpoint.says(text("x"))
        await run(about=about)
        messages = endpoint.requests[-1]["messages"]
        assert messages[0]["role"] == "system" and "Use no documents." in messages[0]["content"]
    assert [m["content"] for m in messages[1:]] == ["first?", '["one", 2]', "second?"]


@pytest.mark.parametrize(
    ("settings", "status"),
    [
        ({"max_turns": 3}, "turn limit"),
        ({"max_tokens_spent": 20}, "token limit"),
        ({"max_cost_spent": 0.5}, "cost limit"),
        ({"max_seconds": 0.0}, "time limit"),
    ],
)
async def test_limits(run: Run, endpoint: Endpoint, settings: Body, status: str) -> None:
    endpoint.default = lambda body: {**calls(("list_teams", {})), "usage": {**USAGE, "cost": 0.3}}
    done = await run(**settings)
    assert done.status == status and not done.failed
    assert done.prediction.status == "error" and status in done.prediction.error


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (text(""), "empty reply"),
        (text(None), "empty reply"),
        (completion({"content": None}, "content_filter"), "filtered"),
    ],
)
async def test_replies_without_content(run: Run, endpoint: Endpoint, said: Body, status: str) -> None:
    endpoint.says(said)
    assert (await run()).status == status


async def test_too_long_a_conversation_is_shortened(run: Run, endpoint: Endpoint) -> None:
    def answer(body: Body) -> Any:
        if not results_of(body):
            return calls(("list_teams", {}))
        if len(results_of(body)[0]) > 5000:
            return failure(400, "maximum context length exceeded", code="context_length_exceeded")
        return text("nine")

    endpoint.default = answer
    environment = ToyEnvironment(answers={"list_teams": "x" * 100_000})
    assert (await run(environment)).status == "answered"
    endpoint.default = lambda body: failure(400, "maximum context length exceeded", code="context_length_exceeded")
    done = await run(environment)
    assert done.status == "context exceeded" and not done.failed


async def test_bodies_are_kept_exactly(run: Run, endpoint: Endpoint) -> None:
    endpoint.says(calls(("list_teams", {})), text("nine"))
    done = await run()
    assert [record.request for record in done.requests] == endpoint.requests
    assert [record.position for record in done.requests] == [0, 1]
    assert isinstance(done.executed.trajectory.steps[-1].decision, Answer)


async def test_an_endpoint_that_is_not_there(run: Run, endpoint: Endpoint) -> None:
    endpoint.base_url = "http://127.0.0.1:9/v1"
    done = await run()
    assert done.status == "endpoint" and done.failed and not isinstance(done.executed.trajectory.steps, GiveUp)


def test_toy_tools_are_what_the_cases_use() -> None:
    assert {WINS.name, TEAMS.name} == {"get_team_wins", "list_teams"}
