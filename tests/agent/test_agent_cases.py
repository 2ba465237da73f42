"""What real endpoints do (cases LLM-01 to LLM-21, MCP-09 to MCP-14), each for its whole kind, over real HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from email.utils import formatdate
from typing import Any

import pytest
from agent_endpoint import USAGE, Body, Endpoint, calls, completion, failure, results_of, text, tools_of
from agent_toy import TEAMS, WINS, ToyEnvironment, instance

from sessions.agent import AgentRun, AgentSettings, run_agent
from sessions.agent.agent import ReactAgent
from sessions.trajectory import Answer, CallTool, GiveUp, Message
from toolenv.model import ToolSpec, Turn
from toolenv.openai_compat import Client, Dialect, EndpointSettings, RetryPolicy

Run = Callable[..., Any]

QUICK = RetryPolicy(
    max_attempts=4, short_attempts=2, window_s=20, server_window_s=20, first_wait_s=0.01, longest_backoff_s=0.02
)


@pytest.fixture(params=["whole", "streamed"])
def stream(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "streamed")


@pytest.fixture
async def run(endpoint: Endpoint, stream: bool) -> AsyncIterator[Run]:
    """Runs the harness on a toy instance; the settings as keyword arguments."""
    agents: list[ReactAgent] = []

    async def go(
        environment: ToyEnvironment | None = None,
        about: Any = None,
        dialect: Dialect | None = None,
        **settings: Any,
    ) -> AgentRun:
        agent = ReactAgent("m", endpoint.base_url, AgentSettings(stream=stream, **settings))
        changed = EndpointSettings(
            model="m", base_url=endpoint.base_url, retries=QUICK, timeout_s=10, dialect=dialect or Dialect()
        )
        agent.client = Client(changed)
        agents.append(agent)
        return await run_agent(about or instance(), agent, environment or ToyEnvironment())

    yield go
    for agent in agents:
        await agent.aclose()


def made(run: AgentRun) -> list[tuple[str, Any, str | None]]:
    return [
        (step.decision.call.name, dict(step.decision.call.arguments), step.decision.call.raw_arguments)
        for step in run.executed.trajectory.steps
        if isinstance(step.decision, CallTool)
    ]


def assistant_calls(body: Body) -> list[Body]:
    return [call for message in body["messages"] for call in message.get("tool_calls") or ()]


BROKEN = [
    '{"team": NaN}',
    '{"team": "Boston", "season": 20',
    "[1, 2]",
    '"text"',
    "7",
    '{"team": "B\\d+"}',
    "{'team': 'x'}",
    "{" * 5000,
]


@pytest.mark.parametrize("written", BROKEN)
async def test_unreadable_arguments_never_run(run: Run, endpoint: Endpoint, written: str) -> None:
    endpoint.says(calls(("list_teams", written, "call_a")), calls(("list_teams", {}, "call_b")), text("nine"))
    environment = ToyEnvironment()
    done = await run(environment)
    assert done.status == "answered" and done.prediction.answer == "nine"
    assert environment.session.made == [("list_teams", {})]
    assert made(done)[0] == ("list_teams", {}, written)
    told = endpoint.requests[1]["messages"][-1]
    assert told["role"] == "tool" and told["tool_call_id"] == "call_a"
    assert written[:40] in told["content"]
    for call in assistant_calls(endpoint.requests[-1]):
        assert isinstance(json.loads(call["function"]["arguments"]), dict)


@pytest.mark.parametrize("written", ["", None, "null", " ", ...])
async def test_no_arguments_are_none(run: Run, endpoint: Endpoint, written: Any) -> None:
    said = calls(("list_teams", {}))
    function = said["choices"][0]["message"]["tool_calls"][0]["function"]
    function["arguments"] = written
    if written is ...:
        del function["arguments"]
    endpoint.says(said, text("nine"))
    environment = ToyEnvironment()
    assert (await run(environment)).status == "answered"
    assert environment.session.made == [("list_teams", {})]


async def test_no_arguments_for_a_tool_that_needs_some(run: Run, endpoint: Endpoint) -> None:
    endpoint.says(calls(("get_team_wins", "")), text("?"))
    done = await run()
    assert "team" in results_of(endpoint.requests[1])[0]
    assert done.executed.trajectory.steps[0].result.error_kind == "refused_arguments"


@pytest.mark.parametrize("layers", [1, 2, 3])
async def test_encoding_layers(run: Run, endpoint: Endpoint, layers: int) -> None:
    written: Any = {"team": "Boston", "season": 2010}
    for _ in range(layers):
        written = json.dumps(written)
    endpoint.says(calls(("get_team_wins", written)), text("fifty"))
    environment = ToyEnvironment()
    done = await run(environment)
    expected = [("get_team_wins", {"team": "Boston", "season": 2010})]
    assert environment.session.made == (expected if layers < 3 else [])
    assert ("encoded twice" in str(done.requests[0].usage["notes"])) == (layers == 2)
    for call in assistant_calls(endpoint.requests[-1]):
        assert isinstance(json.loads(call["function"]["arguments"]), dict)


async def test_object_arguments_go_back_as_text(run: Run, endpoint: Endpoint) -> None:
    said = calls(("get_team_wins", {}))
    said["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = {"team": "Boston", "season": 2010}
    endpoint.says(said, text("fifty"))
    environment = ToyEnvironment()
    await run(environment)
    assert environment.session.made == [("get_team_wins", {"team": "Boston", "season": 2010})]
    assert all(isinstance(call["function"]["arguments"], str) for call in assistant_calls(endpoint.requests[1]))


async def test_literal_control_characters_are_kept(run: Run, endpoint: Endpoint) -> None:
    endpoint.says(calls(("get_team_wins", '{"team": "Boston\nBruins", "season": 2010}')), text("x"))
    environment = ToyEnvironment()
    await run(environment)
    assert environment.session.made[0][1]["team"] == "Boston\nBruins"


@pytest.mark.parametrize("finish", ["length", "max_tokens"])
async def test_nothing_of_a_cut_off_message_runs(run: Run, endpoint: Endpoint, finish: str) -> None:
    cut = calls(("get_team_wins", {"team": "Boston", "season": 201}, "c1"), finish=finish)
    endpoint.says(cut, calls(("list_teams", {})), text("nine"))
    environment = ToyEnvironment()
    done = await run(environment)
    assert done.status == "answered"
    assert environment.session.made == [("list_teams", {})]
    told = endpoint.requests[1]["messages"][-1]
    assert told["role"] == "tool" and "cut off" in told["content"]
    assert done.requests[0].usage["finish_reason"] == finish
    assert isinstance(done.executed.trajectory.steps[0].decision, Message)
    assert done.prediction.calls == (done.executed.trajectory.steps[1].decision.call,)


async def test_truncation_ends_the_instance(run: Run, endpoint: Endpoint) -> None:
    endpoint.default = lambda body: text("The answer is that", "length")
    done = await run(max_truncations=3)
    assert done.status == "truncated" and len(endpoint.requests) == 3
    assert done.prediction.status == "error" and done.prediction.answer == ""


TEXT_CALLS = [
    'I will look.\n<tool_call>\n{"name": "list_teams", "arguments": {}}\n</tool_call>',
    '<invoke name="list_teams">\n</invoke>',
    '{"name": "list_teams", "arguments": {}}',
    '```json\n{"name": "list_teams", "parameters": {}}\n```',
    'assistantcode{"team":"Boston","season":2010}',
    "<|channel|>commentary to=functions.list_teams<|message|>{}",
    "[TOOL_CALLS][]",
    "<function=list_teams></function>",
    "list_teams()",
    "Thought: teams\nAction: list_teams\nAction Input: {}",
]


@pytest.mark.parametrize("content", TEXT_CALLS)
async def test_calls_written_as_text_are_no_answer(run: Run, endpoint: Endpoint, content: str) -> None:
    endpoint.says(text(content))
    environment = ToyEnvironment()
    done = await run(environment)
    assert done.status == "tool call written as text"
    assert environment.session.made == [] and done.prediction.answer == ""


@pytest.mark.parametrize("content", ["9", "The tag <b>9</b>", '{"wins": 9}', "call list_teams() to see", "if x < y"])
async def test_answers_are_answers(run: Run, endpoint: Endpoint, content: str) -> None:
    endpoint.says(text(content))
    assert (await run()).prediction.answer == content


@pytest.mark.parametrize("content", [TEXT_CALLS[0], TEXT_CALLS[1], TEXT_CALLS[2], TEXT_CALLS[3]])
async def test_calls_written_as_text_run_where_wanted(run: Run, endpoint: Endpoint, content: str) -> None:
    endpoint.says(text(content), text("nine"))
    environment = ToyEnvironment()
    assert (await run(environment, run_text_calls=True)).status == "answered"
    assert environment.session.made == [("list_teams", {})]


@pytest.mark.parametrize(
    ("written", "runs"),
    [
        ("list_teams<|channel|>commentary", True),
        ("functions.list_teams", True),
        ("list_team<|channel|>", False),
        ("xlist_teams", False),
    ],
)
async def test_names_are_cleaned_only_to_known_tools(run: Run, endpoint: Endpoint, written: str, runs: bool) -> None:
    endpoint.says(calls((written, {})), text("nine"))
    environment = ToyEnvironment()
    done = await run(environment)
    assert bool(environment.session.made) == runs
    assert made(done)[0][0] == ("list_teams" if runs else written)
    assert (written in str(done.requests[0].usage["notes"])) == runs


async def test_channels_and_thoughts_are_taken_off(run: Run, endpoint: Endpoint) -> None:
    final = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>nine<|return|>"
    endpoint.says(text(final))
    assert (await run()).prediction.answer == "nine"
    endpoint.says(text("<think>hm</think>\nten"))
    assert (await run()).prediction.answer == "ten"


async def test_unknown_tool_goes_on(run: Run, endpoint: Endpoint) -> None:
    endpoint.says(calls(("get_team_win", {"team": "Boston", "season": 2010})), text("?"))
    done = await run()
    assert "get_team_wins" in results_of(endpoint.requests[1])[0]
    assert done.status == "answered"
    assert done.prediction.calls[0].name == "get_team_win"


async def test_ids_that_collide(run: Run, endpoint: Endpoint) -> None:
    wins = [{"team": name, "season": 1} for name in "ABC"]
    endpoint.says(
        calls(("get_team_wins", wins[0], "0")),
        calls(("get_team_wins", wins[1], "0")),
        calls(("list_teams", {}, ""), ("get_team_wins", wins[2], "")),
        text("done"),
    )
    done = await run()
    messages = endpoint.requests[-1]["messages"]
    listed = [call["id"] for call in assistant_calls(endpoint.requests[-1])]
    assert len(set(listed)) == 4 and all(listed)
    told = {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool"}
    for identity, name in zip(listed, ["A", "B", "list_teams", "C"], strict=True):
        assert name in told[identity]
    kept = [s.decision.call.id for s in done.executed.trajectory.steps if isinstance(s.decision, CallTool)]
    assert kept == ["0", "0", None, None]
    assert len([m for m in messages if m["role"] == "assistant"]) == 3


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
async def test_two_calls_of_one_index(run: Run, endpoint: Endpoint) -> None:
    delta = '{"choices": [{"index": 0, "delta": %s, "finish_reason": %s}]}'
    call = '{"tool_calls": [{"index": 0, "id": "%s", "function": {"name": "get_team_wins", "arguments": %s}}]}'
    lines = [
        delta % (call % ("a", json.dumps('{"team":"A","season":1}')), "null"),
        delta % (call % ("b", json.dumps('{"team":"B","season":2}')), "null"),
        delta % ("{}", '"tool_calls"'),
        "[DONE]",
    ]
    endpoint.says("".join(f"data: {line}\n\n" for line in lines).encode(), text("x"))
    environment = ToyEnvironment()
    await run(environment)
    assert [arguments["team"] for _, arguments in environment.session.made] == ["A", "B"]


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


async def test_half_characters_spoil_nothing(run: Run, endpoint: Endpoint) -> None:
    environment = ToyEnvironment(answers={"list_teams": "a \ud83d b \udc97 c"})
    endpoint.says(calls(("list_teams", {})), calls(("get_team_wins", '{"team": "\\ud83d", "season": 1}')), text("x"))
    done = await run(environment)
    assert done.status == "answered"
    assert all(raw.decode("utf-8") for raw in endpoint.raw)
    assert done.executed.trajectory.steps[0].result.text == "a \ud83d b \udc97 c"
    assert environment.session.made[1][1]["team"] == "\N{REPLACEMENT CHARACTER}"


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


async def test_parallel_calls(run: Run, endpoint: Endpoint) -> None:
    both = calls(("list_teams", {}, "a"), ("get_team_wins", {"team": "A", "season": 1}, "b"))
    endpoint.says(both, text("x"), both, text("x"))
    environment = ToyEnvironment()
    await run(environment)
    assert len(environment.session.made) == 2 and len(endpoint.requests) == 2
    await run(environment, parallel=False)
    assert len(environment.session.made) == 1
    assert len(assistant_calls(endpoint.requests[-1])) == 1 and endpoint.requests[-1]["parallel_tool_calls"] is False


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
